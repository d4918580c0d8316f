// A whole attention module of the reference, forward and backward, with the mask that this library predicts; and the
// quantiser's cases.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "orrery/formats/numpy/array.h"
#include "orrery/scenario/sparse_golden_test_util.h"
#include "orrery/sparse/predictor.h"
#include "orrery/sparse/scores.h"

namespace orrery::scenario {
namespace {

using base::Count;
using formats::json::Node;
namespace numpy = formats::numpy;

std::vector<double> numbers(const Node& node) {
  std::vector<double> out;
  for (const Node& one : node.items) out.push_back(one.number);
  return out;
}

constexpr std::size_t kBatch = 2, kTokens = 64, kHidden = 128, kHeads = 2, kSize = kHidden / kHeads;
constexpr std::size_t kRows = kBatch * kTokens;
using Numbers = std::vector<double>;

Numbers file(const std::string& name) {
  const std::vector<float> floats = numpy::floats_of(numpy::read_array(kGoldens + "module_bert_tiny/" + name + ".npy"));
  return {floats.begin(), floats.end()};
}

// x W^T + b, or x W.
Numbers times(const Numbers& x, const Numbers& w, bool transposed, const Numbers& bias = {}) {
  Numbers out(kRows * kHidden);
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t o = 0; o < kHidden; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      for (std::size_t i = 0; i < kHidden; ++i)
        sum += x[r * kHidden + i] * w[transposed ? o * kHidden + i : i * kHidden + o];
      out[r * kHidden + o] = sum;
    }
  return out;
}

struct Module {
  Numbers x = file("x"), upstream = file("grad_out");
  Numbers wq = file("Wq"), wk = file("Wk"), wv = file("Wv");
  Numbers q = times(x, wq, true, file("bq")), k = times(x, wk, true, file("bk")), v = times(x, wv, true, file("bv"));
  std::vector<float> query = by_head(q), key = by_head(k);
  sparse::AttentionInput input;

  Module() {
    input.shape = {kBatch, kHeads, kTokens, kTokens};
    input.depth = kSize;
    input.scale = 1 / std::sqrt(static_cast<float>(kSize));
    input.query = query.data();
    input.key = key.data();
    for (const double additive : file("am")) input.valid_columns.push_back(additive > -1 ? 1 : 0);
    input.valid_rows = input.valid_columns;
  }

  // Element of a token's vector in [batch][tokens][hidden].
  static std::size_t at(std::size_t b, std::size_t h, std::size_t t, std::size_t d) {
    return (b * kTokens + t) * kHidden + h * kSize + d;
  }
  static std::vector<float> by_head(const Numbers& hidden) {
    std::vector<float> out;
    for (std::size_t b = 0; b < kBatch; ++b)
      for (std::size_t h = 0; h < kHeads; ++h)
        for (std::size_t t = 0; t < kTokens; ++t)
          for (std::size_t d = 0; d < kSize; ++d) out.push_back(static_cast<float>(hidden[at(b, h, t, d)]));
    return out;
  }

  sparse::Prediction predict(const sparse::PredictorOptions& options) const {
    kernels::Context context(1);
    sparse::Prediction out;
    sparse::make_predictor(options)->predict(context, input, {}, out);
    return out;
  }

  // Attention over what the mask keeps, and its derivatives with the mask held fixed.
  struct Attention {
    Numbers out = Numbers(kRows * kHidden), dq = out, dk = out, dv = out;
  };
  Attention attend(const sparse::Mask& mask) const {
    Attention a;
    const double scale = 1 / std::sqrt(static_cast<double>(kSize));
    for (std::size_t b = 0; b < kBatch; ++b)
      for (std::size_t h = 0; h < kHeads; ++h)
        for (std::size_t r = 0; r < kTokens; ++r) {
          Numbers p(kTokens), dp(kTokens);
          double sum = 0, weighted = 0;
          const auto kept = [&](std::size_t c) {
            return mask.kept(static_cast<Count>(b), static_cast<Count>(h), static_cast<Count>(r),
                             static_cast<Count>(c));
          };
          const auto dot = [&](const Numbers& of, const Numbers& with, std::size_t c) {
            double product = 0;
            for (std::size_t d = 0; d < kSize; ++d) product += of[at(b, h, r, d)] * with[at(b, h, c, d)];
            return product;
          };
          for (std::size_t c = 0; c < kTokens; ++c) sum += p[c] = kept(c) ? std::exp(dot(q, k, c) * scale) : 0;
          for (std::size_t c = 0; c < kTokens; ++c) {
            p[c] /= sum;
            dp[c] = dot(upstream, v, c);
            weighted += p[c] * dp[c];
          }
          for (std::size_t c = 0; c < kTokens; ++c) {
            const double ds = p[c] * (dp[c] - weighted) * scale;
            for (std::size_t d = 0; d < kSize; ++d) {
              a.out[at(b, h, r, d)] += p[c] * v[at(b, h, c, d)];
              a.dv[at(b, h, c, d)] += p[c] * upstream[at(b, h, r, d)];
              a.dq[at(b, h, r, d)] += ds * k[at(b, h, c, d)];
              a.dk[at(b, h, c, d)] += ds * q[at(b, h, r, d)];
            }
          }
        }
    return a;
  }
};

void expect_near(const Numbers& ours, const Numbers& theirs, double tolerance) {
  ASSERT_EQ(ours.size(), theirs.size());
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::fabs(ours[i] - theirs[i]));
  EXPECT_LE(worst, tolerance);
}

