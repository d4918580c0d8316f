// A question is measured once, and the answer kept: so the same question has the same answer as long as the object
// lives. The median of a few runs counts, as `tune run` takes it. Weights are taken from several copies in turn where
// one would stay in a cache that a layer's other weights would have driven it from.
//
// What would take long is measured in part: of a large product fewer rows (of a gradient: a part of the sum), of
// attention fewer heads, in proportion. Products whose single matrix would be huge are cut in columns and depth, too.
// Cost: some tenths of a second a question.
#include "orrery/inputs/systems/machine_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/out_of_time.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/sample.h"
#include "orrery/inputs/systems/layer_data.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/kernels/rows.h"

namespace orrery::verbs {
namespace {

using kernels::Index;
using kernels::Type;

constexpr double kMostOperations = 2e10;  // of one measured run
constexpr Index kMostExtent = 16384;      // of columns and depth
constexpr Index kFewestRows = 256;        // that a product is cut to
constexpr double kCold = 64e6;            // bytes of weights that no cache keeps
constexpr double kLong = 0.12;            // seconds for a question, but at least kFewest runs
constexpr int kFewest = 3, kMostRuns = 40;

[[noreturn]] void refuse_more(const base::Budget& budget) {
  base::Diagnostics found;
  found
      .error("O1526", budget.interrupted() ? "stopped while operators were measured on this machine"
                                           : "time ended while operators were measured on this machine")
      .note("each kind of operator takes some tenths of a second")
      .hint("raise `--time-limit`, or take a system of the catalogue: `orrery catalog systems`");
  if (budget.interrupted()) throw base::InputError(found.all());
  throw base::OutOfTime(found.all());
}

template <typename Work>
double median_seconds(Work work) {
  work(0);  // memory is touched, threads are awake
  std::vector<double> seconds;
  const base::Stopwatch clock;
  for (int run = 1; run <= kMostRuns && (run <= kFewest || clock.seconds() < kLong); ++run) {
    const base::Stopwatch one;
    work(run);
    seconds.push_back(one.seconds());
  }
  return base::sample(seconds).median;
}

Type type_of(machine::Precision precision) {
  return precision == machine::Precision::kBf16 ? Type::kBf16 : Type::kF32;
}

bool supported(machine::Precision precision) {
  return precision == machine::Precision::kBf16 || precision == machine::Precision::kFp32;
}

LayerTensor filled(Type type, Index count) {
  LayerTensor out(type, count);
  // Drawing all would take longer than many a product; rounding does not depend on the numbers.
  constexpr Index kDrawn = 1 << 16;
  LayerTensor some(type, std::min(count, kDrawn));
  draw(some, 0, 0);
  const std::size_t bytes = static_cast<std::size_t>(some.count() * kernels::bytes_of(type));
  for (Index i = 0; i < count; i += some.count()) {
    const auto left = static_cast<std::size_t>((count - i) * kernels::bytes_of(type));
    std::copy_n(static_cast<const char*>(some.data()), std::min(bytes, left),
                static_cast<char*>(out.data()) + i * kernels::bytes_of(type));
  }
  return out;
}

double with_weights(kernels::Context& context, Index rows, Index columns, Index depth, Type type) {
  const kernels::Precision precision = type == Type::kBf16 ? kernels::Precision::kBf16 : kernels::Precision::kF32;
  const LayerTensor a = filled(type, rows * depth), c(type, rows * columns), w = filled(Type::kF32, depth * columns);
  const double one = static_cast<double>(depth * columns) * kernels::bytes_of(type);
  std::vector<kernels::PackedOperand> weights(static_cast<std::size_t>(std::clamp(std::ceil(kCold / one), 1.0, 16.0)));
  for (kernels::PackedOperand& packed : weights)
    packed = kernels::pack(context, {w.data(), Type::kF32, columns, 1}, depth, columns, precision, {});
  kernels::Product p;
  p.rows = rows, p.columns = columns, p.depth = depth, p.precision = precision;
  p.a = {a.data(), type, depth};
  p.c = {c.data(), type, columns, 0};
  return median_seconds([&](int run) {
    p.packed_b = &weights[static_cast<std::size_t>(run) % weights.size()];
    kernels::multiply(context, p);
  });
}

// dW = dy^T x of `outputs` x `inputs`, summed over tokens, as the layer computes it.
double of_weights(kernels::Context& context, Index outputs, Index inputs, Index tokens, Type type) {
  const LayerTensor dy = filled(type, tokens * outputs), x = filled(type, tokens * inputs);
  const LayerTensor dw(Type::kF32, outputs * inputs);
  std::vector<float> sums(static_cast<std::size_t>(outputs));
  kernels::Product p;
  p.rows = outputs, p.columns = inputs, p.depth = tokens;
  p.precision = type == Type::kBf16 ? kernels::Precision::kBf16 : kernels::Precision::kF32;
  p.a = {dy.data(), type, 1, outputs};
  p.b = {x.data(), type, inputs};
  p.c = {dw.data(), Type::kF32, inputs, 0};
  p.row_sums = sums.data();
  return median_seconds([&](int) { kernels::multiply(context, p); });
}

// `batch` sequences of `heads` heads each, queries, keys and values beside one another.
double attention(kernels::Context& context, const machine::Operator& one, Index batch, Index heads) {
  const Type type = type_of(one.product.precision);
  const Index queries = one.product.m, keys = one.product.n, size = one.product.k, value = one.value_width;
  const Index row = heads * (2 * size + value), longest = std::max(queries, keys);
  const LayerTensor qkv = filled(type, batch * longest * row),
                    gradients(type, one.gradient ? batch * longest * row : 0);
  const LayerTensor out = filled(type, batch * queries * heads * value);
  const LayerTensor out_gradient = filled(type, one.gradient ? out.count() : 0);
  std::vector<float> log_sum(static_cast<std::size_t>(batch * heads * queries));
  const auto part = [&](const LayerTensor& of, Index begin, Index width) {
    return kernels::Vectors{static_cast<char*>(of.data()) + begin * kernels::bytes_of(type), longest * row, width, row};
  };
  const auto plain = [&](const LayerTensor& of) {
    return kernels::Vectors{of.data(), queries * heads * value, value, heads * value};
  };
  kernels::Attention a;
  a.type = type, a.batch = batch, a.heads = a.key_heads = heads;
  a.queries = queries, a.keys = keys, a.size = size, a.value_size = value;
  a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  if (one.share < 0.999) {
    // Causal, and of the rest a window: 1 - 2 share = (1 - w)^2 of a triangle.
    a.reach_ahead = 0;
    const double window = 1 - std::sqrt(std::max(0.0, 1 - 2 * one.share));
    if (window < 0.9) a.reach_back = static_cast<Index>(window * static_cast<double>(keys));
  }
  if (one.dropout) a.drop = kernels::drop_pattern(0.1, 1, 0);
  a.query = part(qkv, 0, size), a.key = part(qkv, heads * size, size), a.value = part(qkv, 2 * heads * size, value);
  a.out = plain(out);
  a.log_sum = log_sum.data();
  if (!one.gradient) return median_seconds([&](int) { kernels::attend(context, a); });
  kernels::attend(context, a);
  a.out_gradient = plain(out_gradient);
  a.query_gradient = part(gradients, 0, size), a.key_gradient = part(gradients, heads * size, size);
  a.value_gradient = part(gradients, 2 * heads * size, value);
  return median_seconds([&](int) { kernels::attend_back(context, a); });
}

// Bytes a second of a norm and of a bias with GELU, one after the other, over what no cache keeps.
double streaming_rate(kernels::Context& context, Type type) {
  constexpr Index kRows = 8192, kColumns = 1024;
  const LayerTensor in = filled(type, kRows * kColumns), out = filled(type, kRows * kColumns);
  const LayerTensor scale = filled(Type::kF32, kColumns);
  kernels::Normalise norm;
  norm.in = in.data(), norm.out = out.data(), norm.in_type = norm.out_type = type;
  norm.in_stride = norm.out_stride = kColumns, norm.rows = kRows, norm.columns = kColumns;
  norm.scale = norm.shift = static_cast<const float*>(scale.data());
  kernels::Finish chain;
  chain.in = out.data(), chain.out = in.data(), chain.in_type = chain.out_type = type;
  chain.in_stride = chain.out_stride = kColumns, chain.rows = kRows, chain.columns = kColumns;
  chain.bias = static_cast<const float*>(scale.data());
  chain.activation = kernels::Activation::kGelu;
  const double seconds = median_seconds([&](int) {
    kernels::normalise(context, norm);
    kernels::finish(context, chain);
  });
  return 4.0 * static_cast<double>(in.count()) * kernels::bytes_of(type) / seconds;
}

}  // namespace

struct MachineOperators::Known {
  std::mutex mutex;
  // Which of the three, precision, and sizes.
  std::map<std::tuple<int, machine::Precision, base::Count, base::Count, base::Count, base::Count, base::Count, double,
                      bool>,
           double>
      seconds;
  double rate = 0;

