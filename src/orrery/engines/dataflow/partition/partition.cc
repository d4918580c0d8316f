#include "orrery/engines/dataflow/partition/partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/engines/dataflow/partition/partition_price.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {
namespace {

// DRAM capacity is compared with sums of many sizes, which every solver adds in another order: a tolerance covers their
// rounding, and no more.
double weights_in_dram(const PartitionProblem& problem) {
  double result = 0;
  for (const PartitionKernel& kernel : problem.kernels) result += kernel.dram_bytes;
  return result;
}

// The first rule of order, ranges or classes that the assignment breaks, in words.
std::string broken_rule(const PartitionProblem& problem, const std::vector<int>& assignment) {
  for (std::size_t k = 0; k < assignment.size(); ++k) {
    const PartitionKernel& kernel = problem.kernels[k];
    if (assignment[k] < kernel.first || assignment[k] > kernel.last) {
      return fmt::format("kernel {} is in configuration {}, and may be in {} to {}", k + 1, assignment[k], kernel.first,
                         kernel.last);
    }
  }
  for (const PartitionEdge& edge : problem.edges) {
    const int from = assignment[static_cast<std::size_t>(edge.from)];
    const int to = assignment[static_cast<std::size_t>(edge.to)];
    if (from > to) {
      return fmt::format("kernel {} runs in configuration {}, before kernel {} in {}, whose output it reads",
                         edge.to + 1, to, edge.from + 1, from);
    }
  }
  std::vector<int> first(static_cast<std::size_t>(problem.configurations), -1);
  for (std::size_t k = 0; k < assignment.size(); ++k) {
    int& one = first[static_cast<std::size_t>(assignment[k])];
    if (one < 0) one = static_cast<int>(k);
    if (problem.kernels[static_cast<std::size_t>(one)].repeat_class != problem.kernels[k].repeat_class) {
      return fmt::format("kernels {} and {} share configuration {}, and repeat differently", one + 1, k + 1,
                         assignment[k]);
    }
  }
  return {};
}

std::string why_not(const PartitionProblem& problem, const ConfigurationCost& cost, std::size_t c) {
  if (problem.sram_bytes > 0 && cost.sram_bytes > problem.sram_bytes) {
    return fmt::format("configuration {} needs {:.0f} bytes of SRAM, and there are {:.0f}", c, cost.sram_bytes,
                       problem.sram_bytes);
  }
  return fmt::format("configuration {} finds no {} for its {} kernels", c,
                     problem.memory_units > 0 ? "cores or memory units" : "cores", cost.kernels.size());
}

}  // namespace

PartitionProblem within_first_dram(PartitionProblem problem) {
  problem.second_dram_bytes = 0;
  for (PartitionProblem& one : problem.tilings) one.second_dram_bytes = 0;
  return problem;
}

PartitionProblem across_both_drams(PartitionProblem problem) {
  const auto join = [](PartitionProblem& one) {
    one.dram_bytes += one.second_dram_bytes;
    one.dram_bandwidth_gb_per_s = one.mixed_bandwidth_gb_per_s;
    one.second_dram_bytes = 0;
  };
  join(problem);
  for (PartitionProblem& one : problem.tilings) join(one);
  return problem;
}

ConfigurationCost price(const PartitionProblem& problem, std::span<const int> members) {
  SetPricer pricer(problem);
  ConfigurationCost result = pricer.describe(members);
  if (members.empty()) return result;
  result.dram_bytes = weights_in_dram(problem);
  std::vector<char> inside(problem.kernels.size(), 0);
  for (const int k : members) inside[static_cast<std::size_t>(k)] = 1;
  for (const PartitionEdge& edge : problem.edges) {
    if (inside[static_cast<std::size_t>(edge.from)] != inside[static_cast<std::size_t>(edge.to)]) {
      result.dram_bytes += edge.resident_bytes;
    }
  }
  return result;
}

PartitionCost price(const PartitionProblem& problem, const std::vector<int>& assignment) {
  return SetPricer(problem).price_all(assignment);
}

PartitionCost SetPricer::price_all(const std::vector<int>& assignment) {
  const PartitionProblem& problem = problem_;
  PartitionCost result;
  const auto configurations = static_cast<std::size_t>(std::max(problem.configurations, 0));
  result.configurations.resize(configurations);
  const auto refuse = [&](std::string why) {
    result.feasible = false;
    if (result.first_violation.empty()) result.first_violation = std::move(why);
  };
  if (assignment.size() != problem.kernels.size()) {
    refuse(fmt::format("{} kernels are assigned, and there are {}", assignment.size(), problem.kernels.size()));
    return result;
  }
  for (std::size_t k = 0; k < assignment.size(); ++k) {
    if (assignment[k] < 0 || assignment[k] >= problem.configurations) {
      refuse(fmt::format("kernel {} is in configuration {}, and there are {}", k + 1, assignment[k],
                         problem.configurations));
      return result;
    }
  }
  if (std::string rule = broken_rule(problem, assignment); !rule.empty()) refuse(std::move(rule));

  // Counting sort: the kernels of each configuration, ascending.
  std::vector<std::size_t> start(configurations + 1, 0);
  for (const int c : assignment) ++start[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 0; c < configurations; ++c) start[c + 1] += start[c];
  std::vector<int> members(assignment.size());
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < assignment.size(); ++k) {
    members[next[static_cast<std::size_t>(assignment[k])]++] = static_cast<int>(k);
  }

  // Bytes that cut edges keep in DRAM: from the configuration that writes to the one that reads, both included.
  std::vector<double> written(configurations, 0), released(configurations + 1, 0);
  for (const PartitionEdge& edge : problem.edges) {
    const int from = assignment[static_cast<std::size_t>(edge.from)];
    const int to = assignment[static_cast<std::size_t>(edge.to)];
    if (from >= to) continue;
    written[static_cast<std::size_t>(from)] += edge.resident_bytes;
    released[static_cast<std::size_t>(to) + 1] += edge.resident_bytes;
  }
  const double weights = weights_in_dram(problem);
  if (problem.second_dram_bytes > 0) {
    double alive = 0, most = 0;
    for (std::size_t c = 0; c < configurations; ++c) most = std::max(most, alive += written[c] - released[c]);
    if (weights + most > problem.dram_bytes * (1 + kTie)) {
      PartitionCost both = dataflow::price(across_both_drams(problem), assignment);
      both.in_second_dram = true;
      return both;
    }
  }
  double alive = 0;
  for (std::size_t c = 0; c < configurations; ++c) {
    ConfigurationCost& cost = result.configurations[c];
    cost = describe(std::span(members).subspan(start[c], start[c + 1] - start[c]));
    alive += written[c] - released[c];
    cost.dram_bytes = weights + alive;
    result.sum_interval_ns += cost.interval_ns;
    if (!cost.fits) refuse(why_not(problem, cost, c));
    if (problem.dram_bytes > 0 && cost.dram_bytes > problem.dram_bytes * (1 + kTie)) {
      refuse(fmt::format("{:.0f} bytes lie in DRAM while configuration {} runs, and there is room for {:.0f}",
                         cost.dram_bytes, c, problem.dram_bytes));
    }
  }
  return result;
}

}  // namespace orrery::dataflow
