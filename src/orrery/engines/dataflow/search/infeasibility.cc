// Limits that a single kernel exceeds are checked first, over all candidates. Then those of the partition: an
// irreducible set of them (base/limits/conflict.h). Cost: one partition per kind of limit.
#include "orrery/engines/dataflow/search/infeasibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "orrery/base/limits/conflict.h"
#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/dataflow/partition/partition_chain.h"
#include "orrery/engines/dataflow/partition/partition_price.h"
#include "orrery/engines/dataflow/partition/partition_space.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {
namespace {

using base::grouped;
using workload::KernelGraph;

std::string under(const Attempt& attempt) {
  const Degrees& degrees = attempt.mapping.degrees;
  std::string text = fmt::format("under TP {}, PP {}, DP {}", degrees.tensor, degrees.pipeline, degrees.data);
  if (degrees.sequence > 1) text += fmt::format(", SP {}", degrees.sequence);
  if (attempt.mapping.tile_size > 0) {
    text += fmt::format(", {} tile{} of {} token{}", grouped(static_cast<double>(attempt.mapping.tiles)),
                        base::plural(attempt.mapping.tiles), grouped(static_cast<double>(attempt.mapping.tile_size)),
                        base::plural(attempt.mapping.tile_size));
  }
  return text;
}

struct Alone {
  int kernel = -1;
  bool lacks_cores = false;
  double sram = 0;
};

// Kernels that fit no chip even with a configuration to themselves.
std::vector<Alone> unfit_kernels(const PartitionProblem& problem) {
  std::vector<Alone> unfit;
  for (int k = 0; k < static_cast<int>(problem.kernels.size()); ++k) {
    const std::array<int, 1> members = {k};
    const ConfigurationCost cost = price(problem, members);
    if (cost.fits) continue;
    PartitionProblem roomy = problem;
    roomy.sram_bytes = 0;
    roomy.memory_units = 0;
    unfit.push_back({k, !price(roomy, members).fits, cost.sram_bytes});
  }
  return unfit;
}

Reason too_large_for_sram(const Attempt& attempt, const PartitionProblem& problem, const Alone& alone) {
  const KernelGraph& graph = attempt.setup->graph;
  const PartitionKernel& kernel = problem.kernels[static_cast<std::size_t>(alone.kernel)];
  Reason reason;
  reason.diagnostic.code = "O1447";
  reason.diagnostic.message = fmt::format("kernel {} needs {} bytes of SRAM by itself, but a chip has {}",
                                          named(graph, alone.kernel), grouped(alone.sram), grouped(problem.sram_bytes));
  const double word = static_cast<double>(attempt.setup->execution.word_bytes);
  for (const PartitionEdge& edge : problem.edges) {
    if (edge.buffer_bytes <= 0) continue;
    if (edge.to == alone.kernel) {
      reason.diagnostic.note(
          fmt::format("2 x {} bytes of input from {}", grouped(edge.buffer_bytes), named(graph, edge.from)));
    } else if (edge.from == alone.kernel) {
      reason.diagnostic.note(
          fmt::format("2 x {} bytes of output to {}", grouped(edge.buffer_bytes), named(graph, edge.to)));
    }
  }
  if (kernel.weight_bytes > 0) {
    reason.diagnostic.note(fmt::format("{} x {:.0f} bytes of weight", grouped(kernel.weight_bytes / word), word));
  }
  if (kernel.sram_extra_bytes > 0) {
    reason.diagnostic.note(fmt::format("{} bytes as `sram_extra` states", grouped(kernel.sram_extra_bytes)));
  }
  if (kernel.can_split_weight) {
    reason.diagnostic.note("weight and outputs may be tiled further, inputs may not");
  }
  if (problem.memory_units > 0) {
    reason.diagnostic.note(fmt::format("SRAM is allocated in {} memory units of {} bytes",
                                       grouped(static_cast<double>(problem.memory_units)),
                                       grouped(problem.memory_unit_bytes)));
  }
  reason.diagnostic.note(under(attempt) + ", which needs the least of all that were tried");
  reason.diagnostic.hint("split it over more chips (TP), into more tiles, or take a chip with more SRAM");
  reason.blamed = {{Part::kKernel, alone.kernel, ""}, {Part::kAccelerator, -1, "sram_cap"}};
  return reason;
}

Reason too_few_cores(const Attempt& attempt, const PartitionProblem& problem, const Alone& alone) {
  const KernelGraph& graph = attempt.setup->graph;
  const PartitionKernel& kernel = problem.kernels[static_cast<std::size_t>(alone.kernel)];
  Reason reason;
  reason.diagnostic.code = "O1449";
  reason.diagnostic.message = fmt::format("kernel {} cannot run on the {} cores of a chip", named(graph, alone.kernel),
                                          grouped(static_cast<double>(problem.cores)));
  if (!kernel.choices.empty()) {
    reason.diagnostic.note(
        fmt::format("it needs at least {}", grouped(static_cast<double>(kernel.choices.front().cores))));
  }
  reason.diagnostic.note(under(attempt));
  reason.blamed = {{Part::kKernel, alone.kernel, ""}, {Part::kAccelerator, -1, "core"}};
  return reason;
}

// What all kernels and edges would take together: the smaller the tiles, the less.
double sram_of_all(const PartitionProblem& problem) {
  double bytes = 0;
  for (const PartitionKernel& kernel : problem.kernels) bytes += kernel.weight_bytes + kernel.sram_extra_bytes;
  for (const PartitionEdge& edge : problem.edges) bytes += 2 * edge.buffer_bytes;
  return bytes;
}

double resident_bytes(const PartitionProblem& problem) {
  double sum = 0;
  for (const PartitionKernel& kernel : problem.kernels) sum += kernel.dram_bytes;
  return sum;
}

double dram_room(const PartitionProblem& problem) {
  return problem.dram_bytes + problem.second_dram_bytes;
}

Reason too_large_for_dram(const Attempt& attempt, const PartitionProblem& problem) {
  const KernelGraph& graph = attempt.setup->graph;
  Reason reason;
  reason.diagnostic.code = "O1448";
  reason.diagnostic.message = fmt::format("weights and tables take {} bytes of DRAM, but a chip has {}",
                                          grouped(resident_bytes(problem)), grouped(dram_room(problem)));
  std::vector<int> order;
  for (int k = 0; k < static_cast<int>(problem.kernels.size()); ++k)
    if (problem.kernels[static_cast<std::size_t>(k)].dram_bytes > 0) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return problem.kernels[static_cast<std::size_t>(a)].dram_bytes >
           problem.kernels[static_cast<std::size_t>(b)].dram_bytes;
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 3); ++i) {
    const bool tables = order[i] == 0 && !std::holds_alternative<LanguageModelRun>(attempt.setup->execution.workload);
    reason.diagnostic.note(
        fmt::format("{} bytes for kernel {}{}", grouped(problem.kernels[static_cast<std::size_t>(order[i])].dram_bytes),
                    named(graph, order[i]), tables ? " with the workload's tables" : ", all its layers on this stage"));
  }
  if (order.size() > 3) reason.diagnostic.note(fmt::format("the rest for {} more", order.size() - 3));
  reason.diagnostic.note(under(attempt));
  reason.diagnostic.hint("spread the weights over more chips (TP, PP), or take a memory with more capacity");
  reason.blamed = {{Part::kMemory, -1, "dram_cap"}};
  return reason;
}

