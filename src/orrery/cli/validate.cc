#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/collectives_table.h"
#include "orrery/report/validate_table.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/validate.h"
#include "orrery/scenario/validate_collectives.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kShown = 10;  // points of a set, unless all are asked for

struct Options {
  std::string subject;            // "train", "collectives"
  std::vector<std::string> sets;  // empty: all
  bool all = false;               // every point, not only the worst of each set
};

constexpr const char* kLegend =
    "error = predicted / measured - 1; rows that constants were fitted on are counted separately\n\n";

void validate_training(const Options& options, Console& console) {
  const base::Stopwatch watch;
  const std::vector<scenario::ValidatedSet> sets =
      scenario::validate_training(scenario::catalogue_directory(), options.sets);
  if (console.json) {
    console.out << report::validation_json(sets, watch.seconds(), kVersion);
    return;
  }
  for (const scenario::ValidatedSet& set : sets)
    console.out << report::validation_points(set, options.all ? 0 : kShown) << "\n";
  console.out << kLegend << report::validation_summary(sets);
}

void validate_collectives(const Options& options, Console& console) {
  const base::Stopwatch watch;
  const std::vector<scenario::ValidatedCollectives> sets =
      scenario::validate_collectives(scenario::catalogue_directory(), options.sets);
  if (console.json) {
    console.out << report::collectives_json(sets, watch.seconds(), kVersion);
    return;
  }
  for (const scenario::ValidatedCollectives& set : sets)
    console.out << report::collectives_points(set, options.all ? 0 : kShown) << "\n";
  console.out << kLegend << report::collectives_summary(sets);
}

}  // namespace

int run_validate(const Arguments& arguments, Console& console) {
  Options options;
  CommandLine line(
      "validate",
      "Predictions against published and measured runs and collectives: the error of every point and set, worst first",
      "orrery validate train --all");
  line.word("SUBJECT", options.subject, "What is predicted: train, or collectives");
  line.words("SETS", options.sets, "Only these tables of catalog/validation, or of catalog/collectives");
  line.toggle("--all", options.all, "Every point, not only the worst of each set");
  if (!line.read(arguments, console)) return kDone;
  const std::vector<std::string> subjects = {"train", "collectives"};
  if (options.subject == subjects[0])
    validate_training(options, console);
  else if (options.subject == subjects[1])
    validate_collectives(options, console);
  else if (options.subject.empty())
    base::fail("O1360", "what is to be held to measurements must be said", {},
               "subjects are: train (runs), collectives; `orrery validate train`");
  else
    base::fail("O1360", fmt::format("`{}` is nothing that Orrery can hold to measurements", options.subject), {},
               base::did_you_mean(options.subject, subjects, "subjects are: train, collectives"));
  return kDone;
}

}  // namespace orrery::cli
