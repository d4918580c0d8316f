// Layouts of tensors at both ends of an edge, what it takes to convert between them, and the sharding that communicates
// least.
//
//                                           outer  M   K   N   none
//   producer                                SR     SR  RR  RS  RR      RR replicated, SR rows split, RS columns split
//   elementwise consumer                    SR     SR  RR  RS  RR
//   product, at its first input             SR     RR  SR  RS  RR
//   product, at its second input            SR     SR  RS  RR  RR
//   product that is tiled along K           SR     SR  RS  SR  RR      (an update of weights)
//
// A product that is split along K has partial sums everywhere and all-reduces its output. From RR every layout is
// available locally; to RR is an all-gather, between SR and RS an all-to-all. The size of an edge tells which input it
// feeds: an edge as large as the first input is the first, so with inputs of equal size both are. Source: DFModel
// (arXiv 2412.16432); docs/model/dataflow.md, section "Sharding".
//
// One thing differs: a kernel split along `outer` reads a tensor that has no such dimension whole, unless the tensor's
// rows are those of its parts side by side. Every head and every expert multiplies the whole stream.
//
// The choice is a sum of prices of kernels and of pairs of kernels (pairwise.h). Prices are integers: bytes, scaled so
// that all of them together stay below 2^60, times rates, scaled so that the largest is 2^52. Sums are exact, and
// shardings that are equally fast on paper are tied.
#include "orrery/engines/dataflow/search/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/search/pairwise.h"
#include "orrery/engines/dataflow/search/reference_sharding.h"

namespace orrery::dataflow {
namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::KernelEdge;
using workload::KernelGraph;

constexpr std::array kDimensions = {KernelDimension::kOuter, KernelDimension::kM, KernelDimension::kK,
                                    KernelDimension::kN, KernelDimension::kNone};

Count size_along(const Kernel& kernel, KernelDimension dimension) {
  switch (dimension) {
    case KernelDimension::kOuter:
      return kernel.outer;
    case KernelDimension::kM:
      return kernel.m;
    case KernelDimension::kK:
      return kernel.is_product() ? kernel.k : 1;
    case KernelDimension::kN:
      return kernel.n;
    case KernelDimension::kNone:
      break;
  }
  return 1;
}

const char* name(KernelDimension dimension) {
  constexpr std::array kNames = {"outer", "M", "K", "N", "none"};
  return kNames[static_cast<std::size_t>(dimension)];
}

bool splits(const Kernel& kernel, KernelDimension dimension) {
  return dimension != KernelDimension::kNone && size_along(kernel, dimension) > 1 && dimension != kernel.tiling;
}

// Empty where there is none.
std::string pin_contradiction(const Kernel& kernel) {
  if (!kernel.sharding) return {};
  const KernelDimension pin = *kernel.sharding;
  if (pin == KernelDimension::kNone) {
    const bool shares_tokens = kernel.shard_n > 0 && kernel.shard_n < kernel.n;
    return kernel.has_weight() && !shares_tokens ? "its weight has to be split, but the pin leaves it whole" : "";
  }
  if (pin == KernelDimension::kK && !kernel.is_product()) return "an elementwise kernel has no K";
  if (size_along(kernel, pin) <= 1) {
    return fmt::format("{} is {} and cannot be split", name(pin), size_along(kernel, pin));
  }
  if (pin == kernel.tiling) return fmt::format("{} is tiled over time and cannot be split over chips too", name(pin));
  return {};
}

// The communication of a kernel's sharding by itself; what the user states takes precedence.
EdgeConversion own_communication(const Kernel& kernel, KernelDimension sharding) {
  if (kernel.communication != Communication::kNone) return {kernel.communication, kernel.communication_bytes};
  if (sharding == KernelDimension::kK) return {Communication::kAllReduce, kernel.output_bytes};
  return {};
}

// What collectives among the chips of a tensor-parallel group cost; others are none of theirs.
struct Rates {
  Charge reduce, gather, exchange;  // ns, or 1 a byte to count bytes

