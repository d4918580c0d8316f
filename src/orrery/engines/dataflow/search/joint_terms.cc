// A kernel's part of the partition problem depends on its own sharding, an edge's buffers on that of its producer, and
// what an edge communicates on both of its ends. So one lowering for each place in the lists of shardings (two to four)
// tells all of them, and the conversions are a table per edge.
//
// A relaxation takes the least of each figure over what is left: compute, bytes, the Pareto front of ways to deal out
// cores. Communication is paid in the configuration of the consumer, its own and that of the edges into it; its least
// is taken over the consumer's sharding, with the best producer for each edge:
//
//   min over s of [own(s) + sum over edges into it of min over p of conversion(p, s)]
//
// Memory units, which depend on the lanes that were chosen, are left unchecked while anything is open. Cost: of a
// relaxation a step per kernel, edge and pair of shardings.
#include "orrery/engines/dataflow/search/joint_terms.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/stored_weights.h"
#include "orrery/engines/dataflow/partition/tolerances.h"
#include "orrery/engines/dataflow/search/pairwise.h"

namespace orrery::dataflow {

namespace {

bool same(const std::vector<CoreChoice>& a, const std::vector<CoreChoice>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const CoreChoice& x, const CoreChoice& y) {
    return x.cores == y.cores && x.lanes == y.lanes && x.stages == y.stages && x.ns == y.ns;
  });
}

// Both lists rise in cores and fall in time; so does the result.
std::vector<CoreChoice> front(const std::vector<CoreChoice>& a, const std::vector<CoreChoice>& b) {
  std::vector<CoreChoice> merged, result;
  std::merge(
      a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged),
      [](const CoreChoice& x, const CoreChoice& y) { return x.cores != y.cores ? x.cores < y.cores : x.ns < y.ns; });
  for (const CoreChoice& choice : merged)
    if (result.empty() || choice.ns < result.back().ns) result.push_back(choice);
  return result;
}

void lower_to(double& figure, double other) {
  figure = std::min(figure, other);
}

template <typename Do>
void each(std::uint8_t set, const Do& visit) {
  for (unsigned left = set; left != 0; left &= left - 1) visit(std::countr_zero(left));
}

}  // namespace

JointTerms::JointTerms(const Setup& setup, const Mapping& mapping,
                       const std::vector<std::vector<workload::KernelDimension>>& allowed,
                       const machine::OperatorModel* operators)
    : allowed_(allowed) {
  const workload::KernelGraph& graph = setup.graph;
  const std::size_t kernels = graph.kernels.size();
  options_.resize(kernels);
  into_.resize(kernels);
  out_of_.resize(kernels);
  std::size_t most = 1;
  for (std::size_t k = 0; k < kernels; ++k) {
    options_[k].resize(allowed[k].size());
    most = std::max(most, allowed[k].size());
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    out_of_[static_cast<std::size_t>(graph.edges[e].from)].push_back(static_cast<int>(e));
    into_[static_cast<std::size_t>(graph.edges[e].to)].push_back(static_cast<int>(e));
  }
  Mapping one = mapping;
  one.sharding.resize(kernels);
  Defects apart;  // what two kernels share depends on both of their shardings
  apart.weights_of_both_directions = true;
  for (std::size_t o = 0; o < most; ++o) {
    for (std::size_t k = 0; k < kernels; ++k) one.sharding[k] = allowed[k][std::min(o, allowed[k].size() - 1)];
    PartitionProblem problem = lower(setup, one, apart, operators);
    for (std::size_t k = 0; k < kernels; ++k) {
      if (o >= allowed[k].size()) continue;
      Option& option = options_[k][o];
      for (const int e : out_of_[k]) {
        const PartitionEdge& edge = problem.edges[static_cast<std::size_t>(e)];
        option.buffer_bytes.push_back(edge.buffer_bytes);
        option.stream_bytes.push_back(edge.stream_bytes);
        option.resident_bytes.push_back(edge.resident_bytes);
      }
      option.kernel = problem.kernels[k];
      option.work_ns = option.kernel.compute_ns;
      if (problem.free_cores) {
        double work = kNever;
        for (const CoreChoice& choice : option.kernel.choices)
          work = std::min(work, choice.ns * static_cast<double>(choice.cores));
        option.work_ns = work / static_cast<double>(std::max<Count>(1, problem.cores));
      }
    }
    if (o == 0) base_ = std::move(problem);
  }
  twins_ = weight_twins(graph);
  shared_.resize(kernels);
  const double layers = static_cast<double>(layers_per_stage(setup, mapping.degrees));
  for (std::size_t k = 0; k < kernels; ++k) {
    if (twins_[k] < 0) continue;
    const auto twin = static_cast<std::size_t>(twins_[k]);
    const workload::Kernel& kernel = graph.kernels[twin];
    const double whole = static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                         static_cast<double>(kernel.k) * static_cast<double>(setup.execution.word_bytes);
    for (std::size_t own = 0; own < allowed[k].size(); ++own)
      for (std::size_t other = 0; other < allowed[twin].size(); ++other)
        shared_[k].push_back(layers * common_weight_bytes(allowed[twin][other],
                                                          options_[twin][other].kernel.weight_bytes, allowed[k][own],
                                                          options_[k][own].kernel.weight_bytes, whole));
  }
  const GroupCharges charges = group_charges(setup.system, mapping.degrees, Parallelism::kTensor, kCorrected,
                                             setup.execution.separate_reduce_scatter_all_gather);
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    conversion_.emplace_back();
    for (const workload::KernelDimension from : allowed[static_cast<std::size_t>(graph.edges[e].from)])
      for (const workload::KernelDimension to : allowed[static_cast<std::size_t>(graph.edges[e].to)])
        conversion_.back().push_back(conversion_ns(graph, graph.edges[e], from, to, charges));
  }
}

