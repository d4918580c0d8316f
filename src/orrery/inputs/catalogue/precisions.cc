#include "orrery/inputs/catalogue/precisions.h"

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

constexpr const char* kPath = "variables.precision_bits";

}  // namespace

void choose_precision(const std::vector<std::string>& chips, const std::string& name, base::Overrides& set) {
  std::vector<std::string> known;
  for (const std::string& chip : chips) {
    const ChipFile file = load_chip(catalogue_directory(), chip, false);
    for (const formats::yaml::Node& document : file.parsed) {
      const formats::yaml::Node* block = document.is_map() ? document.find("orrery") : nullptr;
      const formats::yaml::Node* formats = block != nullptr && block->is_map() ? block->find("precisions") : nullptr;
      if (formats == nullptr || !formats->is_map()) continue;
      for (const auto& entry : formats->entries) {
        known.push_back(entry.key);
        if (entry.key == name) {
          set.push_back({kPath, entry.value.scalar});
          return;
        }
      }
    }
  }
  if (known.empty())
    base::fail("O1102", fmt::format("`--precision {}` is of a chip that has several, and none is named", name), {},
               "`--chip near-h100` and `--chip near-tpu-v5e` have; of others, set the width of their words: "
               "`--set arch.NAME.datawidth=8`");
  base::fail("O1102", fmt::format("the chip has no precision `{}`", name), {},
             base::did_you_mean(name, known, fmt::format("it has {}", base::joined(known, ", "))));
}

base::Overrides without_precision(base::Overrides set) {
  std::erase_if(set, [](const base::Override& one) { return one.path == kPath; });
  return set;
}

}  // namespace orrery::verbs
