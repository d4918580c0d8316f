// The reference's cases: codes, masks, figures of the log, static masks.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <source_dir.h>

#include "orrery/engines/masks/prediction/scores.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/inputs/masks/sparse_golden_test_util.h"
#include "orrery/verbs/sparse/mask/run.h"
#include "orrery/verbs/sparse/measure/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
using formats::json::Node;
namespace numpy = formats::numpy;

constexpr const char* kCases[] = {"cloth_s512_thr2e-3",       "glue_s128_thr2e-2_valid90", "tiny_s64_h2",
                                  "sweep_s128_h2_bits2_norm", "sweep_s128_h2_bits4_norm",  "sweep_s128_h2_bits8_raw"};

struct Case {
  std::string folder;
  Node meta;
  SparseMeasureRequest request;

  explicit Case(const std::string& name) : folder(kGoldens + name + "/"), meta(golden_json(name + "/meta.json")) {
    request.arrays.query = folder + "Q.npy";
    request.arrays.key = folder + "K.npy";
    request.arrays.valid = folder + "attn_valid.npy";
    request.limits.threads = 2;
    request.packs = false;
    request.predictor.threshold = number(meta, "threshold");
    request.predictor.quantiser.bits = static_cast<int>(number(meta, "bits"));
    if (meta.find("normalize_qk")->value.is_null()) request.predictor.quantiser.normalise = masks::Normalise::kNone;
    request.defects = base::defects_of(masks::kMeasureDefects, "sanger");
  }
  std::vector<std::uint8_t> bytes(const char* file) const {
    return numpy::whole_bytes_of(numpy::read_array(folder + file));
  }
  masks::Mask mask(const masks::MaskShape& shape) const {
    return masks::mask_of_packed(shape, bytes("mask_packed_le.npy").data());
  }
};

void expect_figures(const masks::Measured& ours, const Node& theirs, double tolerance) {
  for (std::size_t i = 0; i < masks::kLoadBalances; ++i) {
    const auto* member = theirs.find(masks::kLoadBalanceNames[i]);
    if (member != nullptr) {
      EXPECT_NEAR(ours.load_balance[i], member->value.number, tolerance) << i;
    }
  }
  if (const auto* member = theirs.find("overall-sparsity")) {
    EXPECT_NEAR(ours.overall_sparsity, member->value.number, tolerance);
  }
}

TEST(SparseGoldens, ClipThresholdsAndEveryCodeAreTheReferences) {
  SKIP_WITHOUT_GOLDENS();
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const Case one(name);
    const SparseArrays arrays = read_sparse_arrays(one.request.arrays);
    kernels::Context context(2);
    masks::Quantised codes;
    masks::quantise(context, arrays.input, one.request.predictor.quantiser, codes);
    EXPECT_NEAR(codes.query.clip / number(one.meta, "input_x_thresh"), 1, 1e-6);
    EXPECT_NEAR(codes.key.clip / number(one.meta, "input_y_thresh"), 1, 1e-6);
    const auto same = [](const std::vector<std::int8_t>& ours, const std::vector<std::uint8_t>& theirs) {
      if (ours.size() != theirs.size()) return false;
      for (std::size_t i = 0; i < ours.size(); ++i)
        if (ours[i] != static_cast<std::int8_t>(theirs[i])) return false;
      return true;
    };
    EXPECT_TRUE(same(codes.query.codes, one.bytes("qQ_int8.npy")));
    EXPECT_TRUE(same(codes.key.codes, one.bytes("qK_int8.npy")));
  }
}

TEST(SparseGoldens, MasksDifferInNoMoreThanTheStatedFlipsAndFiguresAreTheLogs) {
  SKIP_WITHOUT_GOLDENS();
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const Case one(name);
    const SparseMeasurement ours = measure_sparse(one.request);
    const std::vector<std::uint8_t> a = masks::bytes_of(ours.mask), b = masks::bytes_of(one.mask(ours.mask.shape()));
    int flips = 0;
    for (std::size_t i = 0; i < a.size(); ++i) flips += a[i] != b[i];
    EXPECT_LE(flips, 8);
    EXPECT_EQ(ours.emptied, 0);
    expect_figures(ours.masks.front().figures, one.meta.find("load_balance")->value, 1e-4);
  }
}