// Limits of a partition problem that can be lifted one by one.
enum class Limit { kSram, kDram, kCores, kPins, kDirections, kRepeats, kConfigurations };
constexpr std::array kLimits = {Limit::kRepeats, Limit::kDirections, Limit::kPins,          Limit::kCores,
                                Limit::kDram,    Limit::kSram,       Limit::kConfigurations};

bool of_configurations(Limit limit) {
  return limit == Limit::kPins || limit == Limit::kDirections || limit == Limit::kConfigurations;
}

// `more` configurations for all that are not pinned.
void widen(PartitionProblem& problem, const KernelGraph& graph, int more) {
  for (std::size_t k = 0; k < problem.kernels.size(); ++k)
    if (graph.kernels[k].configuration < 0) problem.kernels[k].last += more;
  problem.configurations += more;
}

// With kernel-by-kernel execution, configurations are fixed, and more of them would not help.
bool fixed_one_by_one(const PartitionProblem& problem) {
  std::vector<int> taken;
  for (const PartitionKernel& kernel : problem.kernels) {
    if (kernel.first != kernel.last) return false;
    taken.push_back(kernel.first);
  }
  std::sort(taken.begin(), taken.end());
  return std::adjacent_find(taken.begin(), taken.end()) == taken.end();
}

void lift(PartitionProblem& problem, const KernelGraph& graph, Limit limit) {
  const auto free_up = [&](bool pinned) {
    for (std::size_t k = 0; k < problem.kernels.size(); ++k) {
      PartitionKernel& kernel = problem.kernels[k];
      if ((graph.kernels[k].configuration >= 0) != pinned) continue;
      kernel.first = 0;
      kernel.last = problem.configurations - 1;
    }
  };
  switch (limit) {
    case Limit::kSram:
      problem.sram_bytes = 0;
      problem.memory_units = 0;
      break;
    case Limit::kDram:
      problem.dram_bytes = problem.second_dram_bytes = 0;
      break;
    case Limit::kCores:
      problem.cores = Count{1} << 50;
      break;
    case Limit::kPins:
      free_up(true);
      break;
    case Limit::kDirections:
      free_up(false);
      break;
    case Limit::kRepeats:
      for (PartitionKernel& kernel : problem.kernels) kernel.repeat_class = 0;
      break;
    case Limit::kConfigurations:
      widen(problem, graph, static_cast<int>(problem.kernels.size()));
      break;
  }
}

