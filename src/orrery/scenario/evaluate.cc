#include "orrery/scenario/evaluate.h"

#include <fmt/format.h>

#include "orrery/scenario/evaluate_layer.h"
#include "orrery/scenario/read_layers.h"

namespace orrery::scenario {

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
  return result;
}

}  // namespace orrery::scenario
