// The rule of predict_threshold.cc without a score: from integer products a row of rough exponentials, from these bits.
//
// Exponentials of 18 bits suffice unless one is so near to the limit that they could tell wrong; such rows, about one
// in a hundred, are done again as predict_threshold.cc does them, so that the mask is the same to the last bit. What a
// score cannot exceed takes the place of the row's maximum: by Cauchy and Schwarz, with |c| the norm of a row of codes,
//   |P_ij| <= |c_i| |c_j| factor_i factor_j,   |c| <= scale |x| / norm + sqrt(depth) / 2 where rows were normalised.
//
// Codes of up to four bits are multiplied by kInt4 where the instruction set has it.
//
// Source: the rule, L. Lu et al., MICRO 2021. Cost: one int8 multiply-add for each pair and element, and some 20 vector
// instructions for kLanes pairs.
#include "orrery/engines/masks/prediction/quick_threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/masks/prediction/predictors.h"
#include "orrery/runtime/kernels/prune_part.h"

namespace orrery::masks {
namespace {

using kernels::Index;

constexpr Count kStep = 64;                // rows of sums have room up to a multiple
constexpr double kLeastThreshold = 1e-12;  // below it flushed exponentials could matter

// The fastest that is exact: codes of four bits have their own where int8 is slow.
const kernels::ProductKernels& product_of(const kernels::Table& table, const AttentionInput& input,
                                          const PredictorOptions& options) {
  const kernels::ProductKernels& few = table.product[static_cast<int>(kernels::Arithmetic::kInt4)];
  const bool fits = options.quantiser.bits <= 4 && input.depth <= kernels::kInt4Depth && few.elements != 0;
  return fits ? few : table.product[static_cast<int>(kernels::Arithmetic::kInt8)];
}

Index up_to(Index n, Index step) {
  return base::ceil_divide(n, step) * step;
}

class Heads {
 public:
  Heads(kernels::Context& context, const AttentionInput& input, const PredictorOptions& options,
        const Quantised& quantised, Prediction& into, Emptied& emptied)
      : context_(context),
        input_(input),
        options_(options),
        quantised_(quantised),
        into_(into),
        emptied_(emptied),
        product_(product_of(context.table(), input, options)) {
    units_ = base::ceil_divide(input.depth, product_.elements) * product_.units;
    narrow_ = product_.block_narrow != nullptr && units_ <= kernels::kNarrowDepth;
    row_units_ = narrow_ ? kernels::kNarrowUnits : kernels::kRowUnits;
    rows_ = up_to(std::max(product_.tile_rows, 1), product_.row_step);
    stride_ = up_to(up_to(input.shape.columns, kStep), product_.tile_columns);
    packed_ = base::ceil_divide(input.shape.columns, product_.tile_columns) * (units_ + product_.header_units) *
              product_.tile_columns;
  }

  void run(std::vector<float>& key_factors, std::vector<float>& hidden, std::vector<float>& bounds) {
    const MaskShape& shape = input_.shape;
    keys_ = context_.shared(shape.matrices() * packed_ + 1);
    key_factors.resize(static_cast<std::size_t>(shape.matrices() * shape.columns + kStep));
    bounds.resize(static_cast<std::size_t>(shape.matrices()));
    context_.pool().run(shape.matrices(), [&](Index head, int) {
      product_.pack_b({codes(quantised_.key, head * shape.columns), kernels::Type::kInt8, input_.depth, 1,
                       shape.columns, input_.depth},
                      keys_ + head * packed_);
      float largest = 0;
      for (Index i = head * shape.columns; i < (head + 1) * shape.columns; ++i) {
        const float norm = quantised_.key.norms[static_cast<std::size_t>(i)];
        key_factors[static_cast<std::size_t>(i)] = norm / quantised_.key.scale;
        largest = std::max(largest, norm);
      }
      bounds[static_cast<std::size_t>(head)] = largest / quantised_.key.scale * norm_of_codes(quantised_.key);
    });
    hidden.clear();
    if (!input_.valid_columns.empty()) {
      hidden.assign(input_.valid_columns.size() + kStep, 0.0F);
      for (std::size_t i = 0; i < input_.valid_columns.size(); ++i)
        if (input_.valid_columns[i] == 0) hidden[i] = -std::numeric_limits<float>::infinity();
    }
    key_factors_ = key_factors.data();
    hidden_ = hidden.empty() ? nullptr : hidden.data();
    bounds_ = bounds.data();
    context_.reserve_own(rows_ * (row_units_ + stride_) + stride_);
    const Index in_task = 4 * rows_, parts = base::ceil_divide(shape.rows, in_task);
    context_.pool().run(shape.matrices() * parts, [&](Index task, int worker) {
      const Index first = task % parts * in_task, end = std::min(first + in_task, shape.rows);
      for (Index row = first; row < end; row += rows_) block(task / parts, row, std::min(rows_, end - row), worker);
    });
  }

 private:
  const std::int8_t* codes(const QuantisedRows& of, Index row) const { return of.codes.data() + row * input_.depth; }

