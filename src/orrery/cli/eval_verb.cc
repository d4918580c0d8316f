#include <fmt/format.h>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/results.h"
#include "orrery/cli/verbs.h"
#include "orrery/formats/timeloop/documents.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/map_model.h"

namespace orrery::cli {

int run_eval(const EvalOptions& options, const Console& console) {
  const base::Stopwatch clock;
  if (options.files.empty())
    base::fail("O1103", "there is nothing to evaluate", {},
               "give the documents of a chip, a problem and a mapping; see `orrery eval --help`");
  check_directory(options);
  std::vector<File> files = read_files(options.files);
  const SplitFiles split = split_by_problem(files);
  if (split.layers.size() > 1)
    base::fail("O1107",
               fmt::format("`{}` and `{}` both describe a problem", split.layers[0]->name, split.layers[1]->name), {},
               "a mapping belongs to one problem: give that one only");
  for (const std::string& chip : options.chips)
    files.push_back(scenario::load_chip(scenario::catalogue_directory(), chip).file);

  const auto documents = formats::timeloop::Documents::gather(files, read_options(options));
  Results results;
  results.verb = "eval";
  results.mapped = scenario::evaluate_mapping("", documents, options.model_options, options.strict, options.estimators);
  results.close_look = true;
  results.seconds = clock.seconds();
  return present(results, options, console);
}

}  // namespace orrery::cli
