// Where pruning pays, measured: for each length, structure and density dense and pruned attention of the same random
// numbers take turns, PyTorch in a process of its own with them, so that what else the machine does meets all; ratios
// are medians over turns.
//
// Queries and keys are normal, scores therefore too, with a deviation of 1. The density of a structure is set by its
// own means: element, by the threshold that leaves it (bisection on the first head); blocks, by the share of blocks;
// the window, by its width. Clip thresholds are frozen, as in a trained model.
#include "orrery/verbs/sparse/break_even/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/masks/pruned_attention.h"
#include "orrery/runtime/kernels/attention.h"
#include "orrery/verbs/sparse/break_even/pytorch_attention.h"

namespace orrery::verbs {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Type;
using masks::PredictorKind;
using masks::PredictorOptions;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The numbers of one length.
class Tensors {
 public:
  Tensors(const BreakEvenRequest& request, Count tokens) {
    const Count count = request.batch * request.heads * tokens * request.size;
    std::mt19937 random(static_cast<std::uint32_t>(tokens));
    std::normal_distribution<float> normal;
    attention.type = request.type;
    attention.batch = request.batch;
    attention.heads = attention.key_heads = request.heads;
    attention.queries = attention.keys = tokens;
    attention.size = attention.value_size = request.size;
    attention.scale = 1 / std::sqrt(static_cast<double>(request.size));
    kernels::Vectors* const all[] = {&attention.query, &attention.key, &attention.value, &attention.out};
    for (int i = 0; i < 4; ++i) {
      memory_[i] = kernels::Buffer(static_cast<std::size_t>(count * bytes_of(request.type)));
      for (Count j = 0; j < count; ++j) {
        const float x = normal(random);
        if (request.type == Type::kBf16)
          static_cast<kernels::Bf16*>(memory_[i].data())[j] = kernels::to_bf16(x);
        else
          static_cast<float*>(memory_[i].data())[j] = x;
      }
      *all[i] = {memory_[i].data(), request.heads * tokens * request.size, tokens * request.size, request.size};
    }
  }

  Attention attention;

 private:
  kernels::Buffer memory_[4];
};

double density_of(const masks::Mask& mask) {
  return static_cast<double>(mask.kept()) / static_cast<double>(mask.valid_pairs());
}

// The options with which Sanger's prediction leaves a density.
PredictorOptions by_threshold(kernels::Context& context, const Attention& whole, double density) {
  PredictorOptions options;
  Attention one = whole;
  one.batch = one.heads = one.key_heads = 1;
  options.quantiser.query_clip = options.quantiser.key_clip = 0.5F;  // of unit vectors
  double low = std::log(1e-9), high = 0;
  for (int round = 0; round < 16; ++round) {
    const double middle = (low + high) / 2;
    options.threshold = std::exp(middle);
    masks::PrunedAttention pruned(options);
    pruned.predict(context, one);
    (density_of(pruned.prediction().mask) > density ? low : high) = middle;
  }
  return options;
}

// One way to be sparse, ready to run.
class Sparse {
 public:
  Sparse(kernels::Context& context, SparseStructure structure, const Attention& whole, double density)
      : context_(context), attention_(whole) {
    PredictorOptions options;
    switch (structure) {
      case SparseStructure::kWindow: {
        const double side = (density * static_cast<double>(whole.keys) - 1) / 2;
        attention_.reach_back = attention_.reach_ahead = std::max<Count>(0, base::saturated(std::round(side)));
        return;
      }
      case SparseStructure::kElement:
        options = by_threshold(context, whole, density);
        break;
      default:
        options.kind = PredictorKind::kBlocks;
        options.keep = density;
        options.block = structure == SparseStructure::kBlock16 ? 16 : structure == SparseStructure::kBlock32 ? 32 : 64;
    }
    pruned_.emplace(options);
  }

  void run() {
    if (!pruned_) return kernels::attend(context_, attention_);
    const base::Stopwatch clock;
    pruned_->predict(context_, attention_);
    predict_ms_ = clock.seconds() * 1e3;
    pruned_->attend(context_, attention_);
  }
  double predict_ms() const { return predict_ms_; }  // of the last run

  // After a run.
  double density() const {
    if (pruned_) return density_of(pruned_->prediction().mask);
    double seen = 0;
    for (Count j = 0; j < attention_.queries; ++j)
      seen += static_cast<double>(std::min(attention_.keys, j + attention_.reach_ahead + 1) -
                                  std::max<Count>(0, j - attention_.reach_back));
    return seen / static_cast<double>(attention_.queries) / static_cast<double>(attention_.keys);
  }

