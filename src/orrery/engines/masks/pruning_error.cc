// Dense and pruned attention of the same numbers, a block of queries at a time:
//
//   O = softmax(S) V over the keys that are there;  O' = softmax(S where kept) V
//
// A query that keeps nothing has an output of 0. Products are fp32, probabilities and norms fp64. Cost: three products
// a head, twice that of dense attention; this measures, it is not how pruned attention would be computed.
#include "orrery/engines/masks/pruning_error.h"

#include <algorithm>
#include <cmath>

#include "orrery/engines/masks/unfinished.h"
#include "orrery/runtime/kernels/product.h"

namespace orrery::masks {
namespace {

using kernels::Index;
constexpr Count kRows = 64;  // in a block

class Head {
 public:
  Head(kernels::Context& context, const AttentionInput& input, const float* value, Count size, const Mask& mask,
       const base::Budget& budget)
      : context_(context), input_(input), value_(value), size_(size), mask_(mask), budget_(budget) {
    const auto scores = static_cast<std::size_t>(kRows * input.shape.columns);
    dense_.resize(scores);
    pruned_.resize(scores);
    outputs_[0].resize(static_cast<std::size_t>(kRows * size));
    outputs_[1].resize(outputs_[0].size());
  }

  HeadError operator()(Count batch, Count head) {
    const MaskShape& shape = input_.shape;
    HeadError out{batch, head};
    There there(mask_, batch);
    const Index matrix = batch * shape.heads + head;
    double difference = 0, norm = 0, largest = 0, magnitude = 0;
    Count queries = 0;
    for (Count first = 0; first < shape.rows; first += kRows) {
      demand(budget_);
      const Count rows = std::min(kRows, shape.rows - first);
      score(matrix, first, rows);
      for (Count r = 0; r < rows; ++r)
        out.kept_mass += soften(dense_.data() + r * shape.columns, pruned_.data() + r * shape.columns,
                                there.pairs_of(first + r), mask_.row(batch, head, first + r), queries);
      weigh(matrix, rows, dense_, outputs_[0]);
      weigh(matrix, rows, pruned_, outputs_[1]);
      for (Count i = 0; i < rows * size_; ++i) {
        const double exact = outputs_[0][static_cast<std::size_t>(i)];
        const double off = outputs_[1][static_cast<std::size_t>(i)] - exact;
        difference += off * off;
        norm += exact * exact;
        largest = std::max(largest, std::fabs(off));
        magnitude = std::max(magnitude, std::fabs(exact));
      }
    }
    if (norm > 0) out.relative = std::sqrt(difference / norm);
    if (magnitude > 0) out.largest = largest / magnitude;
    if (queries > 0) out.kept_mass /= static_cast<double>(queries);
    return out;
  }

 private:
  void score(Index matrix, Count first, Count rows) {
    const MaskShape& shape = input_.shape;
    kernels::Product p;
    p.rows = rows, p.columns = shape.columns, p.depth = input_.depth, p.alpha = input_.scale;
    p.a = {input_.query + (matrix * shape.rows + first) * input_.depth, kernels::Type::kF32, input_.depth, 1, 0};
    p.b = {input_.key + matrix * shape.columns * input_.depth, kernels::Type::kF32, 1, input_.depth, 0};
    p.c = {dense_.data(), kernels::Type::kF32, shape.columns, 0};
    kernels::multiply(context_, p);
  }

  // Scores to probabilities, dense and pruned; the share of the former that is kept. Rows without pairs become zeros.
  double soften(float* dense, float* pruned, const std::vector<Word>& there, const Word* kept, Count& queries) const {
    const Count columns = input_.shape.columns;
    const auto bit = [](const Word* words, Count c) { return (words[c / kWordBits] >> (c % kWordBits) & 1) != 0; };
    double most = -HUGE_VAL, sum = 0, kept_sum = 0;
    for (Count c = 0; c < columns; ++c)
      if (bit(there.data(), c)) most = std::max(most, static_cast<double>(dense[c]));
    const bool any = std::isfinite(most);
    queries += any ? 1 : 0;
    std::vector<double> e(static_cast<std::size_t>(columns));
    double kept_most = -HUGE_VAL;  // a kept row may be far below the row's largest score
    for (Count c = 0; c < columns; ++c)
      if (any && bit(there.data(), c) && bit(kept, c)) kept_most = std::max(kept_most, static_cast<double>(dense[c]));
    double own_sum = 0;
    for (Count c = 0; c < columns; ++c) {
      const bool seen = any && bit(there.data(), c), used = seen && bit(kept, c);
      e[static_cast<std::size_t>(c)] = seen ? std::exp(dense[c] - most) : 0;
      sum += e[static_cast<std::size_t>(c)];
      if (used) kept_sum += e[static_cast<std::size_t>(c)];
      const double own = used ? std::exp(dense[c] - kept_most) : 0;
      pruned[c] = static_cast<float>(own);
      own_sum += own;
    }
    for (Count c = 0; c < columns; ++c) {
      dense[c] = sum > 0 ? static_cast<float>(e[static_cast<std::size_t>(c)] / sum) : 0;
      pruned[c] = own_sum > 0 ? static_cast<float>(pruned[c] / own_sum) : 0;
    }
    return sum > 0 ? kept_sum / sum : 0;
  }

  void weigh(Index matrix, Count rows, const std::vector<float>& probabilities, std::vector<float>& out) {
    kernels::Product p;
    p.rows = rows, p.columns = size_, p.depth = input_.shape.columns;
    p.a = {probabilities.data(), kernels::Type::kF32, input_.shape.columns, 1, 0};
    p.b = {value_ + matrix * input_.shape.columns * size_, kernels::Type::kF32, size_, 1, 0};
    p.c = {out.data(), kernels::Type::kF32, size_, 0};
    kernels::multiply(context_, p);
  }

  kernels::Context& context_;
  const AttentionInput& input_;
  const float* value_;
  Count size_;
  const Mask& mask_;
  const base::Budget& budget_;
  std::vector<float> dense_, pruned_, outputs_[2];
};

}  // namespace

PruningError pruning_error(kernels::Context& context, const AttentionInput& input, const float* value, Count size,
                           const Mask& mask, const base::Budget& budget) {
  PruningError out;
  Head head(context, input, value, size, mask, budget);
  for (Count b = 0; b < input.shape.batch; ++b)
    for (Count h = 0; h < input.shape.heads; ++h) out.heads.push_back(head(b, h));
  for (const HeadError& one : out.heads) {
    out.relative += one.relative / static_cast<double>(out.heads.size());
    out.kept_mass += one.kept_mass / static_cast<double>(out.heads.size());
    out.worst = std::max(out.worst, one.relative);
  }
  return out;
}

}  // namespace orrery::masks
