// The JSON documents of catalog, doctor, explain and schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/formats/orrery/entry.h"
#include "orrery/inputs/catalogue/model_facts.h"
#include "orrery/present/answer.h"

namespace orrery::verbs {

struct CatalogueEntry {
  std::string kind;  // "chip", "model" or "system"
  formats::orrery::Entry entry;
};
Document<std::vector<CatalogueEntry>> catalogue_document();
Document<CatalogueEntry> entry_document();
Document<ModelFacts> model_document();

struct Health {
  bool ok;
  std::vector<std::pair<std::string, std::string>> findings;  // what was looked for, what was found
};
Document<Health> doctor_document();

struct ErrorPage {
  std::string code, title, page;
};
Document<std::vector<ErrorPage>> codes_document();  // without their texts
Document<ErrorPage> page_document();

Document<std::vector<std::string>> kinds_document();

}  // namespace orrery::verbs