// Explanations may take so long altogether, and each trial; a problem that is not proven impossible by then counts as
// possible.
constexpr double kSeconds = 3;
constexpr double kSecondsOfTrial = 1;

class Trial {
 public:
  explicit Trial(const base::Budget& whole) : budget_(whole, kSeconds) {}

  bool impossible(const PartitionProblem& problem) const {
    const PartitionSpace space = partition_space(problem);
    if (space.empty) return true;
    SetPricer pricer(problem);
    if (budget_.spent()) return false;
    if (best_chain(pricer, space, budget_)) return false;  // most feasible problems have such a simple solution
    PartitionLimits limits;
    limits.seconds = std::min(kSecondsOfTrial, budget_.seconds_left());
    limits.gap = 1;  // any feasible answer suffices
    return limits.seconds > 0 && optimize(problem, limits).infeasible;
  }
  bool out_of_time() const { return budget_.spent(); }

 private:
  const base::Budget budget_;
};

// The least number of configurations that would suffice under all other limits; 0: none up to one more per kernel.
int enough_configurations(const PartitionProblem& problem, const KernelGraph& graph, const Trial& trial) {
  const auto enough = [&](int more) {
    PartitionProblem wider = problem;
    widen(wider, graph, more);
    return !trial.impossible(wider);
  };
  int too_few = 0, most = static_cast<int>(problem.kernels.size());
  if (!enough(most)) return 0;
  while (most - too_few > 1) {
    const int middle = (too_few + most) / 2;
    (enough(middle) ? most : too_few) = middle;
  }
  return trial.out_of_time() ? 0 : problem.configurations + most;
}

