#include "orrery/cli/plan_rows.h"

#include <optional>

#include <fmt/format.h>

#include "orrery/cli/command_line.h"
#include "orrery/cli/interrupt.h"
#include "orrery/scenario/plan_rows.h"

namespace orrery::cli {

int run_plan_rows(const scenario::TrainRequest& asked, const std::string& file, Console& console) {
  if (asked.plans.asked())
    misuse("O1103", "`--plans` evaluates the plans of a file, it searches none",
           "leave it out, or the options of the best plan");
  std::optional<InterruptGuard> interrupt;
  scenario::TrainRequest request = asked;
  request.interruptible = [&] { return interrupt.emplace().flag(); };
  const scenario::EvaluatedRows rows = scenario::evaluate_plan_rows(
      request, {file == "-" ? "<stdin>" : file, file == "-" ? "/dev/stdin" : file, console.json},
      [&](const std::string& text) { console.out << text; });
  console.out.flush();
  report(console, rows.problems);
  if (rows.ended_early) return interrupt && interrupt->flag()->load() ? kInterrupted : kLimit;
  return rows.bad > 0 ? kUsage : kDone;
}

}  // namespace orrery::cli
