#include "orrery/verbs/energy/run.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/components/energy_table_text.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::Specification;

// What was given is not looked at: the verb tells what the descriptions come to.
void mention_tables(const Documents& documents, base::Diagnostics& found) {
  for (const char* key : {"ERT", "ART"}) {
    const auto* table = documents.find(key);
    if (table == nullptr) continue;
    auto& note = found.warning("O1260", "the " + std::string(key) + " is left aside", table->where);
    note.severity = base::Severity::kNote;
    note.note("`orrery energy` estimates every figure from the components' descriptions")
        .hint("`orrery map` and `orrery eval` take the figures given");
  }
}

// The files of a folder of results are a chip's figures, not its description.
[[noreturn]] void refuse_without_architecture(const Documents& documents) {
  base::Diagnostics found;
  auto& error = found.error("O1003", "no file has an `architecture`");
  std::vector<std::string> keys;
  base::Location first;
  for (const auto& entry : documents.top()) {
    keys.push_back(fmt::format("`{}`", entry.key));
    if (!first.known()) first = entry.key_where;
  }
  error.primary.where = first;
  if (!keys.empty()) error.note(fmt::format("the files have {}", base::joined(keys, ", ")));
  const auto has = [&](const char* key) { return documents.find(key) != nullptr; };
  if (has("ERT") || has("ART") || has("ERT_summary") || has("ART_summary"))
    error.note("an ERT and an ART hold what estimates came to, not what was estimated");
  if (has("flattened_architecture"))
    error.note("a `flattened_architecture` is what Accelergy made of an `architecture`; that one is read here");
  error.hint(
      "give the file that describes the chip, or `--chip NAME`; `orrery catalog` lists the chips that come along");
  throw base::InputError(found.all());
}

// Chips that come with their ERT need not have what an estimate needs.
Specification read_chip(const Documents& documents, const std::vector<std::string>& chips) {
  try {
    return documents.read();
  } catch (const base::InputError& error) {
    const base::Diagnostic* lacking = nullptr;
    for (const base::Diagnostic& one : error.diagnostics)
      if (one.code == "O0601") lacking = &one;
    const auto* table = documents.find("ERT");
    if (lacking == nullptr || table == nullptr) throw;
    base::Diagnostics found;
    auto& better =
        found.error("O0610",
                    fmt::format("`{}` comes with its own ERT, and without what estimates of its energies need",
                                base::joined(chips, "`, `")),
                    table->where);
    for (const std::string& note : lacking->notes) better.note(note);
    better.hint("`orrery map` and `orrery eval` take the energies of its ERT")
        .hint(fmt::format("`orrery catalog show {}` tells where they come from", chips.front()))
        .hint(
            "to estimate them none the less, add `variables: {version: 0.4, technology: \"32nm\"}` in a file, "
            "with the node that you mean");
    throw base::InputError(found.all());
  }
}

}  // namespace

EstimatedChip estimate_chip(const DocumentRequest& request) {
  if (request.files.empty() && request.chips.empty())
    base::fail("O1103", "there is nothing to estimate", {},
               "give the documents of a chip, or --chip; see `orrery energy --help`");
  EstimatedChip result;
  result.compat = request.estimators.reproduced.names;
  const std::vector<File> given = read_files(request.files);
  demand_templates(request, given);
  const SplitFiles split = split_by_problem(given, request.templates);
  std::vector<File> files = split.shared;
  // A chip's file that brings a problem describes the chip none the less.
  if (split.chips_among_layers) files.insert(files.end(), split.layers.begin(), split.layers.end());
  const std::vector<ChipFile> chips = load_chips(request.chips);
  for (const ChipFile& chip : chips) {
    files.push_back(chip.file);
    result.warnings.append(chip.diagnostics);
  }
  formats::timeloop::ReadOptions how = reading(request);
  how.tables_wanted = false;
  how.mapped = false;
  how.mapping_wanted = false;
  const Documents documents = Documents::gather(files, how, parsed(chips));
  mention_tables(documents, result.warnings);
  if (documents.find("architecture") == nullptr) refuse_without_architecture(documents);
  Specification specification = request.chips.empty() ? documents.read() : read_chip(documents, request.chips);
  // The form of libconfig's days has neither classes nor a node.
  if (specification.chip && specification.components.empty())
    base::fail("O0601", "no energies can be estimated: this form of a chip names no classes and no technology",
               documents.find("architecture")->where,
               "`orrery map` takes Timeloop's ratios for it (O2032); for estimates, describe it with `nodes`, as "
               "version 0.4 does");
  Estimators estimators(request.estimators);
  if (const Estimates estimates = complete(specification, estimators)) result.components = *estimates;
  result.flattened = formats::timeloop::flattened_text(specification.components);
  result.warnings.append(specification.diagnostics);
  result.inputs = std::move(specification.inputs);
  return result;
}

}  // namespace orrery::verbs
