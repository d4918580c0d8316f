#include "orrery/verbs/train/plan_rows_options.h"

#include <optional>

#include <fmt/format.h>

#include "orrery/cli/command_line.h"
#include "orrery/cli/interrupt.h"
#include "orrery/verbs/train/plans/plan_rows.h"

namespace orrery::verbs {

int run_plan_rows(const TrainRequest& asked, const std::string& file, Console& console) {
  if (asked.plans.asked())
    misuse("O1103", "`--plans` evaluates the plans of a file, it searches none",
           "leave it out, or the options of the best plan");
  std::optional<InterruptGuard> interrupt;
  TrainRequest request = asked;
  request.interruptible = [&] { return interrupt.emplace().flag(); };
  const EvaluatedRows rows = verbs::evaluate_plan_rows(
      request, {file == "-" ? "<stdin>" : file, file == "-" ? "/dev/stdin" : file, console.json},
      [&](const std::string& text) { console.out << text; });
  console.out.flush();
  report(console, rows.problems);
  if (rows.ended_early) return interrupt && interrupt->flag()->load() ? kInterrupted : kLimit;
  return rows.bad > 0 ? kUsage : kDone;
}

}  // namespace orrery::verbs
