#include "orrery/engines/masks/pruning_error.h"

#include <gtest/gtest.h>

#include "orrery/engines/masks/random_input_test_util.h"

namespace orrery::masks {
namespace {

using testing::Random;
using testing::RandomInput;

// Outputs of attention over the keys that `use` lets through, in fp64.
template <class Use>
std::vector<double> plain_output(const AttentionInput& in, const std::vector<float>& value, Count size, Count head,
                                 const Use& use) {
  std::vector<double> out(static_cast<std::size_t>(in.shape.rows * size));
  for (Count r = 0; r < in.shape.rows; ++r) {
    double sum = 0;
    for (Count c = 0; c < in.shape.columns; ++c) {
      if (!use(r, c)) continue;
      double score = 0;
      for (Count d = 0; d < in.depth; ++d)
        score += static_cast<double>(in.query[(head * in.shape.rows + r) * in.depth + d]) *
                 in.key[(head * in.shape.columns + c) * in.depth + d];
      const double e = std::exp(score * in.scale);
      sum += e;
      for (Count d = 0; d < size; ++d)
        out[static_cast<std::size_t>(r * size + d)] +=
            e * value[static_cast<std::size_t>((head * in.shape.columns + c) * size + d)];
    }
    for (Count d = 0; d < size && sum > 0; ++d) out[static_cast<std::size_t>(r * size + d)] /= sum;
  }
  return out;
}

TEST(PruningError, IsThatOfPlainLoopsInFp64) {
  kernels::Context context(2);
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    RandomInput x({1, 2, random(1, 90), random(1, 90)}, 24, random);
    x.input.causal = random.one_in(2);
    if (random.one_in(2)) x.pad_keys(random);
    const Count size = 10;
    std::vector<float> value(static_cast<std::size_t>(2 * x.input.shape.columns * size));
    for (float& v : value) v = random.normal();
    Mask mask = x.input.empty_mask();
    for (Count h = 0; h < 2; ++h)
      for (Count r = 0; r < mask.rows(); ++r)
        for (Count c = 0; c < mask.columns(); ++c)
          if (random.one_in(3)) mask.keep(0, h, r, c);
    const PruningError error = pruning_error(context, x.input, value.data(), size, mask);
    ASSERT_EQ(error.heads.size(), 2U);
    for (Count h = 0; h < 2; ++h) {
      There there(mask, 0);
      const auto seen = [&](Count r, Count c) {
        return (there.pairs_of(r)[static_cast<std::size_t>(c / 64)] >> (c % 64) & 1) != 0;
      };
      const auto dense = plain_output(x.input, value, size, h, seen);
      const auto pruned =
          plain_output(x.input, value, size, h, [&](Count r, Count c) { return seen(r, c) && mask.kept(0, h, r, c); });
      double difference = 0, norm = 0;
      for (std::size_t i = 0; i < dense.size(); ++i) {
        difference += (pruned[i] - dense[i]) * (pruned[i] - dense[i]);
        norm += dense[i] * dense[i];
      }
      EXPECT_NEAR(error.heads[static_cast<std::size_t>(h)].relative, norm > 0 ? std::sqrt(difference / norm) : 0, 1e-5);
    }
  }
}

TEST(PruningError, IsNothingWhereAllIsKeptAndAllWhereNothingIs) {
  kernels::Context context(1);
  Random random(3);
  RandomInput x({1, 1, 40, 70}, 16, random);
  std::vector<float> value(70 * 8, 1.5F);
  Mask mask = x.input.empty_mask();
  PruningError error = pruning_error(context, x.input, value.data(), 8, mask);
  EXPECT_EQ(error.relative, 1);
  EXPECT_EQ(error.kept_mass, 0);
  for (Count r = 0; r < 40; ++r)
    for (Count c = 0; c < 70; ++c) mask.keep(0, 0, r, c);
  error = pruning_error(context, x.input, value.data(), 8, mask);
  EXPECT_LT(error.relative, 1e-6);
  EXPECT_NEAR(error.kept_mass, 1, 1e-6);
}

}  // namespace
}  // namespace orrery::masks
