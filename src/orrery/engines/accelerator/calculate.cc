#include "orrery/engines/accelerator/calculate.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/limits/parallel.h"
#include "orrery/engines/accelerator/tile_arithmetic.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::accelerator {
namespace {

// task(matrix) for each matrix of the run, on threads.
template <class Task>
void for_matrices(const masks::MaskShape& shape, int threads, const Task& task) {
  base::parallel_for(static_cast<std::size_t>(shape.matrices()), threads,
                     [&](std::size_t m) { task(static_cast<Count>(m)); });
}

double largest(const float* x, Count rows, Count depth, bool normalise) {
  double most = 0;
  for (Count r = 0; r < rows; ++r, x += depth) {
    double squares = 0, own = 0;
    for (Count i = 0; i < depth; ++i) {
      squares += double{x[i]} * x[i];
      own = std::max(own, std::fabs(double{x[i]}));
    }
    most = std::max(most, normalise ? (squares > 0 ? own / std::sqrt(squares) : 0) : own);
  }
  return most;
}

// Tiles of one matrix, predicted one after the other.
class MatrixPrediction {
 public:
  MatrixPrediction(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
                   const PredictionConstants& constants, const base::Budget& budget)
      : i_(instance), work_(work), plan_(plan), inputs_(inputs), constants_(constants), budget_(budget) {}

  void run(const MatrixPlan& m, masks::Mask& mask) {
    const masks::MaskShape& shape = work_.shape;
    const Count depth = work_.depth, batch = m.matrix / shape.heads, head = m.matrix % shape.heads;
    const CodedRows keys =
        coded_rows(constants_.key, inputs_.key.data() + m.matrix * shape.columns * depth, m.keys, depth);
    const CodedRows queries =
        coded_rows(constants_.query, inputs_.query.data() + m.matrix * shape.rows * depth, m.queries, depth);
    codes = keys.clipped + queries.clipped;
    const ScoreUnit unit(i_, constants_);
    masks::There there(mask, batch);
    std::vector<std::int32_t> row(static_cast<std::size_t>(std::max<Count>(shape.columns, 1)));
    for (Count t = m.first_tile; t < m.first_tile + m.tiles; ++t) {
      const TilePlan& tile = plan_.tiles[static_cast<std::size_t>(t)];
      masks::demand(budget_);
      for (Count q = tile.first_query; q < tile.first_query + tile.queries; ++q) {
        const std::vector<masks::Word>& visible = there.pairs_of(q);
        for (const masks::Word word : visible) seen += masks::bits_in(word);
        predict_row(i_, unit, queries, q, keys, tile.keys, depth, visible.data(), mask.row(batch, head, q), row.data(),
                    scores);
      }
    }
  }

  Count seen = 0, codes = 0, scores = 0;

 private:
  const Instance& i_;
  const Work& work_;
  const RunPlan& plan_;
  const FixedInputs& inputs_;
  const PredictionConstants& constants_;
  const base::Budget& budget_;
};

// A matrix's accumulators, its blocks merged into them one after the other.
class MatrixOutputs {
 public:
  MatrixOutputs(const Instance& instance, const Work& work, const FixedInputs& inputs)
      : i_(instance), work_(work), inputs_(inputs), merger_(instance), row_(instance, work.scale, work.depth) {}

  void begin(const MatrixPlan& m) {
    matrix_ = m;
    const auto queries = static_cast<std::size_t>(m.queries), depth = static_cast<std::size_t>(work_.depth);
    most_.assign(queries, merger_.least()), sum_.assign(queries, 0), elements_.assign(queries * depth, 0);
    block_.resize(depth);
    scaled_.resize(queries * depth);
    const std::int64_t multiplier = query_multiplier(i_, work_.scale);
    const std::int32_t* const x = inputs_.query.data() + m.matrix * work_.shape.rows * work_.depth;
    for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = scaled_query(multiplier, x[i]);
  }

