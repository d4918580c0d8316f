// Small random partition problems, and every answer to them by enumeration. Test-only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow::testing {

class PartitionDice {
 public:
  explicit PartitionDice(std::uint64_t seed) : generator_(seed) {}
  int roll(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  bool once_in(int n) { return roll(1, n) == 1; }
  // Mostly small whole numbers, so that ties happen; sometimes none, sometimes a number with a fraction.
  double size(int most) {
    if (once_in(6)) return 0;
    return once_in(4) ? roll(0, most * 1000) / 1000.0 / 3.0 : roll(0, most);
  }

 private:
  std::mt19937_64 generator_;
};

inline PartitionProblem random_partition(PartitionDice& dice, int most_kernels = 7) {
  PartitionProblem problem;
  const int kernels = dice.roll(1, most_kernels);
  problem.configurations = dice.roll(1, kernels > 5 ? 3 : 4);
  problem.overlap = static_cast<Overlap>(dice.roll(0, 2));
  problem.use_compute = !dice.once_in(8);
  problem.use_memory = !dice.once_in(8);
  problem.use_network = !dice.once_in(8);
  problem.dram_bandwidth_gb_per_s = dice.roll(1, 4);
  problem.free_cores = dice.once_in(3);
  problem.cores = problem.free_cores ? dice.roll(2, 24) : 0;
  const bool classes = dice.once_in(5), splits = dice.once_in(2), networks = dice.once_in(2), beside = dice.once_in(3);
  const int pins = dice.once_in(3) ? 3 : 1000;
  // Names in an order that is not topological.
  std::vector<int> name(static_cast<std::size_t>(kernels));
  for (int k = 0; k < kernels; ++k) name[static_cast<std::size_t>(k)] = k;
  if (dice.once_in(2)) {
    for (int k = kernels - 1; k > 0; --k) {
      std::swap(name[static_cast<std::size_t>(k)], name[static_cast<std::size_t>(dice.roll(0, k))]);
    }
  }
  double sram = 0, dram = 0;
  for (int k = 0; k < kernels; ++k) {
    PartitionKernel kernel;
    kernel.compute_ns = dice.size(12);
    kernel.memory_bytes = dice.once_in(3) ? dice.size(8) : 0;
    kernel.network_ns = networks && dice.once_in(2) ? dice.size(6) : 0;
    kernel.beside_ns = beside && dice.once_in(2) ? dice.size(6) : 0;
    kernel.weight_bytes = dice.once_in(2) ? dice.size(10) : 0;
    kernel.sram_extra_bytes = dice.once_in(5) ? dice.size(4) : 0;
    kernel.dram_bytes = dice.once_in(2) ? dice.size(5) : 0;
    kernel.can_split_weight = splits && kernel.weight_bytes > 0;
    kernel.repeat_class = classes ? dice.roll(0, 1) : 0;
    kernel.last = problem.configurations - 1;
    if (dice.once_in(pins)) kernel.first = kernel.last = dice.roll(0, problem.configurations - 1);
    if (dice.once_in(2 * pins)) kernel.first = dice.roll(0, kernel.last);
    if (dice.once_in(2 * pins)) kernel.last = dice.roll(kernel.first, kernel.last);
    Count cores = dice.roll(1, 3);
    double ns = dice.roll(4, 30);
    for (int c = dice.roll(1, 4); c > 0; --c) {
      kernel.choices.push_back({cores, cores, 1, ns});
      cores += dice.roll(1, 5);
      ns *= dice.once_in(2) ? 0.5 : 0.75;
    }
    sram += kernel.weight_bytes + kernel.sram_extra_bytes;
    dram += kernel.dram_bytes;
    problem.kernels.push_back(kernel);
  }
  for (int b = 1; b < kernels; ++b) {
    for (int a = 0; a < b; ++a) {
      if (!dice.once_in(a + 1 == b ? 2 : 4)) continue;
      PartitionEdge edge;
      edge.from = name[static_cast<std::size_t>(a)];
      edge.to = name[static_cast<std::size_t>(b)];
      edge.buffer_bytes = dice.size(5);
      edge.depth = dice.once_in(4) ? dice.roll(1, 4) : 2;
      edge.stream_bytes = dice.size(8);
      edge.resident_bytes = dice.size(4);
      edge.network_ns = networks && dice.once_in(3) ? dice.size(3) : 0;
      sram += 2 * edge.buffer_bytes;
      dram += edge.resident_bytes;
      problem.edges.push_back(edge);
    }
  }
  // From roomy to impossible.
  if (dice.once_in(2)) problem.sram_bytes = std::round(sram * dice.roll(20, 110) / 100.0);
  if (dice.once_in(3)) problem.dram_bytes = std::round(dram * dice.roll(40, 110) / 100.0);
  if (dice.once_in(6)) {
    problem.memory_units = dice.roll(2, 20);
    problem.memory_unit_bytes = std::max(1.0, std::round(sram / static_cast<double>(problem.memory_units)));
  }
  return problem;
}

inline int non_empty(const PartitionCost& cost) {
  return static_cast<int>(std::count_if(cost.configurations.begin(), cost.configurations.end(),
                                        [](const ConfigurationCost& c) { return !c.kernels.empty(); }));
}

inline double most_sram(const PartitionCost& cost) {
  double most = 0;
  for (const ConfigurationCost& c : cost.configurations) most = std::max(most, c.sram_bytes);
  return most;
}

struct Enumerated {
  std::optional<std::vector<int>> assignment;
  double sum_ns = 0;
};

// Every assignment, priced; the best by the rule of partition.h.
inline Enumerated enumerate(const PartitionProblem& problem) {
  struct Candidate {
    double sum = 0;
    int filled = 0;
    double sram = 0;
    std::vector<int> assignment;
  };
  std::vector<Candidate> feasible;
  std::vector<int> assignment(problem.kernels.size(), 0);
  for (;;) {
    const PartitionCost cost = price(problem, assignment);
    if (cost.feasible) feasible.push_back({cost.sum_interval_ns, non_empty(cost), most_sram(cost), assignment});
    std::size_t k = 0;
    while (k < assignment.size() && ++assignment[k] == problem.configurations) assignment[k++] = 0;
    if (k == assignment.size()) break;
  }
  if (feasible.empty()) return {};
  double least = feasible[0].sum;
  for (const Candidate& candidate : feasible) least = std::min(least, candidate.sum);
  const Candidate* best = nullptr;
  for (const Candidate& candidate : feasible) {
    if (candidate.sum > least * (1 + 1e-12)) continue;
    if (best == nullptr || std::tie(candidate.filled, candidate.sram, candidate.assignment) <
                               std::tie(best->filled, best->sram, best->assignment)) {
      best = &candidate;
    }
  }
  return {best->assignment, least};
}

inline std::string to_text(const PartitionProblem& p) {
  std::string text = fmt::format(
      "configurations {} overlap {} terms {}{}{} cores {} (free {}) bandwidth {} sram {} dram {} units {} of {}\n",
      p.configurations, static_cast<int>(p.overlap), p.use_compute, p.use_memory, p.use_network, p.cores, p.free_cores,
      p.dram_bandwidth_gb_per_s, p.sram_bytes, p.dram_bytes, p.memory_units, p.memory_unit_bytes);
  for (std::size_t k = 0; k < p.kernels.size(); ++k) {
    const PartitionKernel& one = p.kernels[k];
    text += fmt::format(
        "kernel {}: compute {} memory {} network {} beside {} weight {} extra {} dram {} class {} in {}..{} split {}",
        k, one.compute_ns, one.memory_bytes, one.network_ns, one.beside_ns, one.weight_bytes, one.sram_extra_bytes,
        one.dram_bytes, one.repeat_class, one.first, one.last, one.can_split_weight);
    for (const CoreChoice& choice : one.choices) text += fmt::format(" {}:{}", choice.cores, choice.ns);
    text += '\n';
  }
  for (const PartitionEdge& edge : p.edges) {
    text += fmt::format("edge {} -> {}: buffer {} depth {} stream {} resident {} network {}\n", edge.from, edge.to,
                        edge.buffer_bytes, edge.depth, edge.stream_bytes, edge.resident_bytes, edge.network_ns);
  }
  return text;
}

}  // namespace orrery::dataflow::testing
