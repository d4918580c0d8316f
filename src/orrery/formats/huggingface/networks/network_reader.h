// Models that run: config.json as network::Description, for the families of BERT, GPT-2 and BART.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/network/description.h"

namespace orrery::formats::huggingface {

enum class Family { kBert, kRoberta, kGpt2, kBart };

struct RunnableModel {
  Family family = Family::kBert;
  network::Description description;
  std::int32_t pad = 0;                      // the token that fills short sequences
  std::optional<std::int32_t> begin;         // with which a decoder begins
  std::optional<std::int32_t> end;           // with which generation ends
  std::optional<std::int32_t> forced_begin;  // the first word of what is generated, whatever is likely
  std::vector<std::string> labels;           // names of the classes; empty: none are given
  base::Diagnostics diagnostics;             // warnings
};

struct HeadChoice {
  std::optional<network::HeadKind> kind;  // nothing: as `architectures` says
  std::optional<network::Index> classes;  // of a head that is to be learned; nothing: as the file says
  network::Pick pick = network::Pick::kFirst;
};

// Throws InputError with everything found: O1643 (a type of model that does not run), O1644 (a key that is missing, of
// the wrong type, or of a value that does not run).
RunnableModel read_runnable(const std::shared_ptr<const base::SourceFile>& file, const HeadChoice& head = {});

}  // namespace orrery::formats::huggingface