ShardingSets JointTerms::all() const {
  ShardingSets sets;
  for (const std::vector<Option>& options : options_)
    sets.push_back(static_cast<std::uint8_t>((1U << options.size()) - 1));
  return sets;
}

JointTerms::Option JointTerms::least(int kernel, std::uint8_t set) const {
  const std::vector<Option>& options = options_[static_cast<std::size_t>(kernel)];
  Option result = options[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(set)))];
  each(set & (set - 1), [&](int o) {
    const Option& other = options[static_cast<std::size_t>(o)];
    lower_to(result.kernel.compute_ns, other.kernel.compute_ns);
    lower_to(result.kernel.memory_bytes, other.kernel.memory_bytes);
    lower_to(result.kernel.network_ns, other.kernel.network_ns);
    lower_to(result.kernel.beside_ns, other.kernel.beside_ns);
    lower_to(result.kernel.weight_bytes, other.kernel.weight_bytes);
    lower_to(result.kernel.sram_extra_bytes, other.kernel.sram_extra_bytes);
    lower_to(result.kernel.dram_bytes, other.kernel.dram_bytes);
    lower_to(result.work_ns, other.work_ns);
    if (!same(result.kernel.choices, other.kernel.choices))
      result.kernel.choices = front(result.kernel.choices, other.kernel.choices);
    for (std::size_t e = 0; e < result.buffer_bytes.size(); ++e) {
      lower_to(result.buffer_bytes[e], other.buffer_bytes[e]);
      lower_to(result.stream_bytes[e], other.stream_bytes[e]);
      lower_to(result.resident_bytes[e], other.resident_bytes[e]);
    }
  });
  return result;
}

double JointTerms::network_ns(int kernel, const ShardingSets& sets) const {
  const std::size_t k = static_cast<std::size_t>(kernel);
  const std::size_t shardings = options_[k].size();
  double best = kNever;
  each(sets[k], [&](int to) {
    double ns = options_[k][static_cast<std::size_t>(to)].kernel.network_ns;
    for (const int e : into_[k]) {
      const std::vector<double>& table = conversion_[static_cast<std::size_t>(e)];
      double cheapest = kNever;
      each(sets[static_cast<std::size_t>(base_.edges[static_cast<std::size_t>(e)].from)], [&](int from) {
        cheapest = std::min(cheapest, table[static_cast<std::size_t>(from) * shardings + static_cast<std::size_t>(to)]);
      });
      ns += cheapest;
    }
    best = std::min(best, ns);
  });
  return best;
}

double JointTerms::shared_bytes(int kernel, const ShardingSets& sets) const {
  const auto k = static_cast<std::size_t>(kernel);
  if (twins_[k] < 0) return 0;
  const auto twin = static_cast<std::size_t>(twins_[k]);
  double most = 0;
  each(sets[k], [&](int own) {
    each(sets[twin], [&](int other) {
      most = std::max(
          most, shared_[k][static_cast<std::size_t>(own) * options_[twin].size() + static_cast<std::size_t>(other)]);
    });
  });
  return most;
}

PartitionProblem JointTerms::relaxed(const ShardingSets& sets) const {
  PartitionProblem problem = base_;
  bool open = false;
  for (std::size_t k = 0; k < options_.size(); ++k) {
    open = open || !std::has_single_bit(static_cast<unsigned>(sets[k]));
    Option option = least(static_cast<int>(k), sets[k]);
    problem.kernels[k] = std::move(option.kernel);
    problem.kernels[k].network_ns = network_ns(static_cast<int>(k), sets);
    problem.kernels[k].dram_bytes =
        std::max(0.0, problem.kernels[k].dram_bytes - shared_bytes(static_cast<int>(k), sets));
    for (std::size_t e = 0; e < out_of_[k].size(); ++e) {
      PartitionEdge& edge = problem.edges[static_cast<std::size_t>(out_of_[k][e])];
      edge.buffer_bytes = option.buffer_bytes[e];
      edge.stream_bytes = option.stream_bytes[e];
      edge.resident_bytes = option.resident_bytes[e];
      edge.network_ns = 0;  // in its consumer's
    }
  }
  if (open) problem.memory_units = 0;
  return problem;
}