  // What the Euclidean norm of a row of codes cannot exceed.
  float norm_of_codes(const QuantisedRows& of) const {
    const float root = std::sqrt(static_cast<float>(input_.depth));
    const float most = static_cast<float>(most_code(options_.quantiser.bits)) * root;
    return options_.quantiser.normalise == Normalise::kNone ? most : std::min(most, of.scale * 1.0001F + root / 2);
  }

  Index visible(Index row) const {
    const MaskShape& shape = input_.shape;
    return input_.causal ? std::clamp<Index>(row + shape.columns - shape.rows + 1, 0, shape.columns) : shape.columns;
  }

  void block(Index head, Index first, Index rows, int worker) {
    const MaskShape& shape = input_.shape;
    std::uint32_t* queries = context_.own(worker);
    std::uint32_t* sums = queries + rows_ * row_units_;
    auto* room = reinterpret_cast<float*>(sums + rows_ * stride_);
    const Index seen = visible(first + rows - 1);
    if (seen == 0) return;
    product_.pack_a(
        {codes(quantised_.query, head * shape.rows + first), kernels::Type::kInt8, input_.depth, 1, rows, input_.depth},
        queries, row_units_);
    const kernels::Block part{queries, keys_ + head * packed_, rows, seen, units_, sums, stride_, false};
    narrow_ ? product_.block_narrow(part) : product_.block(part);
    for (Index r = 0; r < rows; ++r) {
      const Index columns = visible(first + r);
      if (columns > 0) keep(head, first + r, columns, sums + r * stride_, room);
    }
  }

  void keep(Index head, Index row, Index columns, std::uint32_t* sums, float* room) {
    const MaskShape& shape = input_.shape;
    const Count batch = head / shape.heads;
    const float norm = quantised_.query.norms[static_cast<std::size_t>(head * shape.rows + row)];
    const float factor = norm * input_.scale / quantised_.query.scale;
    kernels::QuickKeep part;
    part.sums = sums;
    part.columns = columns;
    part.factor = factor;
    part.column_factors = key_factors_ + head * shape.columns;
    part.hidden = hidden_ == nullptr ? nullptr : hidden_ + batch * shape.columns;
    part.bound = std::fabs(factor) * norm_of_codes(quantised_.query) * bounds_[head];
    part.threshold = static_cast<float>(options_.threshold);
    part.room = room;
    part.bits = into_.mask.row(batch, head % shape.heads, row);
    if (options_.threshold >= kLeastThreshold && context_.table().keep_row_quickly(part) &&
        into_.mask.kept_in_row(batch, head % shape.heads, row) > 0)
      return;
    keep_exactly(part, batch, head % shape.heads, row, sums);
  }

  void keep_exactly(const kernels::QuickKeep& quick, Count batch, Count head, Index row, std::uint32_t* sums) {
    std::fill_n(quick.bits, input_.shape.words(), Word{0});
    kernels::ScoreRow scored;
    scored.row = sums;
    scored.columns = quick.columns;
    scored.factor = quick.factor;
    scored.column_factors = quick.column_factors;
    scored.hidden = quick.hidden;
    const float most = context_.table().score_row(scored);
    if (std::isinf(most)) return;  // no key is there
    kernels::KeepRow kept;
    kept.row = reinterpret_cast<float*>(sums);
    kept.columns = quick.columns;
    kept.most = most;
    kept.threshold = quick.threshold;
    kept.bits = quick.bits;
    context_.table().keep_row(kept);
    if (into_.mask.kept_in_row(batch, head, row) == 0)
      emptied_.settle(options_.empty, {batch, head, row, kept.row, quick.columns, most, &context_.table()}, into_.mask);
  }

  kernels::Context& context_;
  const AttentionInput& input_;
  const PredictorOptions& options_;
  const Quantised& quantised_;
  Prediction& into_;
  Emptied& emptied_;
  const kernels::ProductKernels& product_;
  Index units_ = 0, row_units_ = 0, rows_ = 0, stride_ = 0, packed_ = 0;
  bool narrow_ = false;
  std::uint32_t* keys_ = nullptr;
  const float *key_factors_ = nullptr, *hidden_ = nullptr, *bounds_ = nullptr;
};

}  // namespace

void QuickThreshold::predict(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& quantiser,
                             Prediction& into) {
  ORRERY_CHECK(input.depth >= 1 && input.depth <= kMostDepth, "a row of codes is one block of depth");
  options_.quantiser = quantiser;
  if (quantiser.bits == kExactBits) return make_threshold(options_)->predict(context, input, {}, into);  // no codes
  quantise(context, input, quantiser, quantised_);
  if (into.mask.shape() == input.shape) {
    into.mask.valid_rows = input.valid_rows;
    into.mask.valid_columns = input.valid_columns;
    into.mask.causal = input.causal;
    into.emptied.clear();
    std::fill_n(into.mask.row(0, 0, 0), input.shape.matrices() * input.shape.rows * input.shape.words(), Word{0});
  } else {
    begin(input, into);
  }
  into.clips = {quantised_.query.clip, quantised_.key.clip};
  if (input.shape.rows == 0 || input.shape.columns == 0) return;
  Emptied emptied(input);
  Heads(context, input, options_, quantised_, into, emptied).run(key_factors_, hidden_, bounds_);
  into.emptied = emptied.list();
}

}  // namespace orrery::masks
