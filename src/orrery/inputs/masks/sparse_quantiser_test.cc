// The quantiser against the reference's cases: rounding, and thresholds that training moves.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "orrery/engines/masks/prediction/quantiser.h"
#include "orrery/engines/masks/prediction/scores.h"
#include "orrery/inputs/masks/sparse_golden_test_util.h"

namespace orrery::verbs {
namespace {

using base::Count;
using formats::json::Node;

std::vector<double> numbers(const Node& node) {
  std::vector<double> out;
  for (const Node& one : node.items) out.push_back(one.number);
  return out;
}

using Numbers = std::vector<double>;

// Codes of one row of numbers at a frozen threshold.
std::vector<std::int8_t> codes_of(const Numbers& x, int bits, double clip) {
  const std::vector<float> row(x.begin(), x.end());
  masks::AttentionInput input;
  input.shape = {1, 1, 1, 1};
  input.depth = static_cast<Count>(row.size());
  input.query = input.key = row.data();
  const auto frozen = static_cast<float>(clip);
  kernels::Context context(1);
  masks::Quantised out;
  masks::quantise(context, input, {bits, masks::Normalise::kNone, frozen, frozen}, out);
  return out.query.codes;
}

TEST(SparseQuantiser, RoundsAndDequantisesAsTheReference) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = golden_json("quant_ema_ste.json");
  const Node& rounding = all.find("round_half_even")->value;
  const Numbers expected = numbers(rounding.find("quantize_scale1_bits4")->value);
  const std::vector<std::int8_t> codes = codes_of(numbers(rounding.find("x")->value), 4, 7);
  ASSERT_EQ(codes.size(), expected.size());
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], expected[i]) << i;

  const Node& ste = all.find("ste")->value;
  const double scale = number(ste, "scale");
  const int bits = static_cast<int>(number(ste, "bits"));
  const Numbers fake = numbers(ste.find("fake")->value.items.front());
  const std::vector<std::int8_t> of = codes_of(numbers(ste.find("x")->value), bits, masks::most_code(bits) / scale);
  ASSERT_EQ(of.size(), fake.size());
  for (std::size_t i = 0; i < of.size(); ++i) EXPECT_EQ(of[i] / scale, fake[i]) << i;
}

// The reference's normal numbers.
std::vector<float> gauss(std::uint64_t seed, std::size_t count, float factor) {
  std::vector<float> out;
  std::uint64_t state = seed;
  for (std::size_t j = 0; j < count; ++j) {
    double sum = 0;
    for (int k = 0; k < 12; ++k) {
      std::uint64_t z = state += 0x9E3779B97F4A7C15U;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
      z = (z ^ z >> 27) * 0x94D049BB133111EBU;
      z ^= z >> 31;
      sum += std::ldexp(static_cast<double>(z >> 40), -24);
    }
    out.push_back(static_cast<float>(sum - 6) * factor);
  }
  return out;
}

// Four steps of training: thresholds from the inputs themselves, and the product of what the codes stand for.
TEST(SparseQuantiser, ProductsOfFourTrainingStepsAreTheReferences) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = golden_json("quant_ema_ste.json");
  masks::ClipThreshold clip_x, clip_y;
  unsigned t = 0;
  for (const Node& step : all.find("ema")->value.items) {
    const auto at = static_cast<float>(t);
    const std::vector<float> x = gauss(900 + t, 2 * 64 * 64, 1 + at), y = gauss(950 + t, 2 * 64 * 64, 1 + at / 2);
    const auto peak = [](const std::vector<float>& of) {
      float most = 0;
      for (const float one : of) most = std::max(most, std::fabs(one));
      return most;
    };
    EXPECT_NEAR(peak(x) / number(step, "absmax_x"), 1, 1e-6);
    clip_x.observe(peak(x));
    clip_y.observe(peak(y));
    std::vector<float> turned(y.size());  // the reference has keys as columns
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t i = 0; i < 64; ++i)
        for (std::size_t j = 0; j < 64; ++j) turned[(h * 64 + j) * 64 + i] = y[(h * 64 + i) * 64 + j];
    masks::AttentionInput input;
    input.shape = {1, 2, 64, 64};
    input.depth = 64;
    input.query = x.data();
    input.key = turned.data();
    kernels::Context context(1);
    masks::Quantised codes;
    masks::quantise(context, input, {4, masks::Normalise::kNone, clip_x.value, clip_y.value}, codes);
    double sum = 0, first = 0;
    masks::for_each_row(context, input, codes, [&](const masks::ScoredRow& row) {
      for (std::size_t c = 0; c < 64; ++c) sum += static_cast<double>(row.scores[c]);
      if (row.head == 0 && row.row == 0) first = row.scores[0];
    });
    EXPECT_NEAR(sum / number(step, "out_sum"), 1, 1e-3);
    EXPECT_NEAR(first / number(step, "out00"), 1, 1e-3);
    ++t;
  }
  EXPECT_EQ(t, 4U);
}

}  // namespace
}  // namespace orrery::verbs
