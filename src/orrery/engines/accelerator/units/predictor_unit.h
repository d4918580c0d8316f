// The predictor, cycle by cycle: a tile's queries against all of its keys, in passes of the prediction array's columns.
//
//   a pass      1 cycle clears; depth + width + rows - 1 calculate; width drain: in each of them the last column's sums
//               are rescaled into a register a row, and the one before enters the score memory and the statistics
//   the tail    1 cycle for the last of these; rows: a threshold a cycle
//
// Keys enter ascending; a pass drains its last key first. Keys beyond the tile's last are not valid. The array is the
// published one, unsigned, with the exponentials and sums that it has itself unused. Arithmetic: score_unit.h.
#pragma once

#include <functional>
#include <vector>

#include "orrery/engines/accelerator/units/prediction_array.h"
#include "orrery/engines/accelerator/units/score_unit.h"

namespace orrery::accelerator {

// What a tile is predicted from; codes [token][depth]. Not owned.
struct PredictedTile {
  Count rows = 0, keys = 0, depth = 0;
  const std::int8_t *query_codes = nullptr, *key_codes = nullptr;
  const std::uint64_t *query_factors = nullptr, *key_factors = nullptr;
  std::function<bool(Count row, Count key)> valid;
};

class PredictorUnit {
 public:
  PredictorUnit(const Instance& instance, const PredictionConstants& constants);
  void begin(const PredictedTile& tile);
  bool busy() const { return busy_; }
  void step();

  // The score memory, [key][row of the array], and the thresholds; valid when it is no longer busy.
  std::int64_t score(Count key, Count row) const { return scores_[static_cast<std::size_t>(key * rows_ + row)]; }
  std::int64_t threshold(Count row) const { return thresholds_[static_cast<std::size_t>(row)]; }
  bool keeps(Count key, Count row) const {
    return row < tile_.rows && tile_.valid(row, key) && score(key, row) > threshold(row);
  }
  Count saturated() const { return saturated_; }

 private:
  void feed(Count cycle);
  void rescale(Count column);
  void take();

  const Instance& instance_;
  Count rows_, width_;
  ScoreUnit unit_;
  PredictionArray array_;
  PredictedTile tile_;
  bool busy_ = false;
  Count pass_ = 0, passes_ = 0, cycle_ = 0;
  std::vector<std::uint8_t> left_, top_;
  std::vector<std::int64_t> row_sums_, key_sums_;  // of offset codes, kept beside
  // The register between rescaling and statistics.
  Count rescaled_key_ = -1;
  std::vector<std::int64_t> rescaled_;
  std::vector<ScoreUnit::Row> statistics_;
  std::vector<std::int64_t> scores_, thresholds_;
  Count saturated_ = 0;
};

}  // namespace orrery::accelerator
