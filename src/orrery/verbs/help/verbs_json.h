// The JSON documents of the verbs that answer from what is at hand: check, catalog, doctor, explain, schema. Schemas
// "orrery.check/1" and so on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/orrery/entry.h"
#include "orrery/inputs/catalogue/model_facts.h"

namespace orrery::verbs {

// `contents`: what the files describe, a line each.
std::string check_json(const std::string& version, const std::vector<std::string>& contents,
                       const base::Diagnostics& warnings);

struct CatalogueEntry {
  std::string kind;  // "chip", "model" or "system"
  formats::orrery::Entry entry;
};
std::string catalog_json(const std::string& version, const std::vector<CatalogueEntry>& entries);
std::string catalog_json(const std::string& version, const CatalogueEntry& entry);
// A model: the entry, and what follows from it.
std::string catalog_json(const std::string& version, const ModelFacts& facts);

// `findings`: what was looked for, what was found.
std::string doctor_json(const std::string& version, bool ok,
                        const std::vector<std::pair<std::string, std::string>>& findings);

struct RtlFiles {
  std::vector<std::string> files;                               // with folders
  std::vector<std::pair<std::string, base::Count>> parameters;  // of module accelerator
  base::Count cycles = 0, blocks = 0;                           // of the vectors
};
std::string sparse_rtl_json(const std::string& version, const RtlFiles& answer);

struct ErrorPage {
  std::string code, title, page;
};
std::string explain_json(const std::string& version, const std::vector<ErrorPage>& pages);  // without their texts
std::string explain_json(const std::string& version, const ErrorPage& page);

std::string schema_kinds_json(const std::string& version);

}  // namespace orrery::verbs
