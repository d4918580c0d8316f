// Random instances and what they run, for tests: sizes that do not fill the array, masks, padding, formats.
#pragma once

#include <cmath>
#include <random>

#include "orrery/engines/accelerator/simulate.h"

namespace orrery::accelerator {

class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : random_(seed) {}

  Count whole(Count least, Count most) { return std::uniform_int_distribution<Count>(least, most)(random_); }
  bool chance(int percent) { return whole(1, 100) <= percent; }

  Instance instance;
  Work work;

  // Draws all anew. Small: some tiles, some matrices.
  void draw() {
    instance = {};
    const Count pes = whole(1, 4);
    instance.array = {whole(1, 7), pes, pes + whole(0, 6)};
    instance.depth = whole(1, 12);
    instance.code_bits = static_cast<int>(2 * whole(1, 4));
    instance.prediction_width = whole(1, 9);
    instance.quantiser_lanes = whole(1, 14), instance.merge_lanes = whole(1, 14);
    instance.numbers.query = {static_cast<int>(whole(12, 16)), 10}, instance.numbers.value = instance.numbers.query;
    if (chance(20)) instance.numbers.sum = {30, 14}, instance.numbers.key = {18, 12};
    instance.exponential = {static_cast<int>(whole(3, 8)), chance(50)};
    instance.block_slots = whole(1, 5);
    instance.overlap = chance(70);
    instance.bandwidth = chance(20) ? std::numeric_limits<double>::infinity() : static_cast<double>(whole(1, 40)) * 1e9;
    instance.latency = whole(0, 30);
    work = {};
    work.shape = {whole(1, 2), whole(1, 3), whole(1, 17), whole(1, 25)};
    work.depth = whole(1, instance.depth);
    work.scale = chance(30) ? 1 : 1 / std::sqrt(static_cast<double>(work.depth));
    const Count queries = work.shape.matrices() * work.shape.rows * work.depth;
    const Count keys = work.shape.matrices() * work.shape.columns * work.depth;
    fill(query_, queries), fill(key_, keys), fill(value_, keys);
    work.query = query_.data(), work.key = key_.data(), work.value = value_.data();
    work.causal = chance(30);
    if (chance(40)) {
      for (Count i = 0; i < work.shape.batch * work.shape.rows; ++i) work.valid_rows.push_back(chance(70) ? 1 : 0);
      for (Count i = 0; i < work.shape.batch * work.shape.columns; ++i)
        work.valid_columns.push_back(chance(70) ? 1 : 0);
    }
    if (chance(50)) {
      work.prediction = Prediction{chance(10) ? 0 : static_cast<double>(whole(1, 200)) / 1000, chance(80), {}, {}};
      // Without normalisation the largest of a few numbers may be next to nothing.
      if (chance(30) || !work.prediction->normalise) work.prediction->query_clip = 0.5, work.prediction->key_clip = 0.7;
    } else {
      draw_mask();
    }
    instance = fitted(instance, sizes_of(work));
    if (chance(30)) instance.key_tokens = std::max<Count>(1, work.shape.columns / 2);
  }

 private:
  void fill(std::vector<float>& x, Count count) {
    std::normal_distribution<float> normal;
    x.resize(static_cast<std::size_t>(count));
    for (float& one : x) one = normal(random_);
    if (count > 0 && chance(20)) x[static_cast<std::size_t>(whole(0, count - 1))] = 100;
  }
  void draw_mask() {
    mask_ = masks::Mask(work.shape);
    const int percent = static_cast<int>(whole(0, 60));
    for (Count b = 0; b < work.shape.batch; ++b)
      for (Count h = 0; h < work.shape.heads; ++h)
        for (Count r = 0; r < work.shape.rows; ++r)
          for (Count c = 0; c < work.shape.columns; ++c)
            if (chance(percent)) mask_.keep(b, h, r, c);
    mask_.valid_rows = work.valid_rows, mask_.valid_columns = work.valid_columns, mask_.causal = work.causal;
    work.mask = &mask_;
    if (chance(60)) return;
    masks::PackEffort effort;
    effort.swaps = 2, effort.rounds = 2;
    packing_ = {};
    masks::pack_by("orrery", masks::inside_valid(mask_), instance.array, {}, effort, &packing_);
    work.packing = &packing_;
  }

  std::mt19937 random_;
  std::vector<float> query_, key_, value_;
  masks::Mask mask_;
  masks::Packing packing_;
};

}  // namespace orrery::accelerator
