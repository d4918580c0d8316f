// The reference's self-attention module of a small BERT: outputs of a training step and of evaluation, and gradients by
// a straight-through estimator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <source_dir.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/runtime/pruning/pruned_core.h"

namespace orrery::verbs {
namespace {

using kernels::Index;
using Floats = std::vector<float>;

const std::string kFolder = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/module_bert_tiny/";
constexpr Index kBatch = 2, kTokens = 64, kWidth = 128, kHeads = 2, kRows = kBatch * kTokens;

Floats read(const char* name) {
  return formats::numpy::floats_of(formats::numpy::read_array(kFolder + name));
}

// Into the columns of part `part` of [rows][3 width].
void project(const Floats& x, const Floats& weights, const Floats& bias, Index part, Floats& qkv) {
  for (Index r = 0; r < kRows; ++r)
    for (Index o = 0; o < kWidth; ++o) {
      double sum = bias[o];
      for (Index i = 0; i < kWidth; ++i) sum += double{x[r * kWidth + i]} * weights[o * kWidth + i];
      qkv[(r * 3 + part) * kWidth + o] = static_cast<float>(sum);
    }
}

void expect_near(const Floats& ours, const Floats& theirs, double relative, double absolute, const char* what) {
  ASSERT_EQ(ours.size(), theirs.size());
  double most = 0, off = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    most = std::max(most, std::fabs(double{theirs[i]}));
    off = std::max(off, std::fabs(double{ours[i]} - theirs[i]));
  }
  EXPECT_LE(off, relative * most + absolute) << what;
}

TEST(SparseModuleGolden, OutputsThresholdsAndStraightThroughGradientsAreTheReferences) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "the reference figures are not at hand";
  const formats::json::Node meta = formats::json::parse(base::read_file(kFolder + "meta.json"), "O1814");
  const Floats x = read("x.npy"), additive = read("am.npy");
  const Floats weights[] = {read("Wq.npy"), read("Wk.npy"), read("Wv.npy")};
  const Floats biases[] = {read("bq.npy"), read("bk.npy"), read("bv.npy")};
  Floats qkv(kRows * 3 * kWidth), gradients(qkv.size()), out(kRows * kWidth), log_sum(kBatch * kHeads * kTokens);
  for (Index part = 0; part < 3; ++part) project(x, weights[part], biases[part], part, qkv);
  Floats hidden = additive, out_gradient = read("grad_out.npy");
  for (float& one : hidden) one = one < -1 ? -std::numeric_limits<float>::infinity() : 0.0F;

  kernels::Attention a;
  const Index size = kWidth / kHeads;
  a.batch = kBatch, a.heads = a.key_heads = kHeads, a.queries = a.keys = kTokens, a.size = a.value_size = size;
  a.scale = 1 / std::sqrt(static_cast<double>(size));
  a.bias = hidden.data(), a.bias_batch = kTokens;
  const auto part = [&](Floats& of, Index which) {
    return kernels::Vectors{of.data() + which * kWidth, kTokens * 3 * kWidth, size, 3 * kWidth};
  };
  const auto whole = [&](Floats& of) { return kernels::Vectors{of.data(), kTokens * kWidth, size, kWidth}; };
  a.query = part(qkv, 0), a.key = part(qkv, 1), a.value = part(qkv, 2);
  a.query_gradient = part(gradients, 0), a.key_gradient = part(gradients, 1), a.value_gradient = part(gradients, 2);
  a.out = whole(out), a.out_gradient = whole(out_gradient), a.log_sum = log_sum.data();

  kernels::Context context(2);
  masks::Pruning pruning;
  pruning.predictor.emplace();
  pruning.predictor->threshold = 0.002;
  pruning.empty = masks::EmptyRows::kDense;
  pruning::PrunedAttention core(pruning);
  core.mode = masks::Mode::kLearn;
  core.forward(context, a);
  const auto& thresholds = meta.find("thresh")->value.items;
  EXPECT_NEAR(core.clips.query.value / thresholds.at(0).number, 1, 1e-6);
  EXPECT_NEAR(core.clips.key.value / thresholds.at(1).number, 1, 1e-6);
  EXPECT_EQ(core.clips.query.step, 1);
  expect_near(out, read("train_out.npy"), 0, 1e-5, "training");
  core.backward(context, a);

  Floats x_gradient(kRows * kWidth);
  const char* const names[] = {"gWq.npy", "gWk.npy", "gWv.npy"};
  for (Index p = 0; p < 3; ++p) {
    Floats of_weights(kWidth * kWidth);
    for (Index o = 0; o < kWidth; ++o)
      for (Index i = 0; i < kWidth; ++i) {
        double sum = 0;
        for (Index r = 0; r < kRows; ++r) sum += double{gradients[(r * 3 + p) * kWidth + o]} * x[r * kWidth + i];
        of_weights[o * kWidth + i] = static_cast<float>(sum);
      }
    expect_near(of_weights, read(names[p]), 1e-4, 0, names[p]);
    for (Index r = 0; r < kRows; ++r)
      for (Index i = 0; i < kWidth; ++i) {
        double sum = 0;
        for (Index o = 0; o < kWidth; ++o)
          sum += double{gradients[(r * 3 + p) * kWidth + o]} * weights[p][o * kWidth + i];
        x_gradient[r * kWidth + i] += static_cast<float>(sum);
      }
  }
  expect_near(x_gradient, read("grad_x.npy"), 1e-4, 0, "grad_x");

  core.mode = masks::Mode::kEvaluate;
  core.forward(context, a);
  expect_near(out, read("eval_out.npy"), 0, 1e-5, "evaluation");
}

}  // namespace
}  // namespace orrery::verbs