  const Charge& of(Communication communication) const {
    static constexpr Charge kNothing;
    switch (communication) {
      case Communication::kAllReduce:
        return reduce;
      case Communication::kAllGather:
        return gather;
      case Communication::kAllToAll:
        return exchange;
      default:
        return kNothing;
    }
  }
};

Rates rates_on(const Setup& setup, const Degrees& degrees, const Defects& defects) {
  const GroupCharges charges = group_charges(setup.system, degrees, Parallelism::kTensor, defects,
                                             setup.execution.separate_reduce_scatter_all_gather);
  return {charges.all_reduce, charges.all_gather, charges.all_to_all};
}

constexpr Rates kBytes = {{0, 1}, {0, 1}, {0, 1}};

bool counts_as_bytes(Communication communication) {
  return communication == Communication::kAllReduce || communication == Communication::kAllGather ||
         communication == Communication::kAllToAll;
}

// Products are limited to 100 bits, far above those of any real graph, so that sums fit 128.
__int128 held_product(__int128 a, __int128 b) {
  constexpr __int128 kMost = static_cast<__int128>(1) << 100;
  __int128 product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMost ? kMost : product;
}

struct Part {
  __int128 m = 0, k = 1, n = 0;
};

Part part_of_chip(const Kernel& kernel, KernelDimension sharding, Count chips) {
  const auto share = [&](__int128 size, bool split) { return split ? (size + chips - 1) / chips : size; };
  return {share(static_cast<__int128>(kernel.outer) * kernel.m,
                sharding == KernelDimension::kOuter || sharding == KernelDimension::kM),
          share(kernel.is_product() ? kernel.k : 1, sharding == KernelDimension::kK),
          share(kernel.n, sharding == KernelDimension::kN)};
}

__int128 flop(const Kernel& kernel, const Part& part) {
  const __int128 once = held_product(held_product(part.m, part.n), part.k);
  return kernel.unit == workload::KernelUnit::kSystolic ? 2 * once : once;
}

// Bytes and rates as integers.
class Scale {
 public:
  Scale(const KernelGraph& graph, const Rates& rates) {
    double bytes = 1;
    for (const Kernel& kernel : graph.kernels) bytes += kernel.output_bytes + kernel.communication_bytes;
    for (const KernelEdge& edge : graph.edges) {
      bytes += graph.kernels[static_cast<std::size_t>(edge.from)].output_bytes + edge.communication_bytes;
    }
    const double dearest = std::max({rates.reduce.ns_per_byte, rates.gather.ns_per_byte, rates.exchange.ns_per_byte});
    ORRERY_CHECK(std::isfinite(bytes) && std::isfinite(dearest), "sizes and bandwidths are finite once read");
    byte_bits_ = std::min(20, 60 - (std::ilogb(bytes) + 1));
    largest_rate_ = dearest > 0 ? dearest : 1;
  }

  __int128 operator()(double bytes, const Charge& charge) const {
    return static_cast<__int128>(base::saturated(std::round(std::ldexp(bytes, byte_bits_)))) *
               base::saturated(std::round(std::ldexp(charge.ns_per_byte / largest_rate_, kRateBits))) +
           ns(charge.start_ns);
  }
  double to_ns(__int128 price) const {
    return std::ldexp(static_cast<double>(price), -byte_bits_ - kRateBits) * largest_rate_;
  }

 private:
  __int128 ns(double value) const {
    const double scaled = std::ldexp(value / largest_rate_, byte_bits_ + kRateBits);
    return static_cast<__int128>(std::min(scaled, std::ldexp(1.0, 112)));
  }

  static constexpr int kRateBits = 52;
  int byte_bits_ = 0;
  double largest_rate_ = 1;
};

PairwiseProblem problem_of(const KernelGraph& graph, const std::vector<std::vector<KernelDimension>>& allowed,
                           const Rates& rates, const Scale& scale, Count chips, Count word) {
  std::vector<int> readers(graph.kernels.size(), 0);
  for (const KernelEdge& edge : graph.edges) readers[static_cast<std::size_t>(edge.from)] += edge.zero_out ? 0 : 1;
  PairwiseProblem problem;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const Kernel& kernel = graph.kernels[i];
    problem.alone.emplace_back();
    for (const KernelDimension sharding : allowed[i]) {
      const Part part = part_of_chip(kernel, sharding, chips);
      const EdgeConversion own = own_communication(kernel, sharding);
      TieredPrice price{scale(own.bytes, rates.of(own.communication)), flop(kernel, part),
                        held_product(held_product(part.m, part.n), static_cast<__int128>(word) * readers[i])};
      problem.alone.back().push_back(price);
    }
  }
  for (const KernelEdge& edge : graph.edges) {
    PairPrice pair{edge.from, edge.to, {}};
    for (const KernelDimension from : allowed[static_cast<std::size_t>(edge.from)]) {
      for (const KernelDimension to : allowed[static_cast<std::size_t>(edge.to)]) {
        const EdgeConversion needed = conversion(graph, edge, from, to);
        pair.price.push_back({scale(needed.bytes, rates.of(needed.communication)), 0, 0});
      }
    }
    problem.pairs.push_back(std::move(pair));
  }
  return problem;
}

struct Communicated {
  double ns = 0, bytes = 0;
};