  template <typename Measure>
  double ask(int what, const machine::Operator& one, const base::Budget& budget, Measure measure) {
    const machine::MatrixProduct& p = one.product;
    const std::tuple key{what, p.precision, p.batch, p.m, p.n, p.k, one.value_width, one.share, one.dropout};
    const std::lock_guard lock(mutex);
    if (const auto at = seconds.find(key); at != seconds.end()) return at->second;
    const double took = budget.spent() ? 0 : measure();
    if (budget.spent()) refuse_more(budget);  // what was measured is of a part
    return seconds[key] = took;
  }
};

MachineOperators::MachineOperators(const ThisMachine& on, machine::Precision precision, double issue_seconds,
                                   const base::Limits& limits)
    : on_(on),
      precision_(precision),
      issue_seconds_(issue_seconds),
      budget_(limits),
      known_(std::make_unique<Known>()) {
  on.context().pool().limit(&budget_);
}

MachineOperators::~MachineOperators() {
  on_.context().pool().limit(nullptr);
}

double MachineOperators::matrix_product_seconds(const machine::MatrixProduct& product) const {
  const auto [batch, m, n, k, precision] = product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  if (!supported(precision)) return std::numeric_limits<double>::infinity();
  return known_->ask(0, machine::Operator::of(product), budget_, [&, m = m, n = n, k = k] {
    const Index columns = std::min(n, kMostExtent), depth = std::min(k, kMostExtent);
    const double each = 2.0 * static_cast<double>(columns) * static_cast<double>(depth);
    const double most = std::max(static_cast<double>(kFewestRows), kMostOperations / each);
    const Index rows = static_cast<double>(m) > most ? static_cast<Index>(most) : m;
    const double part = with_weights(on_.context(), rows, columns, depth, type_of(product.precision));
    return part * product.flops() / (each * static_cast<double>(rows));
  });
}

double MachineOperators::weight_gradient_seconds(const machine::MatrixProduct& product) const {
  const auto [batch, m, n, k, precision] = product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  if (!supported(precision)) return std::numeric_limits<double>::infinity();
  return known_->ask(1, machine::Operator::of(product), budget_, [&, m = m, n = n, k = k] {
    const Index outputs = std::min(n, kMostExtent), inputs = std::min(m, kMostExtent);
    const double each = 2.0 * static_cast<double>(outputs) * static_cast<double>(inputs);
    const double most = std::max(static_cast<double>(kFewestRows), kMostOperations / each);
    const Index tokens = static_cast<double>(k) > most ? static_cast<Index>(most) : k;
    const double part = of_weights(on_.context(), outputs, inputs, tokens, type_of(product.precision));
    return part * product.flops() / (each * static_cast<double>(tokens));
  });
}

std::optional<double> MachineOperators::attention_seconds(const machine::Operator& one) const {
  constexpr base::Count kWidest = 512;       // of a head, as the kernels have it
  constexpr base::Count kLongest = 1 << 16;  // tokens, of which one head's products take a second
  const machine::MatrixProduct& p = one.product;
  if (!supported(p.precision) || p.k > kWidest || one.value_width > kWidest || p.m > kLongest || p.n > kLongest)
    return std::nullopt;
  if (p.batch <= 0 || p.m <= 0 || p.n <= 0 || p.k <= 0 || one.value_width <= 0) return 0.0;
  return known_->ask(one.gradient ? 3 : 2, one, budget_, [&] {
    const double each =
        2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k + one.value_width);
    // As many rounds of all threads as there are, at least four; sixteen heads to a sequence.
    const double least = 4.0 * on_.context().threads();
    const double most = std::max(least, kMostOperations / each);
    const Index all = static_cast<double>(p.batch) > most ? static_cast<Index>(most) : p.batch;
    const Index heads = std::min<Index>(all, 16), batch = (all + heads - 1) / heads;
    const double part = attention(on_.context(), one, batch, heads);
    return part * static_cast<double>(p.batch) / static_cast<double>(batch * heads);
  });
}

double MachineOperators::memory_bound_seconds(double bytes) const {
  const std::lock_guard lock(known_->mutex);
  if (known_->rate == 0) known_->rate = streaming_rate(on_.context(), type_of(precision_));
  return bytes / known_->rate;
}

machine::Cost MachineOperators::cost(const machine::Operator& one) const {
  machine::Cost out = OperatorModel::cost(one);
  const bool product = one.kind == machine::OperatorKind::kProduct || one.kind == machine::OperatorKind::kAttention;
  if (product && out.seconds > 0) out.binds = "compute";
  out.basis = machine::Basis::kMeasured;
  return out;
}

}  // namespace orrery::verbs