 private:
  kernels::Context& context_;
  Attention attention_;
  std::optional<masks::PrunedAttention> pruned_;
  double predict_ms_ = 0;
};

// Milliseconds of a run, a mean over as many as take two.
template <class Run>
double timed(const Run& run) {
  const base::Stopwatch clock;
  int runs = 0;
  do {
    run();
    ++runs;
  } while (clock.seconds() < 2e-3);
  return clock.seconds() * 1e3 / runs;
}

// Nothing where the budget ended it.
std::optional<BreakEvenPoint> measured(kernels::Context& context, const BreakEvenRequest& request,
                                       const Attention& dense, SparseStructure structure, double density,
                                       PyTorchAttention* pytorch, const base::Budget& budget) {
  Sparse sparse(context, structure, dense, density);
  BreakEvenPoint point{name_of(structure), dense.keys, density};
  std::vector<double> dense_ms, sparse_ms, predict_ms, ratios, pytorch_ms, pytorch_ratios;
  sparse.run();
  kernels::attend(context, dense);
  for (Count turn = 0; turn < request.turns; ++turn) {
    if (budget.spent()) return std::nullopt;
    dense_ms.push_back(timed([&] { kernels::attend(context, dense); }));
    sparse_ms.push_back(timed([&] { sparse.run(); }));
    predict_ms.push_back(sparse.predict_ms());
    ratios.push_back(dense_ms.back() / sparse_ms.back());
    if (pytorch == nullptr) continue;
    const std::optional<double> theirs = pytorch->turn(dense.keys);
    if (!theirs) return std::nullopt;
    pytorch_ms.push_back(*theirs);
    pytorch_ratios.push_back(*theirs / sparse_ms.back());
  }
  point.density = sparse.density();
  point.dense_ms = median(dense_ms);
  point.sparse_ms = median(sparse_ms);
  point.predict_ms = median(predict_ms);
  point.speedup = median(ratios);
  if (pytorch != nullptr) {
    point.pytorch_ms = median(pytorch_ms);
    point.pytorch_speedup = median(pytorch_ratios);
  }
  return point;
}

}  // namespace

std::string name_of(SparseStructure structure) {
  switch (structure) {
    case SparseStructure::kElement:
      return "element";
    case SparseStructure::kBlock16:
      return "block16";
    case SparseStructure::kBlock32:
      return "block32";
    case SparseStructure::kBlock64:
      return "block64";
    case SparseStructure::kWindow:
      return "window";
  }
  return {};
}

std::vector<BreakEvenLine> lines_of(const std::vector<BreakEvenPoint>& points) {
  std::vector<BreakEvenLine> lines;
  // What decides: the smaller of the two speedups.
  const auto gain = [](const BreakEvenPoint& p) { return std::min(p.speedup, p.pytorch_speedup.value_or(p.speedup)); };
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    while (end < points.size() && points[end].structure == points[begin].structure &&
           points[end].tokens == points[begin].tokens)
      ++end;
    std::vector<BreakEvenPoint> row(points.begin() + static_cast<std::ptrdiff_t>(begin),
                                    points.begin() + static_cast<std::ptrdiff_t>(end));
    std::stable_sort(row.begin(), row.end(),
                     [](const BreakEvenPoint& a, const BreakEvenPoint& b) { return a.density < b.density; });
    BreakEvenLine line{row.front().structure, row.front().tokens, std::nullopt};
    // Up to the last that pays; times are nearly linear in the density, but noise may cost a smaller one its gain.
    std::size_t paying = row.size();
    while (paying > 0 && !row[paying - 1].pays()) --paying;
    for (std::size_t i = 0; i < paying; ++i)
      if (!row[i].pays()) line.except.push_back(row[i].density);
    if (paying == row.size()) {
      line.density = row.back().density;
      line.beyond = true;
    } else if (paying > 0) {
      const double before = 1 / gain(row[paying - 1]), after = 1 / gain(row[paying]);
      const double share = after > before ? (1 - before) / (after - before) : 0;
      line.density = row[paying - 1].density + share * (row[paying].density - row[paying - 1].density);
    }
    lines.push_back(line);
    begin = end;
  }
  return lines;
}

BreakEven break_even(const BreakEvenRequest& request) {
  BreakEven out;
  const base::Budget budget(request.limits);
  kernels::Context context(request.limits.threads);
  out.isa = kernels::name_of(context.table().level);
  out.dtype = request.type == Type::kBf16 ? "bf16" : "fp32";
  out.batch = request.batch, out.heads = request.heads, out.size = request.size, out.turns = request.turns;
  out.threads = context.threads();
  out.all = request.lengths.size() * request.densities.size() * request.structures.size();
  std::optional<PyTorchAttention> pytorch;
  if (!request.pytorch.empty()) {
    pytorch.emplace(
        PyTorchQuestion{request.pytorch, request.batch, request.heads, request.size, request.type, context.threads()},
        budget);
    out.pytorch_version = pytorch->version();
  }
  for (std::size_t i = 0; i < request.lengths.size() && !budget.spent(); ++i) {
    const Tensors tensors(request, request.lengths[i]);
    for (const SparseStructure structure : request.structures)
      for (const double density : request.densities) {
        if (budget.spent()) break;
        std::optional<BreakEvenPoint> point =
            measured(context, request, tensors.attention, structure, density, pytorch ? &*pytorch : nullptr, budget);
        if (!point) break;
        out.points.push_back(std::move(*point));
        if (request.progress) request.progress(out.points.size(), out.all);
      }
  }
  out.interrupted = budget.interrupted();
  out.out_of_time = !out.interrupted && out.points.size() < out.all;
  out.lines = lines_of(out.points);
  return out;
}

}  // namespace orrery::verbs