  void merge(const masks::PackedBlock& block) {
    const Count depth = work_.depth, first = matrix_.matrix * work_.shape.columns * depth;
    for (const masks::PackedRow& row : block.rows) {
      if (row.ports.empty()) continue;
      of_.clear();
      for (const std::int32_t port : row.ports) of_.push_back(block.keys[static_cast<std::size_t>(port)]);
      const auto query = static_cast<std::size_t>(row.query);
      const auto result =
          row_.run(scaled_.data() + row.query * depth, inputs_.key.data() + first, inputs_.value.data() + first,
                   of_.data(), static_cast<Count>(of_.size()), block_.data());
      const MergerArithmetic::Weights w = merger_.weights(most_[query], result.most);
      most_[query] = w.most;
      sum_[query] = merger_.merged(w, sum_[query], result.sum);
      std::int64_t* const elements = elements_.data() + row.query * depth;
      for (Count i = 0; i < depth; ++i)
        elements[i] = merger_.merged(w, elements[i], block_[static_cast<std::size_t>(i)]);
    }
  }

  void end(std::int32_t* into, Count& saturated) {
    const Count depth = work_.depth;
    for (Count q = 0; q < matrix_.queries; ++q) {
      const std::int64_t reciprocal = merger_.reciprocal(sum_[static_cast<std::size_t>(q)]);
      for (Count i = q * depth; i < (q + 1) * depth; ++i)
        into[i] = static_cast<std::int32_t>(
            merger_.normalised(elements_[static_cast<std::size_t>(i)], reciprocal, saturated));
    }
  }

 private:
  const Instance& i_;
  const Work& work_;
  const FixedInputs& inputs_;
  MergerArithmetic merger_;
  RowArithmetic row_;
  MatrixPlan matrix_;
  std::vector<std::int64_t> most_, sum_, elements_, block_;
  std::vector<std::int32_t> scaled_, of_;
};

// Attention of one query over its kept keys, in double precision.
void exact_row(const Work& work, Count matrix, Count query, const std::vector<Count>& kept,
               std::vector<double>& weights, std::vector<double>& out) {
  const Count depth = work.depth;
  const float* const q = work.query + (matrix * work.shape.rows + query) * depth;
  std::fill(out.begin(), out.end(), 0);
  weights.clear();
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Count key : kept) {
    const float* const k = work.key + (matrix * work.shape.columns + key) * depth;
    double score = 0;
    for (Count i = 0; i < depth; ++i) score += double{q[i]} * k[i];
    weights.push_back(score * work.scale);
    most = std::max(most, weights.back());
  }
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (std::size_t j = 0; j < kept.size(); ++j) {
    const float* const v = work.value + (matrix * work.shape.columns + kept[j]) * depth;
    for (Count i = 0; i < depth; ++i) out[static_cast<std::size_t>(i)] += weights[j] / sum * v[i];
  }
}

}  // namespace

FixedInputs fixed_inputs(const Instance& instance, const Work& work, int threads) {
  const masks::MaskShape& shape = work.shape;
  const Count query = shape.rows * work.depth, key = shape.columns * work.depth;
  FixedInputs all;
  all.query.resize(static_cast<std::size_t>(shape.matrices() * query));
  all.key.resize(static_cast<std::size_t>(shape.matrices() * key)), all.value.resize(all.key.size());
  std::vector<std::array<Count, 3>> beyond(static_cast<std::size_t>(shape.matrices()));
  const Numbers& n = instance.numbers;
  for_matrices(shape, threads, [&](Count m) {
    beyond[static_cast<std::size_t>(m)] = {
        fixed_numbers(n.query, work.query + m * query, query, all.query.data() + m * query),
        fixed_numbers(n.key, work.key + m * key, key, all.key.data() + m * key),
        fixed_numbers(n.value, work.value + m * key, key, all.value.data() + m * key)};
  });
  for (const auto& [q, k, v] : beyond) all.queries += q, all.keys += k, all.values += v;
  return all;
}

std::pair<double, double> largest_magnitudes(const Work& work, bool normalise, int threads) {
  const masks::MaskShape& shape = work.shape;
  std::vector<std::pair<double, double>> own(static_cast<std::size_t>(shape.matrices()));
  for_matrices(shape, threads, [&](Count m) {
    own[static_cast<std::size_t>(m)] = {
        largest(work.query + m * shape.rows * work.depth, shape.rows, work.depth, normalise),
        largest(work.key + m * shape.columns * work.depth, shape.columns, work.depth, normalise)};
  });
  std::pair<double, double> all{0, 0};
  for (const auto& [query, key] : own) all = {std::max(all.first, query), std::max(all.second, key)};
  return all;
}