Communicated communicated(const KernelGraph& graph, const std::vector<KernelDimension>& sharding, const Rates& rates) {
  Communicated sum;
  const auto add = [&](const EdgeConversion& needed) {
    sum.ns += rates.of(needed.communication).ns(needed.bytes);
    if (counts_as_bytes(needed.communication)) sum.bytes += needed.bytes;
  };
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) add(own_communication(graph.kernels[i], sharding[i]));
  for (const KernelEdge& edge : graph.edges) {
    add(conversion(graph, edge, sharding[static_cast<std::size_t>(edge.from)],
                   sharding[static_cast<std::size_t>(edge.to)]));
  }
  return sum;
}

ShardingOptimum given(const Setup& setup, std::vector<KernelDimension> sharding, const Rates& rates, std::string rule) {
  ShardingOptimum result;
  const Communicated sum = communicated(setup.graph, sharding, rates);
  result.sharding = std::move(sharding);
  result.communication_ns = sum.ns;
  result.communication_bytes = sum.bytes;
  result.certificate.optimal = true;
  result.certificate.close(sum.ns, sum.ns);
  result.certificate.space = 1;
  result.certificate.evaluated = 1;
  result.rule = std::move(rule);
  return result;
}

ShardingOptimum optimised(const Setup& setup, const Degrees& degrees, const Rates& real, bool count_bytes,
                          const base::Budget& budget) {
  const base::Stopwatch watch;
  const KernelGraph& graph = setup.graph;
  std::vector<std::vector<KernelDimension>> allowed;
  double space = 1;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    allowed.push_back(allowed_shardings(graph, static_cast<int>(i)));
    space *= static_cast<double>(allowed.back().size());
  }
  const Rates& rates = count_bytes ? kBytes : real;
  const Scale scale(graph, rates);
  PairwiseLimits limits;
  limits.budget = &budget;
  const PairwiseOptimum optimum =
      least(problem_of(graph, allowed, rates, scale, degrees.tensor, setup.execution.word_bytes), limits);
  std::vector<KernelDimension> sharding;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    sharding.push_back(allowed[i][static_cast<std::size_t>(optimum.state[i])]);
  }
  ShardingOptimum result = given(setup, std::move(sharding), real, "optimised");
  const double found = count_bytes ? result.communication_bytes : result.communication_ns;
  result.certificate.optimal = optimum.proven;
  result.certificate.close(found, scale.to_ns(optimum.bound.first));
  result.certificate.space = space;
  result.certificate.evaluated = optimum.work;
  result.certificate.seconds = watch.seconds();
  return result;
}

}  // namespace

TensorLayout producer_layout(const Kernel&, KernelDimension sharding) {
  constexpr std::array kLayouts = {TensorLayout::kRowSharded, TensorLayout::kRowSharded, TensorLayout::kReplicated,
                                   TensorLayout::kColumnSharded, TensorLayout::kReplicated};
  return kLayouts[static_cast<std::size_t>(sharding)];
}

namespace {

// Whether the rows of what a kernel without `outer` makes are the consumer's parts along `outer`, side by side.
bool rows_are_parts(const Kernel& producer, const Kernel& consumer) {
  const auto rows = static_cast<__int128>(producer.m);
  const __int128 parts = consumer.outer;
  if (consumer.operands == workload::Operands::kInputAndWeight) return producer.m != consumer.k;
  if (!consumer.is_product()) return rows % parts == 0 && rows >= parts * consumer.m;
  const Count of_part =
      consumer.m == 1 || consumer.k == 1 ? std::max(consumer.m, consumer.k) : std::min(consumer.m, consumer.k);
  return rows % parts == 0 && rows >= parts * of_part;
}

}  // namespace

TensorLayout consumer_layout(const KernelGraph& graph, const KernelEdge& edge, KernelDimension consumer_sharding) {
  using Row = std::array<TensorLayout, 5>;
  constexpr TensorLayout rr = TensorLayout::kReplicated, sr = TensorLayout::kRowSharded,
                         rs = TensorLayout::kColumnSharded;
  constexpr Row kElementwise = {sr, sr, rr, rs, rr};
  constexpr Row kFirstInput = {sr, rr, sr, rs, rr};
  constexpr Row kSecondInput = {sr, sr, rs, rr, rr};
  constexpr Row kTiledAlongK = {sr, sr, rs, sr, rr};
  const Kernel& consumer = graph.kernels[static_cast<std::size_t>(edge.to)];
  const Kernel& producer = graph.kernels[static_cast<std::size_t>(edge.from)];
  const auto column = static_cast<std::size_t>(consumer_sharding);
  if (consumer_sharding == KernelDimension::kOuter && producer.outer == 1 && !rows_are_parts(producer, consumer))
    return rr;
  if (!consumer.is_product()) return kElementwise[column];
  if (consumer.tiling == KernelDimension::kK) return kTiledAlongK[column];
  const bool first =
      consumer.operands == workload::Operands::kInputAndWeight || producer.output_bytes == consumer.input_bytes;
  return (first ? kFirstInput : kSecondInput)[column];
}