Reason together(const Attempt& attempt, PartitionProblem problem, const base::Budget& budget) {
  const KernelGraph& graph = attempt.setup->graph;
  const Trial trial(budget);
  const int stated_configurations = problem.configurations;
  std::vector<Limit> limits;
  for (const Limit limit : kLimits)
    if (!fixed_one_by_one(problem) || !of_configurations(limit)) limits.push_back(limit);
  const auto under_only = [&](const base::ConditionSet& set) {
    PartitionProblem freed = problem;
    for (std::size_t i = 0; i < limits.size(); ++i)
      if (!set[i]) lift(freed, graph, limits[i]);
    return freed;
  };
  const base::ConditionSet needed = base::irreducible_conflict(limits.size(), [&](const base::ConditionSet& set) {
                                      return trial.impossible(under_only(set));
                                    }).conditions;
  problem = under_only(needed);
  Reason reason;
  reason.diagnostic.code = "O1450";
  reason.diagnostic.message =
      fmt::format("no partition of {} kernels into {} configuration{} respects all limits", problem.kernels.size(),
                  stated_configurations, stated_configurations == 1 ? "" : "s");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!needed[i]) continue;
    switch (limits[i]) {
      case Limit::kSram: {
        reason.diagnostic.note(fmt::format("a chip has {} bytes of SRAM", grouped(problem.sram_bytes)));
        reason.blamed.push_back({Part::kAccelerator, -1, problem.memory_units > 0 ? "pmu" : "sram_cap"});
        break;
      }
      case Limit::kDram:
        reason.diagnostic.note(fmt::format(
            "a chip has {} bytes of DRAM; weights and tables take {}, the rest holds tensors between configurations",
            grouped(dram_room(problem)), grouped(resident_bytes(problem))));
        reason.blamed.push_back({Part::kMemory, -1, "dram_cap"});
        break;
      case Limit::kCores:
        reason.diagnostic.note(fmt::format("a chip has {} cores", grouped(static_cast<double>(problem.cores))));
        reason.blamed.push_back({Part::kAccelerator, -1, "core"});
        break;
      case Limit::kPins: {
        std::string pins;
        for (std::size_t k = 0; k < graph.kernels.size(); ++k) {
          if (graph.kernels[k].configuration < 0) continue;
          pins += fmt::format("{}{} to {}", pins.empty() ? "" : ", ", named(graph, static_cast<int>(k)),
                              graph.kernels[k].configuration);
          reason.blamed.push_back({Part::kKernel, static_cast<int>(k), "config"});
        }
        reason.diagnostic.note("kernels are pinned: " + pins);
        break;
      }
      case Limit::kDirections:
        reason.diagnostic.note("backward kernels come after forward ones, each half of the configurations");
        break;
      case Limit::kRepeats:
        reason.diagnostic.note("kernels with and without `num_input` cannot share a configuration");
        break;
      case Limit::kConfigurations: {
        std::string text = fmt::format("there {} {} configuration{}", base::plural(problem.configurations, "is", "are"),
                                       problem.configurations, base::plural(problem.configurations));
        if (const int enough = enough_configurations(problem, graph, trial); enough > 0)
          text += fmt::format("; {} would suffice", enough);
        reason.diagnostic.note(text);
        reason.blamed.push_back({Part::kExecution, -1, "num_config"});
        break;
      }
    }
  }
  reason.diagnostic.note(under(attempt));
  reason.diagnostic.hint("relax any one of these limits");
  return reason;
}

}  // namespace

std::vector<Reason> explain_infeasible(std::span<const Attempt> attempts, const Defects& defects,
                                       const machine::OperatorModel* operators, const base::Budget& budget) {
  // The candidate with fewest misfits, then with the least of the worst need of SRAM, then of all needs: the one that
  // the stated limits leave the most room. The first of equals.
  std::size_t best = attempts.size();
  std::vector<Alone> best_unfit;
  bool best_dram = false;
  double best_worst = 0, best_all = 0;
  PartitionProblem best_problem;
  for (std::size_t i = 0; i < attempts.size() && (i == 0 || !budget.spent()); ++i) {
    PartitionProblem problem = lower(*attempts[i].setup, attempts[i].mapping, defects, operators);
    std::vector<Alone> unfit = unfit_kernels(problem);
    const bool dram = problem.dram_bytes > 0 && resident_bytes(problem) > dram_room(problem) * (1 + kTie);
    double worst = 0;
    for (const Alone& alone : unfit) worst = std::max(worst, alone.sram);
    const double all = sram_of_all(problem);
    const auto key = std::tuple(unfit.size() + (dram ? 1 : 0), worst, all);
    if (best < attempts.size() && key >= std::tuple(best_unfit.size() + (best_dram ? 1 : 0), best_worst, best_all))
      continue;
    best = i;
    best_unfit = std::move(unfit);
    best_dram = dram;
    best_worst = worst;
    best_all = all;
    best_problem = std::move(problem);
  }
  std::vector<Reason> reasons;
  if (best == attempts.size()) return reasons;
  constexpr std::size_t kMostTold = 5;
  for (std::size_t i = 0; i < std::min(best_unfit.size(), kMostTold); ++i) {
    const Alone& alone = best_unfit[i];
    reasons.push_back(alone.lacks_cores ? too_few_cores(attempts[best], best_problem, alone)
                                        : too_large_for_sram(attempts[best], best_problem, alone));
  }
  if (best_dram) reasons.push_back(too_large_for_dram(attempts[best], best_problem));
  if (reasons.empty()) reasons.push_back(together(attempts[best], std::move(best_problem), budget));
  return reasons;
}

}  // namespace orrery::dataflow