Predicted predicted_mask(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
                         const PredictionConstants& constants, int threads, const base::Budget& budget) {
  Predicted out;
  out.mask = masks::Mask(work.shape);
  out.mask.valid_rows = work.valid_rows, out.mask.valid_columns = work.valid_columns, out.mask.causal = work.causal;
  std::vector<std::array<Count, 3>> counts(plan.matrices.size());
  base::parallel_for(plan.matrices.size(), threads, [&](std::size_t m) {
    MatrixPrediction one(instance, work, plan, inputs, constants, budget);
    one.run(plan.matrices[m], out.mask);
    counts[m] = {one.seen, one.codes, one.scores};
  });
  for (const auto& [seen, codes, scores] : counts) out.seen += seen, out.codes += codes, out.scores += scores;
  return out;
}

Calculated calculated(const Instance& instance, const Work& work, const RunPlan& plan, const masks::Packing& packing,
                      const FixedInputs& inputs, int threads, const base::Budget& budget) {
  Calculated out;
  const Count outputs = work.shape.rows * work.depth;
  out.outputs.resize(static_cast<std::size_t>(work.shape.matrices() * outputs));
  std::vector<Count> saturated(plan.matrices.size());
  base::parallel_for(plan.matrices.size(), threads, [&](std::size_t m) {
    const MatrixPlan& matrix = plan.matrices[m];
    MatrixOutputs one(instance, work, inputs);
    one.begin(matrix);
    for (Count t = matrix.first_tile; t < matrix.first_tile + matrix.tiles; ++t) {
      const TilePlan& tile = plan.tiles[static_cast<std::size_t>(t)];
      for (Count b = tile.first_block; b < tile.first_block + tile.blocks; ++b) {
        if (b % 16 == 0) masks::demand(budget);
        one.merge(packing.blocks[static_cast<std::size_t>(b)]);
      }
    }
    one.end(out.outputs.data() + matrix.matrix * outputs, saturated[m]);
  });
  for (const Count one : saturated) out.saturated += one;
  return out;
}

Errors errors(const Instance& instance, const Work& work, const masks::Mask& mask,
              const std::vector<std::int32_t>& outputs, int threads, const base::Budget& budget) {
  const masks::MaskShape& shape = work.shape;
  struct Own {
    double largest = 0, off = 0, squares = 0;
    Count numbers = 0;
  };
  std::vector<Own> all(static_cast<std::size_t>(shape.matrices()));
  for_matrices(shape, threads, [&](Count m) {
    Own& own = all[static_cast<std::size_t>(m)];
    const Count batch = m / shape.heads, head = m % shape.heads;
    std::vector<Count> kept;
    std::vector<double> weights, exact(static_cast<std::size_t>(work.depth));
    for (Count q = 0; q < shape.rows; ++q) {
      if (!mask.row_valid(batch, q)) continue;
      if (q % 16 == 0) masks::demand(budget);
      kept.clear();
      mask.for_each_kept(batch, head, q, [&](Count key) { kept.push_back(key); });
      exact_row(work, m, q, kept, weights, exact);
      const std::int32_t* const ours = outputs.data() + (m * shape.rows + q) * work.depth;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double off = instance.numbers.output.real(ours[i]) - exact[i];
        own.largest = std::max(own.largest, std::fabs(exact[i]));
        own.off = std::max(own.off, std::fabs(off));
        own.squares += off * off, ++own.numbers;
      }
    }
  });
  Own sum;
  for (const Own& own : all) {
    sum.largest = std::max(sum.largest, own.largest), sum.off = std::max(sum.off, own.off);
    sum.squares += own.squares, sum.numbers += own.numbers;
  }
  if (sum.numbers == 0 || sum.off == 0) return {};
  // Outputs that should all be 0 are as wrong as they can be if one is not.
  if (sum.largest == 0) return {1, 1};
  return {sum.off / sum.largest, std::sqrt(sum.squares / static_cast<double>(sum.numbers)) / sum.largest};
}

}  // namespace orrery::accelerator
