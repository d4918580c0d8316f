// Predicted scores: exact integer products of codes, scaled once.
//
//   P_ij = (sum_d cQ_id cK_jd) * |q_i| scale / scale_q * |k_j| / scale_k
//
// Keys of a head are packed once, as the right operand of the kernels' int8 product; queries pass by in blocks of a few
// rows, whose int32 sums become floats in place and are handed over before they leave the cache: no matrix of scores
// is ever in memory. Sums are exact, so that they do not depend on blocks, threads or instruction sets. Above the
// causal diagonal nothing is multiplied beyond the block. Cost: one int8 multiply-add for each pair and element.
#include "orrery/engines/masks/prediction/scores.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/masks/unfinished.h"
#include "orrery/runtime/kernels/prune_part.h"

namespace orrery::masks {
namespace {

using kernels::Index;

Index rounded_up(Index a, Index b) {
  return base::ceil_divide(a, b) * b;
}

// Where packed keys and blocks of scores lie.
struct Layout {
  const kernels::ProductKernels& product;
  Index row_units, packed_head, block_rows, stride;
  void (*block)(const kernels::Block&);

  Layout(const kernels::ProductKernels& with, const AttentionInput& input) : product(with) {
    const Index units = base::ceil_divide(input.depth, with.elements) * with.units;
    const bool narrow = with.block_narrow != nullptr && units <= kernels::kNarrowDepth;
    row_units = narrow ? kernels::kNarrowUnits : kernels::kRowUnits;
    block = narrow ? with.block_narrow : with.block;
    const Index panels = base::ceil_divide(input.shape.columns, with.tile_columns);
    packed_head = panels * (units + with.header_units) * with.tile_columns;
    block_rows = rounded_up(std::max(with.tile_rows, 1), with.row_step);
    stride = rounded_up(rounded_up(input.shape.columns, kScoreStep), with.tile_columns);
    depth_units = units;
  }
  Index depth_units;
};

class Rows {
 public:
  Rows(kernels::Context& context, const AttentionInput& input, const Quantised& quantised,
       const std::function<void(const ScoredRow&)>& visit, const base::Budget& budget)
      : context_(context),
        input_(input),
        quantised_(quantised),
        visit_(visit),
        budget_(budget),
        layout_(context.table().product[static_cast<int>(kernels::Arithmetic::kInt8)], input) {}

  void run() {
    const MaskShape& shape = input_.shape;
    pack_keys();
    hidden_ = hidden_keys(input_);
    const Index rows = layout_.block_rows * kBlocks, parts = base::ceil_divide(shape.rows, rows);
    context_.reserve_own(layout_.block_rows * (layout_.row_units + layout_.stride));
    std::atomic<bool> finished = true;
    context_.pool().run(shape.matrices() * parts, [&](Index task, int worker) {
      if (!finished || budget_.spent()) {
        finished = false;
        return;
      }
      const Index head = task / parts, first = task % parts * rows;
      for (Index row = first; row < std::min(first + rows, shape.rows); row += layout_.block_rows)
        block(head, row, std::min(layout_.block_rows, shape.rows - row), worker);
    });
    if (!finished) throw Unfinished();
  }

 private:
  static constexpr Index kBlocks = 4;  // in a task

  const std::int8_t* codes_of(const QuantisedRows& of, Index row) const { return of.codes.data() + row * input_.depth; }

  void pack_keys() {
    const MaskShape& shape = input_.shape;
    packed_ = context_.shared(shape.matrices() * layout_.packed_head + 1);
    context_.pool().run(shape.matrices(), [&](Index head, int) {
      layout_.product.pack_b({codes_of(quantised_.key, head * shape.columns), kernels::Type::kInt8, input_.depth, 1,
                              shape.columns, input_.depth},
                             packed_ + head * layout_.packed_head);
    });
    key_factors_.assign(static_cast<std::size_t>(shape.matrices() * shape.columns + kScoreStep), 0.0F);
    for (Index i = 0; i < shape.matrices() * shape.columns; ++i)
      key_factors_[static_cast<std::size_t>(i)] =
          quantised_.key.norms[static_cast<std::size_t>(i)] / quantised_.key.scale;
  }

  void block(Index head, Index first, Index rows, int worker) {
    const MaskShape& shape = input_.shape;
    std::uint32_t* queries = context_.own(worker);
    std::uint32_t* sums = queries + layout_.block_rows * layout_.row_units;
    const Index seen = visible_keys(input_, first + rows - 1);
    if (seen > 0) {
      const Index row = head * shape.rows + first;
      layout_.product.pack_a(
          {codes_of(quantised_.query, row), kernels::Type::kInt8, input_.depth, 1, rows, input_.depth}, queries,
          layout_.row_units);
      kernels::Block part;
      part.a = queries;
      part.b = packed_ + head * layout_.packed_head;
      part.rows = rows;
      part.columns = seen;
      part.units = layout_.depth_units;
      part.c = sums;
      part.c_stride = layout_.stride;
      layout_.block(part);
    }
    for (Index r = 0; r < rows; ++r) score(head, first + r, sums + r * layout_.stride);
  }

  void score(Index head, Index row, std::uint32_t* sums) {
    const MaskShape& shape = input_.shape;
    ScoredRow out{head / shape.heads,
                  head % shape.heads,
                  row,
                  reinterpret_cast<float*>(sums),
                  visible_keys(input_, row),
                  -std::numeric_limits<float>::infinity(),
                  &context_.table()};
    if (out.visible > 0) {
      const float norm = quantised_.query.norms[static_cast<std::size_t>(head * shape.rows + row)];
      kernels::ScoreRow part;
      part.row = sums;
      part.columns = out.visible;
      part.factor = norm * input_.scale / quantised_.query.scale;
      part.column_factors = key_factors_.data() + head * shape.columns;
      part.hidden = hidden_.empty() ? nullptr : hidden_.data() + out.batch * shape.columns;
      out.most = context_.table().score_row(part);
    }
    visit_(out);
  }

  kernels::Context& context_;
  const AttentionInput& input_;
  const Quantised& quantised_;
  const std::function<void(const ScoredRow&)>& visit_;
  const base::Budget& budget_;
  Layout layout_;
  std::uint32_t* packed_ = nullptr;
  std::vector<float> key_factors_, hidden_;
};

}  // namespace

Count visible_keys(const AttentionInput& input, Count row) {
  const MaskShape& shape = input.shape;
  return input.causal ? std::clamp<Count>(row + shape.columns - shape.rows + 1, 0, shape.columns) : shape.columns;
}

std::vector<float> hidden_keys(const AttentionInput& input) {
  if (input.valid_columns.empty()) return {};
  std::vector<float> hidden(input.valid_columns.size() + kScoreStep);
  for (std::size_t i = 0; i < input.valid_columns.size(); ++i)
    if (input.valid_columns[i] == 0) hidden[i] = -std::numeric_limits<float>::infinity();
  return hidden;
}

void for_each_row(kernels::Context& context, const AttentionInput& input, const Quantised& quantised,
                  const std::function<void(const ScoredRow&)>& visit, const base::Budget& budget) {
  ORRERY_CHECK(input.depth >= 1 && input.depth <= kMostDepth, "a row of codes is one block of depth");
  if (input.shape.rows == 0 || input.shape.columns == 0) return;
  if (quantised.exact) return for_each_exact_row(context, input, visit, budget);
  Rows(context, input, quantised, visit, budget).run();
}

}  // namespace orrery::masks