EdgeConversion conversion(const KernelGraph& graph, const KernelEdge& edge, KernelDimension producer_sharding,
                          KernelDimension consumer_sharding) {
  if (edge.communication != Communication::kNone) return {edge.communication, edge.communication_bytes};
  const Kernel& producer = graph.kernels[static_cast<std::size_t>(edge.from)];
  const TensorLayout from = producer_layout(producer, producer_sharding);
  const TensorLayout to = consumer_layout(graph, edge, consumer_sharding);
  if (from == to || from == TensorLayout::kReplicated) return {};
  return {to == TensorLayout::kReplicated ? Communication::kAllGather : Communication::kAllToAll,
          producer.output_bytes};
}

std::optional<base::Diagnostic> sharding_contradiction(const KernelGraph& graph, int index) {
  const Kernel& kernel = graph.kernels[static_cast<std::size_t>(index)];
  const std::string why = pin_contradiction(kernel);
  if (why.empty()) return std::nullopt;
  base::Diagnostic found;
  found.code = "O1440";
  found.message =
      fmt::format("kernel {} `{}` cannot be sharded along {}", index + 1, kernel.name, name(*kernel.sharding));
  if (*kernel.sharding == KernelDimension::kNone) {
    found.message = fmt::format("kernel {} `{}` cannot stay unsharded", index + 1, kernel.name);
  }
  found.note(why).hint("pin another dimension, or leave the pin out so that one is chosen");
  return found;
}

std::vector<KernelDimension> allowed_shardings(const KernelGraph& graph, int index) {
  const Kernel& kernel = graph.kernels[static_cast<std::size_t>(index)];
  if (kernel.sharding) {
    if (pin_contradiction(kernel).empty()) return {*kernel.sharding};
    return {};
  }
  if (splits(kernel, KernelDimension::kOuter)) return {KernelDimension::kOuter};
  std::vector<KernelDimension> allowed;
  for (const KernelDimension dimension : kDimensions)
    if (splits(kernel, dimension)) allowed.push_back(dimension);
  if (allowed.empty() || !kernel.has_weight()) allowed.push_back(KernelDimension::kNone);
  return allowed;
}

ShardingOptimum choose_sharding(const Setup& setup, const Degrees& degrees, const Defects& defects,
                                const base::Budget& budget) {
  const KernelGraph& graph = setup.graph;
  const Rates rates = rates_on(setup, degrees, defects);
  std::vector<KernelDimension> pins;
  bool all_pinned = true;
  for (const Kernel& kernel : graph.kernels) {
    pins.push_back(kernel.sharding.value_or(KernelDimension::kNone));
    all_pinned = all_pinned && kernel.sharding.has_value();
  }
  const Workload& workload = setup.execution.workload;
  const bool sharded =
      std::holds_alternative<LanguageModelRun>(workload) ||
      (std::holds_alternative<StateSpaceModel>(workload) && !defects.state_space_unsharded && degrees.tensor > 1);
  if (!sharded) return given(setup, std::move(pins), rates, "not sharded");
  if (setup.execution.skip_inter_chip) return given(setup, std::move(pins), rates, "pinned");

  std::vector<base::Diagnostic> found;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    if (auto wrong = sharding_contradiction(graph, static_cast<int>(i))) found.push_back(std::move(*wrong));
  }
  if (!found.empty()) throw base::InputError(std::move(found));
  if (all_pinned) return given(setup, std::move(pins), rates, "pinned");
  if (defects.published_shardings) {
    if (auto table = reference_sharding(graph)) {
      for (std::size_t i = 0; i < graph.kernels.size(); ++i)
        if (graph.kernels[i].sharding) (*table)[i] = *graph.kernels[i].sharding;
      return given(setup, std::move(*table), rates, "reference table");
    }
  }
  return optimised(setup, degrees, rates, defects.fewest_bytes, budget);
}

ShardingOptimum communication_of(const Setup& setup, const Degrees& degrees, std::vector<KernelDimension> sharding,
                                 const Defects& defects) {
  return given(setup, std::move(sharding), rates_on(setup, degrees, defects), "joint");
}

}  // namespace orrery::dataflow
