// Random queries and keys, at every instruction set, and the same predictions by plain loops in fp64.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::masks::testing {

using kernels::testing::Random;

struct RandomInput {
  AttentionInput input;
  std::vector<float> query, key;

  RandomInput(const MaskShape& shape, Count depth, Random& random) {
    input.shape = shape;
    input.depth = depth;
    input.scale = 1 / std::sqrt(static_cast<float>(depth));
    query.resize(static_cast<std::size_t>(shape.matrices() * shape.rows * depth));
    key.resize(static_cast<std::size_t>(shape.matrices() * shape.columns * depth));
    for (float& x : query) x = random.normal() * 2;
    for (float& x : key) x = random.normal() * 2;
    input.query = query.data();
    input.key = key.data();
  }
  RandomInput(const RandomInput&) = delete;
  RandomInput& operator=(const RandomInput&) = delete;

  void pad_keys(Random& random) {
    input.valid_columns.resize(static_cast<std::size_t>(input.shape.batch * input.shape.columns));
    for (std::uint8_t& valid : input.valid_columns) valid = random.one_in(4) ? 0 : 1;
  }
};

inline MaskShape random_shape(Random& random, Count most) {
  return {random(1, 2), random(1, 3), random(1, most), random(1, most)};
}

// Softmax probabilities of exact integer products, [batch][heads][rows][columns]; 0 where no key is to be seen. Codes
// are the quantiser's own: they are checked elsewhere.
inline std::vector<double> plain_probabilities(const AttentionInput& in, const Quantised& q) {
  const MaskShape& s = in.shape;
  std::vector<double> out(static_cast<std::size_t>(s.matrices() * s.rows * s.columns));
  for (Count m = 0; m < s.matrices(); ++m)
    for (Count r = 0; r < s.rows; ++r) {
      double most = -HUGE_VAL, sum = 0;
      double* row = out.data() + (m * s.rows + r) * s.columns;
      const auto there = [&](Count c) {
        const bool valid =
            in.valid_columns.empty() || in.valid_columns[static_cast<std::size_t>(m / s.heads * s.columns + c)] != 0;
        return valid && (!in.causal || c <= r + s.columns - s.rows);
      };
      for (Count c = 0; c < s.columns; ++c) {
        std::int64_t product = 0;
        for (Count d = 0; d < in.depth; ++d)
          product += q.query.codes[static_cast<std::size_t>((m * s.rows + r) * in.depth + d)] *
                     q.key.codes[static_cast<std::size_t>((m * s.columns + c) * in.depth + d)];
        row[c] = static_cast<double>(product) * q.query.norms[static_cast<std::size_t>(m * s.rows + r)] *
                 q.key.norms[static_cast<std::size_t>(m * s.columns + c)] * in.scale / q.query.scale / q.key.scale;
        if (there(c)) most = std::max(most, row[c]);
      }
      for (Count c = 0; c < s.columns; ++c) sum += row[c] = there(c) ? std::exp(row[c] - most) : 0;
      for (Count c = 0; c < s.columns && sum > 0; ++c) row[c] /= sum;
    }
  return out;
}

}  // namespace orrery::masks::testing