double JointTerms::weighed(const Option& option) const {
  double bytes = option.kernel.memory_bytes;
  for (const double stream : option.stream_bytes) bytes += stream;
  return option.work_ns + (base_.dram_bandwidth_gb_per_s > 0 ? bytes / base_.dram_bandwidth_gb_per_s : 0);
}

ShardingSets JointTerms::likely(const ShardingSets& sets) const {
  // Prices as integers of 2^40 to the dearest, so that all of them together are far below 2^127.
  double dearest = 0;
  for (const std::vector<Option>& options : options_)
    for (const Option& option : options)
      if (std::isfinite(option.work_ns)) dearest = std::max(dearest, option.work_ns + option.kernel.network_ns);
  for (const std::vector<double>& table : conversion_)
    for (const double ns : table) dearest = std::max(dearest, ns);
  const double unit = dearest > 0 ? std::ldexp(1.0, 40) / dearest : 1;
  const auto scaled = [&](double ns) {
    return TieredPrice{base::saturated(std::round(std::min(ns, 2 * dearest) * unit)), 0, 0};
  };
  PairwiseProblem problem;
  std::vector<std::vector<int>> states(options_.size());
  for (std::size_t k = 0; k < options_.size(); ++k) {
    problem.alone.emplace_back();
    each(sets[k], [&](int o) {
      const Option& option = options_[k][static_cast<std::size_t>(o)];
      states[k].push_back(o);
      problem.alone.back().push_back(scaled(option.work_ns + option.kernel.network_ns));
    });
  }
  for (std::size_t e = 0; e < conversion_.size(); ++e) {
    const std::size_t from = static_cast<std::size_t>(base_.edges[e].from);
    const std::size_t to = static_cast<std::size_t>(base_.edges[e].to);
    PairPrice pair{base_.edges[e].from, base_.edges[e].to, {}};
    for (const int f : states[from])
      for (const int t : states[to])
        pair.price.push_back(
            scaled(conversion_[e][static_cast<std::size_t>(f) * options_[to].size() + static_cast<std::size_t>(t)]));
    problem.pairs.push_back(std::move(pair));
  }
  const PairwiseOptimum optimum = dataflow::least(problem);
  ShardingSets result;
  for (std::size_t k = 0; k < options_.size(); ++k)
    result.push_back(static_cast<std::uint8_t>(1U << states[k][static_cast<std::size_t>(optimum.state[k])]));
  return result;
}

int JointTerms::most_relaxed(const ShardingSets& sets, const ShardingSets& likely) const {
  const auto open = [&](int kernel) {
    return !std::has_single_bit(static_cast<unsigned>(sets[static_cast<std::size_t>(kernel)]));
  };
  int chosen = -1, differing = -1;
  double most = 0;
  for (int k = 0; k < static_cast<int>(options_.size()); ++k) {
    const std::size_t at = static_cast<std::size_t>(k);
    const double network = network_ns(k, likely) - network_ns(k, sets);
    int branch = open(k) ? k : -1;
    double change = network;
    if (branch >= 0) {
      const Option& fixed = options_[at][static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(likely[at])))];
      const Option loose = least(k, sets[at]);
      change += weighed(fixed) - weighed(loose);
      const PartitionKernel &a = fixed.kernel, &b = loose.kernel;
      if (a.compute_ns != b.compute_ns || a.weight_bytes != b.weight_bytes || a.dram_bytes != b.dram_bytes ||
          a.memory_bytes != b.memory_bytes || fixed.buffer_bytes != loose.buffer_bytes || !same(a.choices, b.choices) ||
          (base_.memory_units > 0))
        differing = differing < 0 ? k : differing;
    } else if (network > 0) {  // because a producer is open
      for (const int e : into_[at])
        if (open(base_.edges[static_cast<std::size_t>(e)].from)) branch = base_.edges[static_cast<std::size_t>(e)].from;
    }
    if (shared_bytes(k, likely) < shared_bytes(k, sets) && differing < 0) differing = open(k) ? k : twins_[at];
    if (branch < 0) continue;
    if (network > 0 && differing < 0) differing = branch;
    if (change > most) {
      most = change;
      chosen = branch;
    }
  }
  return chosen >= 0 ? chosen : differing;
}

std::vector<workload::KernelDimension> JointTerms::sharding(const ShardingSets& one_each) const {
  std::vector<workload::KernelDimension> result;
  for (std::size_t k = 0; k < options_.size(); ++k)
    result.push_back(allowed_[k][static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(one_each[k])))]);
  return result;
}

}  // namespace orrery::dataflow
