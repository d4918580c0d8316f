// Random small setups, and the best placement of one by trying everything: all links and their hierarchies, all overlap
// modes, both ways of giving cores, pins, open sizes and services, capacities that bind.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::dataflow::random_setup {

using workload::Kernel;
using workload::KernelDimension;
using workload::Operands;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}
  int roll(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  bool once_in(int n) { return roll(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[roll(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 generator_;
};

inline void draw_graph(Dice& dice, dataflow::Setup& setup, Count sequence, int most_kernels) {
  const int kernels = dice.roll(1, most_kernels);
  const bool training = dice.once_in(2);
  const int forward = training ? dice.roll(0, kernels) : kernels;
  for (int k = 0; k < kernels; ++k) {
    Kernel kernel;
    kernel.name = "k" + std::to_string(k);
    kernel.operands = dice.one_of({Operands::kInputAndWeight, Operands::kTwoInputs, Operands::kOneElementwise});
    kernel.unit = kernel.is_product() ? workload::KernelUnit::kSystolic : workload::KernelUnit::kSimd;
    kernel.direction = k < forward ? workload::Direction::kForward : workload::Direction::kBackward;
    kernel.outer = dice.once_in(4) ? 3 : 1;
    kernel.m = dice.one_of<Count>({1, 4, 8, 12});
    kernel.k = kernel.is_product() ? dice.one_of<Count>({1, 4, 8, 12}) : 1;
    kernel.n = sequence;
    kernel.tiling = KernelDimension::kN;
    if (kernel.is_product() && !kernel.has_weight() && dice.once_in(4)) {
      kernel.n = dice.one_of<Count>({4, 8});
      kernel.k = sequence;
      kernel.tiling = KernelDimension::kK;
      kernel.communication = workload::Communication::kPeriodicAllReduce;
    }
    kernel.output_bytes = static_cast<double>(kernel.outer * kernel.m * kernel.n * 2);
    kernel.input_bytes = kernel.output_bytes;
    kernel.communication_bytes = kernel.communication == workload::Communication::kNone ? 0 : kernel.output_bytes;
    if (dice.once_in(6)) kernel.memory_bytes = dice.roll(1, 2000);
    if (dice.once_in(8)) kernel.configuration = dice.roll(0, 2);
    if (dice.once_in(12)) kernel.inputs = 2;
    setup.graph.kernels.push_back(kernel);
  }
  for (int to = 1; to < kernels; ++to)
    for (int from = 0; from < to; ++from)
      if (dice.once_in(2)) setup.graph.edges.push_back({from, to});
}

inline dataflow::Setup draw(Dice& dice, int most_kernels) {
  dataflow::Setup setup;
  const Count sequence = dice.one_of<Count>({1, 4, 6});
  draw_graph(dice, setup, sequence, most_kernels);
  const int dimensions = dice.roll(1, 4);
  Count chips = 1;
  std::vector<Parallelism> services = {Parallelism::kTensor, Parallelism::kPipeline, Parallelism::kData,
                                       Parallelism::kSequence};
  for (int d = 0; d < dimensions; ++d) {
    NetworkDimension dimension;
    dimension.link = dice.one_of({Link::kRing, Link::kSwitch, Link::kFullyConnected});
    dimension.size = dice.one_of<Count>({1, 2, 2, 3});
    dimension.bandwidth_gb_per_s = dice.roll(1, 8);
    if (dice.once_in(2)) {
      const int pick = dice.roll(0, static_cast<int>(services.size()) - 1);
      if (services[pick] != Parallelism::kSequence || dimensions == 4) {
        dimension.parallelism = services[pick];
        services.erase(services.begin() + pick);
      }
    }
    if (chips * dimension.size > 12) dimension.size = 1;
    chips *= dimension.size;
    if (dice.once_in(3)) dimension.size = 0;
    setup.system.network.push_back(dimension);
  }
  setup.system.chips = chips;
  setup.system.cores = {.cores = dice.one_of<Count>({2, 6}), .width = 2, .height = 2, .frequency_ghz = 0.5};
  setup.system.accelerator.on_chip_bytes = static_cast<double>(dice.roll(100, 1500));
  setup.system.link_latency_ns = dice.once_in(3) ? 5.0 : 0.0;
  setup.system.accelerator.memory_bytes_per_s = 1e9 * dice.roll(1, 16);
  if (dice.once_in(3)) setup.system.accelerator.memory_bytes = dice.roll(200, 4000);
  LanguageModelRun model{.hidden = 8, .head_width = 4, .heads = 2, .sequence = sequence, .layers = dice.roll(1, 5)};
  model.global_batch = dice.one_of<Count>({4, 6, 12});
  model.micro_batch = dice.roll(1, 2);
  model.tile_size = dice.once_in(4) ? dice.roll(1, static_cast<int>(sequence)) : 0;
  setup.execution.workload = model;
  setup.execution.configurations = dice.roll(1, 3);
  setup.execution.style = dice.once_in(10) ? Style::kKernelByKernel : Style::kDataflow;
  setup.execution.overlap = dice.one_of({Overlap::kPerfect, Overlap::kNone, Overlap::kComputeMemory});
  if (setup.execution.overlap == Overlap::kNone && dice.once_in(4)) {
    setup.execution.terms = dice.one_of<const char*>({"C", "CM", "CN"});
  }
  if (dice.once_in(2)) setup.execution.compute_utilization = 0.5;
  setup.execution.separate_reduce_scatter_all_gather = dice.once_in(2);
  return setup;
}

// Every size and service of every dimension, straight from the rules.
inline void each_system(const dataflow::Setup& setup, std::size_t at, dataflow::Setup& filled,
                        const std::function<void()>& then) {
  if (at == setup.system.network.size()) {
    Count product = 1;
    std::vector<Parallelism> seen;
    for (const NetworkDimension& dimension : filled.system.network) {
      product *= dimension.size;
      if (!dimension.parallelism) continue;
      if (std::find(seen.begin(), seen.end(), *dimension.parallelism) != seen.end()) return;
      if (*dimension.parallelism == Parallelism::kSequence && setup.system.network.size() < 4) return;
      seen.push_back(*dimension.parallelism);
    }
    if (product == setup.system.chips) then();
    return;
  }
  const NetworkDimension& stated = setup.system.network[at];
  NetworkDimension& dimension = filled.system.network[at];
  for (Count size = 1; size <= setup.system.chips; ++size) {
    if (stated.size > 0 && size != stated.size) continue;
    dimension.size = size;
    for (int service = 0; service < 4; ++service) {
      dimension.parallelism = static_cast<Parallelism>(service);
      if (stated.parallelism && stated.parallelism != dimension.parallelism) continue;
      each_system(setup, at + 1, filled, then);
    }
    dimension.parallelism = stated.parallelism;
    if (!stated.parallelism && size == 1) each_system(setup, at + 1, filled, then);
  }
}

// Of one sharding, tile and degrees: the best of all assignments.
inline double best_assignment(const dataflow::Setup& filled, const Mapping& mapping, long& tried) {
  double best = std::numeric_limits<double>::infinity();
  const PartitionProblem problem = lower(filled, mapping, kCorrected);
  std::vector<int> assignment(problem.kernels.size(), 0);
  const std::function<void(std::size_t)> assign = [&](std::size_t k) {
    if (k < assignment.size()) {
      for (int c = problem.kernels[k].first; c <= problem.kernels[k].last; ++c) {
        assignment[k] = c;
        assign(k + 1);
      }
      return;
    }
    ++tried;
    const PartitionCost cost = price(problem, assignment);
    if (!cost.feasible) return;
    Evaluation evaluation;
    evaluation.sum_interval_ns = cost.sum_interval_ns;
    roll_up(filled, mapping.degrees, kCorrected, evaluation);
    best = std::min(best, evaluation.final_ns);
  };
  assign(0);
  return best;
}

// `every_sharding`: of all that are allowed; else the one that choose_sharding() takes.
inline double best_of_all(const dataflow::Setup& setup, bool every_sharding, long& tried) {
  double best = std::numeric_limits<double>::infinity();
  dataflow::Setup filled = setup;
  const auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  each_system(setup, 0, filled, [&] {
    Mapping mapping;
    for (const NetworkDimension& dimension : filled.system.network) {
      mapping.degrees.sizes.push_back(dimension.size);
      if (dimension.parallelism == Parallelism::kTensor) mapping.degrees.tensor = dimension.size;
      if (dimension.parallelism == Parallelism::kPipeline) mapping.degrees.pipeline = dimension.size;
      if (dimension.parallelism == Parallelism::kData) mapping.degrees.data = dimension.size;
      if (dimension.parallelism == Parallelism::kSequence) mapping.degrees.sequence = dimension.size;
    }
    if (model.global_batch % (model.micro_batch * mapping.degrees.data) != 0) return;
    const std::vector<KernelDimension> first = choose_sharding(filled, mapping.degrees, kCorrected).sharding;
    const Count tokens = base::ceil_divide(model.sequence, mapping.degrees.sequence);
    Count before = 0;
    for (Count size = tokens; size >= 1; --size) {
      if (model.tile_size > 0 && size != std::min(model.tile_size, tokens)) continue;
      mapping.tile_size = size;
      mapping.tiles = base::ceil_divide(tokens, size);
      if (mapping.tiles == before) continue;
      before = mapping.tiles;
      mapping.sharding = first;
      const std::function<void(std::size_t)> shard = [&](std::size_t k) {
        if (k == first.size()) {
          best = std::min(best, best_assignment(filled, mapping, tried));
          return;
        }
        for (const KernelDimension dimension : allowed_shardings(filled.graph, static_cast<int>(k))) {
          mapping.sharding[k] = dimension;
          shard(k + 1);
        }
      };
      shard(every_sharding && mapping.degrees.tensor > 1 ? 0 : first.size());
    }
  });
  return best;
}

// ORRERY_PROBLEMS asks for more.
inline int problems(int usual) {
  const char* asked = std::getenv("ORRERY_PROBLEMS");
  return asked != nullptr ? std::atoi(asked) : usual;
}

}  // namespace orrery::dataflow::random_setup