TEST(SparseGoldens, FiguresOfTheStoredMasksAreTheLogsAndCountsAreExact) {
  SKIP_WITHOUT_GOLDENS();
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const Case one(name);
    SparseMeasureRequest request;
    request.packs = false;
    request.mask = one.folder + "mask_packed_le.npy";
    request.arrays.valid = one.request.arrays.valid;
    request.defects = one.request.defects;
    const SparseMeasurement ours = measure_sparse(request);
    expect_figures(ours.masks.front().figures, one.meta.find("load_balance")->value, 1e-6);
    const Node& counts = one.meta.find("counts")->value;
    EXPECT_EQ(ours.masks.front().figures.vectors, static_cast<Count>(number(counts, "vectors_valid")));
    EXPECT_EQ(ours.masks.front().figures.empty_vectors, static_cast<Count>(number(counts, "vectors_empty")));
    EXPECT_EQ(ours.mask.kept(), static_cast<Count>(number(one.meta, "kept_total")));
  }
}

TEST(SparseGoldens, PredictedScoresAreTheReferencesBeforeAndBehindTheSoftmax) {
  SKIP_WITHOUT_GOLDENS();
  const Case one("tiny_s64_h2");
  const SparseArrays arrays = read_sparse_arrays(one.request.arrays);
  const std::vector<float> scores = numpy::floats_of(numpy::read_array(one.folder + "quant_scores.npy"));
  const std::vector<float> probabilities = numpy::floats_of(numpy::read_array(one.folder + "quant_prob.npy"));
  kernels::Context context(1);
  masks::Quantised codes;
  masks::quantise(context, arrays.input, one.request.predictor.quantiser, codes);
  masks::for_each_row(context, arrays.input, codes, [&](const masks::ScoredRow& row) {
    const std::size_t first = static_cast<std::size_t>((row.head * 64 + row.row) * 64);
    double sum = 0;
    for (Count c = 0; c < 64; ++c) sum += std::exp(row.scores[c] - row.most);
    for (std::size_t c = 0; c < 64; ++c) {
      EXPECT_NEAR(row.scores[c], scores[first + c], 1e-4);
      EXPECT_NEAR(std::exp(row.scores[c] - row.most) / sum, probabilities[first + c], 1e-5);
    }
  });
}

TEST(SparseGoldens, TheErrorOfPrunedAttentionIsThatOfTheReferencesContext) {
  SKIP_WITHOUT_GOLDENS();
  const Case one("tiny_s64_h2");
  SparseMeasureRequest request = one.request;
  request.arrays.value = one.folder + "V.npy";
  const SparseMeasurement ours = measure_sparse(request);
  ASSERT_TRUE(ours.error);
  EXPECT_NEAR(ours.error->kept_mass, number(one.meta, "kept_probability_mass_of_dense"), 1e-4);
  // |pruned - dense| / |dense| from the stored context and scores.
  const std::vector<float> pruned = numpy::floats_of(numpy::read_array(one.folder + "context.npy"));
  const std::vector<float> scores = numpy::floats_of(numpy::read_array(one.folder + "dense_scores.npy"));
  const std::vector<float> value = numpy::floats_of(numpy::read_array(request.arrays.value));
  for (std::size_t h = 0; h < 2; ++h) {
    double difference = 0, norm = 0;
    for (std::size_t r = 0; r < 64; ++r) {
      double sum = 0;
      std::vector<double> dense(64);
      for (std::size_t c = 0; c < 64; ++c) {
        const double e = std::exp(scores[(h * 64 + r) * 64 + c]);
        sum += e;
        for (std::size_t d = 0; d < 64; ++d) dense[d] += e * value[(h * 64 + c) * 64 + d];
      }
      for (std::size_t d = 0; d < 64; ++d) {
        const double off = pruned[(h * 64 + r) * 64 + d] - dense[d] / sum;
        difference += off * off;
        norm += dense[d] / sum * (dense[d] / sum);
      }
    }
    EXPECT_NEAR(ours.error->heads[h].relative, std::sqrt(difference / norm), 1e-5);
  }
}

