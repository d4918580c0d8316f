#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/cli/program_version.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/program/verbs.h"
#include "orrery/verbs/validate/collectives.h"
#include "orrery/verbs/validate/collectives_table.h"
#include "orrery/verbs/validate/run.h"
#include "orrery/verbs/validate/table.h"

namespace orrery::verbs {
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
  const std::vector<ValidatedSet> sets = verbs::validate_training(verbs::catalogue_directory(), options.sets);
  if (console.json) {
    console.out << verbs::validation_json(sets, watch.seconds(), kVersion);
    return;
  }
  for (const ValidatedSet& set : sets) console.out << verbs::validation_points(set, options.all ? 0 : kShown) << "\n";
  console.out << kLegend << verbs::validation_summary(sets);
}

void validate_collectives(const Options& options, Console& console) {
  const base::Stopwatch watch;
  const std::vector<ValidatedCollectives> sets =
      verbs::validate_collectives(verbs::catalogue_directory(), options.sets);
  if (console.json) {
    console.out << verbs::collectives_json(sets, watch.seconds(), kVersion);
    return;
  }
  for (const ValidatedCollectives& set : sets)
    console.out << verbs::collectives_points(set, options.all ? 0 : kShown) << "\n";
  console.out << kLegend << verbs::collectives_summary(sets);
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

}  // namespace orrery::verbs