double largest(const Numbers& of) {
  double most = 0;
  for (const double x : of) most = std::max(most, std::fabs(x));
  return most;
}

sparse::PredictorOptions options_of(const Node& meta) {
  sparse::PredictorOptions options;
  options.threshold = number(meta.find("config")->value.find("prune_score")->value, "threshold");
  options.quantiser.bits = static_cast<int>(number(meta.find("config")->value.find("quant_qk")->value, "bitwidth"));
  return options;
}

TEST(SparseModule, FirstStepOfTrainingSetsTheThresholdsAndGivesTheReferencesOutput) {
  SKIP_WITHOUT_GOLDENS();
  const Node meta = golden_json("module_bert_tiny/meta.json");
  const Module module;
  const sparse::Prediction prediction = module.predict(options_of(meta));
  const Numbers clips = numbers(meta.find("thresh")->value);
  ASSERT_TRUE(prediction.clips);
  EXPECT_NEAR(prediction.clips->first / clips[0], 1, 1e-6);
  EXPECT_NEAR(prediction.clips->second / clips[1], 1, 1e-6);
  EXPECT_LT(prediction.mask.kept(), prediction.mask.valid_pairs());  // something is pruned
  expect_near(module.attend(prediction.mask).out, file("train_out"), 1e-5);
}

TEST(SparseModule, WithFrozenThresholdsEvaluationGivesTheReferencesOutput) {
  SKIP_WITHOUT_GOLDENS();
  const Node meta = golden_json("module_bert_tiny/meta.json");
  const Module module;
  sparse::PredictorOptions options = options_of(meta);
  const Numbers clips = numbers(meta.find("thresh")->value);
  options.quantiser.query_clip = static_cast<float>(clips[0]);
  options.quantiser.key_clip = static_cast<float>(clips[1]);
  expect_near(module.attend(module.predict(options).mask).out, file("eval_out"), 1e-5);
}

// Sanger's straight-through estimator has nothing to pass: quantised scores are used for the mask alone, and the mask
// is held fixed. Gradients of attention over this mask are all there is.
TEST(SparseModule, NoGradientFlowsThroughThePrediction) {
  SKIP_WITHOUT_GOLDENS();
  const Module module;
  const Module::Attention a = module.attend(module.predict(options_of(golden_json("module_bert_tiny/meta.json"))).mask);
  const auto weights = [&](const Numbers& d) {  // d^T x, [out][in]
    Numbers out(kHidden * kHidden);
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t o = 0; o < kHidden; ++o)
        for (std::size_t i = 0; i < kHidden; ++i)
          out[o * kHidden + i] += d[r * kHidden + o] * module.x[r * kHidden + i];
    return out;
  };
  const auto same = [](const Numbers& ours, const char* name) {
    SCOPED_TRACE(name);
    const Numbers theirs = file(name);
    expect_near(ours, theirs, 1e-4 * largest(theirs));
  };
  same(weights(a.dq), "gWq");
  same(weights(a.dk), "gWk");
  same(weights(a.dv), "gWv");
  Numbers dx = times(a.dq, module.wq, false);
  const Numbers dk = times(a.dk, module.wk, false), dv = times(a.dv, module.wv, false);
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += dk[i] + dv[i];
  same(dx, "grad_x");
}

// Codes of one row of numbers at a frozen threshold.
std::vector<std::int8_t> codes_of(const Numbers& x, int bits, double clip) {
  const std::vector<float> row(x.begin(), x.end());
  sparse::AttentionInput input;
  input.shape = {1, 1, 1, 1};
  input.depth = static_cast<Count>(row.size());
  input.query = input.key = row.data();
  const auto frozen = static_cast<float>(clip);
  kernels::Context context(1);
  sparse::Quantised out;
  sparse::quantise(context, input, {bits, sparse::Normalise::kNone, frozen, frozen}, out);
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
  const std::vector<std::int8_t> of = codes_of(numbers(ste.find("x")->value), bits, sparse::most_code(bits) / scale);
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
  sparse::ClipThreshold clip_x, clip_y;
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
    sparse::AttentionInput input;
    input.shape = {1, 2, 64, 64};
    input.depth = 64;
    input.query = x.data();
    input.key = turned.data();
    kernels::Context context(1);
    sparse::Quantised codes;
    sparse::quantise(context, input, {4, sparse::Normalise::kNone, clip_x.value, clip_y.value}, codes);
    double sum = 0, first = 0;
    sparse::for_each_row(context, input, codes, [&](const sparse::ScoredRow& row) {
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
}  // namespace orrery::scenario