TEST(SparseGoldens, ThresholdsFollowTheReferencesTrainingSteps) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = golden_json("quant_ema_ste.json");
  masks::ClipThreshold x, y;
  for (const Node& step : all.find("ema")->value.items) {
    x.observe(static_cast<float>(number(step, "absmax_x")));
    y.observe(static_cast<float>(number(step, "absmax_y")));
    EXPECT_NEAR(x.value / number(step, "x_thresh"), 1, 1e-6);
    EXPECT_NEAR(y.value / number(step, "y_thresh"), 1, 1e-6);
  }
}

TEST(SparseGoldens, LoadBalanceByHandAndOfRandomBitsIsTheReferences) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = golden_json("load_balance_cases.json");
  const masks::MeasureDefects sanger = base::defects_of(masks::kMeasureDefects, "sanger");
  int compared = 0;
  for (const Node& one : all.find("hand")->value.items) {
    const std::vector<Node>& rows = one.find("nnz_per_vector")->value.items;
    masks::Mask mask({1, 1, static_cast<Count>(rows.size()), 64});
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (Count c = 0; c < static_cast<Count>(rows[r].number); ++c) mask.keep(0, 0, static_cast<Count>(r), c);
    expect_figures(masks::measure(mask, sanger), one.find("values")->value, 1e-6);
    ++compared;
  }
  for (const Node& one : all.find("bernoulli")->value.items) {
    const auto tokens = static_cast<Count>(number(one, "s"));
    const double density = number(one, "p");
    masks::Mask mask({1, 12, tokens, tokens});
    std::uint64_t state = std::stoull(one.find("seed")->value.text);
    for (Count h = 0; h < 12; ++h)
      for (Count r = 0; r < tokens; ++r)
        for (Count c = 0; c < tokens; ++c) {
          std::uint64_t z = state += 0x9E3779B97F4A7C15U;
          z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
          z = (z ^ z >> 27) * 0x94D049BB133111EBU;
          z ^= z >> 31;
          if (std::ldexp(static_cast<double>(z >> 40), -24) < density) mask.keep(0, h, r, c);
        }
    expect_figures(masks::measure(mask, sanger), one.find("values")->value, 1e-6);
    ++compared;
  }
  EXPECT_GE(compared, 6);
}

TEST(SparseGoldens, StaticMasksAreTheReferencesBitForBitOrByStructure) {
  SKIP_WITHOUT_GOLDENS();
  const std::string configs = ORRERY_SOURCE_DIR "/../shared/seeds/sanger/configs/sparse_attn/";
  int compared = 0;
  const Node index = golden_json("static_masks/index.json");
  for (const Node& one : index.find("cases")->value.items) {
    const std::string kind = one.find("cfg")->value.text;
    SCOPED_TRACE(one.find("file")->value.text);
    SparseMaskRequest request;
    request.tokens = static_cast<Count>(number(one, "s"));
    request.heads = static_cast<Count>(number(one, "h"));
    std::vector<std::string> ways = {kind == "block_structured" ? "block-structured" : kind};
    if (std::filesystem::exists(configs + kind + ".json")) ways.push_back(configs + kind + ".json");
    const masks::Mask theirs = read_mask(kGoldens + "static_masks/" + one.find("file")->value.text, request.tokens);
    for (const std::string& way : ways) {
      request.kind = way;
      const SparseMask ours = make_sparse_mask(request);
      const bool drawn = kind == "bigbird" || kind == "hugebird" || kind == "block_structured";
      // A random block of each row of blocks may fall onto one that is kept: four deviations of so many coins.
      const double rows = static_cast<double>(request.tokens) / 16;
      const double coins = 4 * 0.5 / std::sqrt(rows * rows * rows * static_cast<double>(request.heads));
      EXPECT_NEAR(ours.figures.density, number(one, "density"),
                  kind == "hugebird"  ? 0.06
                  : kind == "bigbird" ? coins
                                      : 1e-9);
      if (!drawn) {
        EXPECT_EQ(ours.mask, theirs);
      }
      ++compared;
    }
    const masks::Measured figures = masks::measure(theirs);
    EXPECT_NEAR(figures.density, number(one, "density"), 1e-6);
    expect_figures(figures, one.find("lb")->value, 1e-6);
  }
  EXPECT_GE(compared, 24);
}

}  // namespace
}  // namespace orrery::verbs
