// What the predictors share, and how each is made.
#pragma once

#include <algorithm>
#include <memory>

#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/prediction/scores.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::masks {

std::unique_ptr<Predictor> make_threshold(const PredictorOptions& options);
std::unique_ptr<Predictor> make_top_k(const PredictorOptions& options);
std::unique_ptr<Predictor> make_rounds(const PredictorOptions& options);
std::unique_ptr<Predictor> make_blocks(const PredictorOptions& options);
std::unique_ptr<Predictor> make_window(const PredictorOptions& options);

// A mask of zeros for the input, in the memory of an earlier one.
void begin(const AttentionInput& input, Prediction& into);

// Rows that lost everything, marked from many threads, each by one.
class Emptied {
 public:
  explicit Emptied(const AttentionInput& input)
      : rows_(input.shape.rows),
        heads_(input.shape.heads),
        marks_(static_cast<std::size_t>(input.shape.matrices() * rows_)) {}

  bool has(const ScoredRow& row) const { return marks_[at(row)] != 0; }
  // What the policy makes of a row none of whose bits is set. `scores` may be any rising function of the row's scores.
  void settle(EmptyRows policy, const ScoredRow& row, Mask& mask) {
    marks_[at(row)] = 1;
    if (policy == EmptyRows::kArgmax) {
      const float* best = std::max_element(row.scores, row.scores + row.visible);
      mask.keep(row.batch, row.head, row.row, best - row.scores);
    } else if (policy == EmptyRows::kDense) {
      There there(mask, row.batch);
      const std::vector<Word>& all = there.keys_of(row.row);
      std::copy(all.begin(), all.end(), mask.row(row.batch, row.head, row.row));
    }
  }
  std::vector<Count> list() const {
    std::vector<Count> out;
    for (std::size_t i = 0; i < marks_.size(); ++i)
      if (marks_[i] != 0) out.push_back(static_cast<Count>(i));
    return out;
  }

 private:
  std::size_t at(const ScoredRow& row) const {
    return static_cast<std::size_t>((row.batch * heads_ + row.head) * rows_ + row.row);
  }
  Count rows_, heads_;
  std::vector<std::uint8_t> marks_;
};

// ceil(share * count), at least 1 and at most count.
Count share_of(double share, Count count);

}  // namespace orrery::masks
