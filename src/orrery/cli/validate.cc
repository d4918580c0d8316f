#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/validate_table.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/validate.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kShown = 10;  // points of a set, unless all are asked for

struct Options {
  std::string subject;            // "train"
  std::vector<std::string> sets;  // empty: all
  bool all = false;               // every point, not only the worst of each set
};

}  // namespace

int run_validate(const Arguments& arguments, Console& console) {
  Options options;
  CommandLine line("validate",
                   "Predictions against published and measured runs: the error of every point and set, worst first",
                   "orrery validate train --all");
  line.word("SUBJECT", options.subject, "What is predicted: train", true);
  line.words("SETS", options.sets, "Only these tables of catalog/validation");
  line.toggle("--all", options.all, "Every point, not only the worst of each set");
  if (!line.read(arguments, console)) return kDone;
  const std::vector<std::string> subjects = {"train"};
  if (options.subject != subjects[0])
    base::fail("O1360", fmt::format("`{}` is nothing that Orrery can hold to measurements", options.subject), {},
               base::did_you_mean(options.subject, subjects, "subjects are: train"));
  const base::Stopwatch watch;
  const std::vector<scenario::ValidatedSet> sets =
      scenario::validate_training(scenario::catalogue_directory(), options.sets);
  if (console.json) {
    console.out << report::validation_json(sets, watch.seconds(), kVersion);
    return kDone;
  }
  for (const scenario::ValidatedSet& set : sets)
    console.out << report::validation_points(set, options.all ? 0 : kShown) << "\n";
  console.out << "error = predicted / measured - 1; rows that constants were fitted on are counted separately\n\n"
              << report::validation_summary(sets);
  return kDone;
}

}  // namespace orrery::cli
