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

}  // namespace

int run_validate(const ValidateOptions& options, const Console& console) {
  const std::vector<std::string> subjects = {"train"};
  if (options.subject != subjects[0])
    base::fail("O1360", fmt::format("`{}` is nothing that Orrery can hold to measurements", options.subject), {},
               base::did_you_mean(options.subject, subjects, "subjects are: train"));
  const base::Stopwatch watch;
  const std::vector<scenario::ValidatedSet> sets =
      scenario::validate_training(scenario::catalogue_directory(), options.sets);
  if (options.json) {
    console.out << report::validation_json(sets, watch.seconds(), kVersion);
    return kDone;
  }
  for (const scenario::ValidatedSet& set : sets)
    console.out << report::validation_points(set, options.all ? 0 : kShown) << "\n";
  console.out << "error = predicted / measured - 1; rows that constants were fitted on count apart\n\n"
              << report::validation_summary(sets);
  return kDone;
}

}  // namespace orrery::cli
