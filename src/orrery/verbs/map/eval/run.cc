#include "orrery/verbs/map/eval/run.h"

#include <fmt/format.h>

#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/layers/changed_tables.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

// O1952, of a mapping whose words might come from neighbours if its factors left no rest.
void warn_of_links(const MappedLayer& layer, const nest::Mapping& mapping, const nest::ModelOptions& options,
                   base::Diagnostics& found) {
  if (!options.link_transfers || nest::perfect(mapping)) return;
  if (!nest::Model(layer.einsum, layer.chip, options, layer.reuse).may_link()) return;
  found
      .warning("O1952",
               fmt::format("transfers between neighbours are left out of `{}`: its factors leave a rest", layer.name))
      .note("in Timeloop, instances take words from neighbours that had them a step before; fewer are read above")
      .hint("compare mappings whose factors divide");
}

}  // namespace

MappedModel evaluate(const EvaluateRequest& request) {
  if (request.files.empty())
    base::fail("O1103", "there is nothing to evaluate", {},
               "give the documents of a chip, a problem and a mapping; see `orrery eval --help`");
  std::vector<File> files = read_files(request.files);
  demand_templates(request, files);
  const SplitFiles split = split_by_problem(files, request.templates);
  if (split.layers.size() > 1)
    base::fail("O1107",
               fmt::format("`{}` and `{}` both describe a problem", split.layers[0]->name, split.layers[1]->name), {},
               "a mapping belongs to one problem: give that one only");
  const std::vector<ChipFile> chips = load_chips(request.chips);
  for (const ChipFile& chip : chips) files.push_back(chip.file);

  const auto documents = formats::timeloop::Documents::gather(files, reading(request), parsed(chips));
  Estimators estimators(request.estimators);
  ReadMapping read = read_mapping(documents, estimators);
  MappedModel result;
  result.inputs = std::move(read.inputs);
  result.warnings = std::move(read.warnings);
  result.layers.push_back(
      evaluate_layer(read.question, read.mapping, read.places, request.compat.defects, request.strict));
  warn_of_changed_tables(files, reading(request), estimators, result.warnings);
  warn_of_links(result.layers.back(), read.mapping, request.compat.defects, result.warnings);
  return result;
}

}  // namespace orrery::verbs
