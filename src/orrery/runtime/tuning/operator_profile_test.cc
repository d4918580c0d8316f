#include "orrery/runtime/tuning/operator_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "orrery/base/text/files_test_util.h"
#include "orrery/runtime/tuning/layers_test_util.h"

namespace orrery::tuning {
namespace {

using base::Count;
using nlohmann::json;

double mega(Count words) {
  return static_cast<double>(words) / 1e6;
}

TEST(OperatorProfile, OfTheFourLevelsIsSubstationsAtBothSizes) {
  ORRERY_NEEDS_SHARED();
  const json golden = json::parse(base::contents(base::kShared / "goldens/layer/data_movement_summary.json"));
  for (const auto& [name, batch, length] : {std::tuple{"b8-l512", 8, 512}, std::tuple{"b96-l128", 96, 128}}) {
    const OperatorProfile l = operator_profile(substation_layer(batch, length));
    const json& expected = golden[name]["Mwords"];
    const auto other = [](const ProfileTotals& of, Count words) { return mega(words - of.words_contractions); };
    for (const auto& [pass, of] : {std::pair{"fwd", l.forward}, std::pair{"bwd", l.backward}}) {
      EXPECT_DOUBLE_EQ(mega(of.words_contractions), expected["gemm"][pass]);
      EXPECT_DOUBLE_EQ(other(of, of.words_unfused), expected["unfused_nongemm"][pass]);
      EXPECT_DOUBLE_EQ(other(of, of.words_fused), expected["substation_nongemm"][pass]);
      EXPECT_DOUBLE_EQ(mega(of.words_minimal), expected["minimal"][pass]);
      EXPECT_DOUBLE_EQ(mega(of.words_compulsory), expected["compulsory"][pass]);
      EXPECT_DOUBLE_EQ(static_cast<double>(of.flop_contractions) / 1e9, golden[name]["gemm_gflop"][pass]);
    }
    EXPECT_DOUBLE_EQ(mega(l.total.words_unfused), expected["unfused_total"]);
    EXPECT_DOUBLE_EQ(mega(l.total.words_fused), expected["substation_total"]);
    EXPECT_DOUBLE_EQ(mega(l.total.words_minimal), expected["minimal_total"]);
    EXPECT_EQ(l.weights, golden[name]["elements"]["weights"].get<Count>());
    std::map<Class, double> by_class;
    for (const ProfileRow& row : l.operators) by_class[row.what] += 100.0 * static_cast<double>(row.flop);
    const auto flop = static_cast<double>(l.total.flop);
    const json& shares = golden[name]["flop_share_pct"];
    EXPECT_NEAR(by_class[Class::kContraction] / flop, shares["tensor_contraction"].get<double>(), 1e-10);
    EXPECT_NEAR(by_class[Class::kNormalisation] / flop, shares["statistical_normalization"].get<double>(), 1e-12);
    EXPECT_NEAR(by_class[Class::kElementWise] / flop, shares["element_wise"].get<double>(), 1e-12);
  }
}

TEST(OperatorProfile, OfTheMinimalLevelIsSubstationsOperatorByOperator) {
  ORRERY_NEEDS_SHARED();
  const json rows =
      json::parse(base::contents(base::kShared / "goldens/layer/operators_b8-l512.json"))["minimal_fused"];
  const OperatorProfile l = operator_profile(substation_layer(8, 512));
  ASSERT_EQ(l.minimal.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(l.minimal[i].words_read, rows[i]["reads"]) << l.minimal[i].name << " " << rows[i]["op"];
    EXPECT_EQ(l.minimal[i].words_written, rows[i]["writes"]) << l.minimal[i].name << " " << rows[i]["op"];
    EXPECT_EQ(l.minimal[i].backward, rows[i]["dir"] == "bwd");
  }
}

// The closed forms, without weights, biases and statistics: they are recovered as what grows with the tokens.
TEST(OperatorProfile, GrowsWithTheTokensAsTheClosedFormsSay) {
  const auto words = [](Count batch) { return operator_profile(substation_layer(batch, 64, 4, 32, 48)); };
  const OperatorProfile one = words(3), two = words(5);
  const Count x = 2 * 64 * 32, s = 2 * 4 * 64 * 64, f = 2 * 64 * 48, statistics = 2 * 64;  // of two sequences
  EXPECT_EQ(two.forward.words_contractions - one.forward.words_contractions, 12 * x + 2 * s + 2 * f);
  EXPECT_EQ(two.backward.words_contractions - one.backward.words_contractions, 24 * x + 4 * s + 4 * f);
  const auto other = [](const ProfileTotals& of, Count all) { return all - of.words_contractions; };
  EXPECT_EQ(other(two.forward, two.forward.words_unfused) - other(one.forward, one.forward.words_unfused),
            26 * x + 5 * s + 7 * f + 4 * statistics);
  EXPECT_EQ(other(two.backward, two.backward.words_unfused) - other(one.backward, one.backward.words_unfused),
            27 * x + 6 * s + 7 * f + 8 * statistics);
  EXPECT_EQ(other(two.forward, two.forward.words_fused) - other(one.forward, one.forward.words_fused),
            20 * x + 4 * s + 4 * f + 2 * statistics);
  EXPECT_EQ(other(two.backward, two.backward.words_fused) - other(one.backward, one.backward.words_fused),
            25 * x + 4 * s + 4 * f + 2 * statistics);
}

LayerOptions random_layer(std::mt19937& random) {
  const auto upto = [&](int n) { return std::uniform_int_distribution<Count>(1, n)(random); };
  const auto maybe = [&] { return random() % 2 == 0; };
  LayerOptions options;
  layer::Shape& shape = options.shape;
  shape.batch = upto(4);
  shape.length = upto(70);
  shape.head_size = 2 * upto(8);
  shape.key_heads = upto(3);
  shape.heads = shape.key_heads * upto(3);
  shape.width = maybe() ? shape.heads * shape.head_size : upto(60);
  shape.hidden = upto(200);
  shape.gated = maybe();
  shape.norms = maybe() ? layer::Place::kPre : layer::Place::kPost;
  shape.centred = maybe();
  shape.shift = shape.centred && maybe();
  shape.causal = maybe();
  if (shape.causal && maybe()) shape.window = upto(80);
  shape.qkv_bias = maybe();
  shape.out_bias = maybe();
  shape.network_bias = maybe();
  shape.rotary = maybe() ? layer::Rotary::kHalves : layer::Rotary::kNone;
  if (maybe()) {
    shape.cross = true;
    shape.memory_length = upto(50);
    shape.memory_width = upto(50);
  }
  options.training = maybe();
  options.dropout = maybe();
  return options;
}

std::string described(const LayerOptions& o) {
  const layer::Shape& s = o.shape;
  return fmt::format(
      "b {} l {} h {}/{} p {} i {} u {} gated {} pre {} centred {} shift {} causal {} window {} biases {}{}{} rotary "
      "{} "
      "cross {} {} {} training {} dropout {}",
      s.batch, s.length, s.heads, s.kv_heads(), s.head(), s.width, s.hidden, s.gated, s.norms == layer::Place::kPre,
      s.centred, s.shift, s.causal, s.window, s.qkv_bias, s.out_bias, s.network_bias, s.rotary != layer::Rotary::kNone,
      s.cross, s.memory_length, s.memory_width, o.training, o.dropout);
}

// Whatever layer it is: fusion moves no more, and nobody less than what must be moved. The minimal level keeps a word
// for each row of statistics and of scores where whole tensors may be thinner than that, and vectors backward are
// nobody's.
TEST(OperatorProfile, MovesLessTheMoreIsFusedAndNeverLessThanItMust) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const LayerOptions options = random_layer(random);
    const OperatorProfile l = operator_profile(options);
    SCOPED_TRACE(described(options));
    for (const ProfileTotals* of : {&l.forward, &l.backward, &l.total}) {
      EXPECT_LE(of->words_fused, of->words_unfused);
      EXPECT_LE(of->words_minimal, of->words_fused);
      EXPECT_LE(of->words_contractions, of->words_fused);
      EXPECT_LE(of->flop_seen, of->flop);
    }
    EXPECT_LE(l.forward.words_compulsory, l.forward.words_minimal);
    Count vectors = 0;  // of weights and their gradients, which the minimal level leaves out backward
    for (const Variable& one : layer_operators(options).tensors)
      if (one.role == Role::kGradient && one.dims.find_first_of("iue") == one.dims.npos)
        vectors += 2 * l.sizes.words(one.dims);
    for (const Variable& one : layer_operators(options).tensors)
      if (one.role == Role::kGradient && (one.dims == "i" || one.dims == "u" || one.dims == "wu"))
        vectors += 2 * l.sizes.words(one.dims);
    EXPECT_LE(l.backward.words_compulsory, l.backward.words_minimal + vectors);
    if (!options.training) {
      EXPECT_EQ(l.backward.words_fused + l.backward.words_unfused + l.backward.words_minimal, 0);
      EXPECT_EQ(l.backward.words_compulsory, 0);
    }
  }
}

TEST(OperatorProfile, CountsEachElementaryOperatorInOneKernelOrInSeveralButNeverInNone) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const LayerOptions options = random_layer(random);
    const OperatorProfile l = operator_profile(options);
    SCOPED_TRACE(described(options));
    std::set<std::string> done;
    for (const ProfileRow& row : l.operators) done.insert(row.operators.begin(), row.operators.end());
    for (const ProfileRow& row : l.elementary) EXPECT_TRUE(done.count(row.name)) << row.name;
    Count flop = 0, words = 0;
    for (const ProfileRow& row : l.operators) {
      flop += row.flop;
      words += row.words();
      EXPECT_LE(row.words_unread, row.words_written);
    }
    EXPECT_EQ(flop, l.total.flop);
    EXPECT_EQ(words, l.total.words_fused);
  }
}

// Products and weights by hand, of whatever layer: gated, with norms before or behind, causal, with shared keys, with
// cross attention.
TEST(OperatorProfile, OfContractionsAndOfWhatMustBeMovedIsWhatTheShapeSays) {
  std::mt19937 random(12);
  std::vector<LayerOptions> all{substation_layer(96, 128), substation_layer(8, 512)};
  while (all.size() < 1000) all.push_back(random_layer(random));
  for (const LayerOptions& options : all) {
    const layer::Shape& s = options.shape;
    SCOPED_TRACE(described(options));
    const Count tokens = s.batch * s.length, memory = s.cross ? s.batch * s.memory_length : 0;
    const Count q = s.heads * s.head(), kv = 2 * s.kv_heads() * s.head(), maps = s.gated ? 3 : 2;
    const Count shifts = s.shift ? 2 : 1, norms = s.cross ? 3 : 2, m = s.memory();
    Count flop = 2 * tokens * s.width * (q + kv) + 4 * s.batch * s.length * s.length * q + 2 * tokens * q * s.width +
                 2 * tokens * s.width * s.hidden * maps;
    Count weights = s.width * (q + kv) + q * s.width + maps * s.width * s.hidden + norms * shifts * s.width;
    if (s.qkv_bias) weights += q + kv;
    if (s.out_bias) weights += s.width;
    if (s.network_bias) weights += (maps - 1) * s.hidden + s.width;
    if (s.cross) {
      flop += 2 * tokens * s.width * q + 2 * memory * m * kv + 4 * memory * s.length * q + 2 * tokens * q * s.width;
      weights += s.width * q + m * kv + q * s.width;
      if (s.qkv_bias) weights += q + kv;
      if (s.out_bias) weights += s.width;
    }
    const OperatorProfile l = operator_profile(options);
    EXPECT_EQ(l.forward.flop_contractions, flop);
    EXPECT_EQ(l.weights, weights);
    EXPECT_EQ(l.forward.words_compulsory, 2 * tokens * s.width + memory * m + weights);
    if (!options.training) continue;
    EXPECT_EQ(l.backward.flop_contractions, 2 * flop);
    EXPECT_EQ(l.backward.words_compulsory, 3 * tokens * s.width + 2 * memory * m + 2 * weights);
  }
}

// What grows with the number of sequences grows in proportion; weights do not.
TEST(OperatorProfile, IsLinearInTheSequences) {
  std::mt19937 random(9);
  for (int i = 0; i < 100; ++i) {
    LayerOptions options = random_layer(random);
    options.shape.batch = 1;
    const ProfileTotals one = operator_profile(options).total;
    options.shape.batch = 2;
    const ProfileTotals two = operator_profile(options).total;
    options.shape.batch = 7;
    const ProfileTotals seven = operator_profile(options).total;
    SCOPED_TRACE(described(options));
    EXPECT_EQ(seven.flop, 7 * one.flop);
    for (const auto words : {&ProfileTotals::words_unfused, &ProfileTotals::words_fused, &ProfileTotals::words_minimal,
                             &ProfileTotals::words_compulsory})
      EXPECT_EQ(seven.*words - one.*words, 6 * (two.*words - one.*words));
  }
}

// A mask hides scores and no words.
TEST(OperatorProfile, OfACausalLayerCountsTheScoresThatAreSeen) {
  LayerOptions options = substation_layer(2, 10, 2, 8, 16);
  const OperatorProfile all = operator_profile(options);
  options.shape.causal = true;
  const OperatorProfile causal = operator_profile(options);
  options.shape.window = 3;
  const OperatorProfile window = operator_profile(options);
  EXPECT_EQ(all.total.flop_seen, all.total.flop);
  EXPECT_EQ(causal.total.flop, all.total.flop);
  EXPECT_EQ(causal.total.words_fused, all.total.words_fused);
  const auto scores = [](const OperatorProfile& l) {
    for (const ProfileRow& row : l.operators)
      if (row.name == "QKT") return row.flop_seen;
    return Count{0};
  };
  const Count a_score = 2 * 4 * 2 * 2;  // two operations, elements of a head, heads, sequences
  EXPECT_EQ(scores(all), 100 * a_score);
  EXPECT_EQ(scores(causal), 55 * a_score);
  EXPECT_EQ(scores(window), (1 + 2 + 8 * 3) * a_score);
}

TEST(OperatorProfile, ThrowsRatherThanCountPastSixtyFourBits) {
  LayerOptions options = substation_layer(Count{1} << 30, Count{1} << 30);
  EXPECT_THROW(operator_profile(options), base::OverflowError);
}

TEST(Efficiency, IsFullWhereAPeakIsReachedAndFallsWithTimeAndWithWhatNobodyReads) {
  ProfileRow row{.flop = 1000, .words_read = 60, .words_written = 40};
  const Rates peaks{1000, 400, 4};
  Efficiency at_both = efficiency(row, 1, peaks);
  EXPECT_DOUBLE_EQ(at_both.mue, 100);
  EXPECT_DOUBLE_EQ(at_both.peak_share, 100);
  EXPECT_DOUBLE_EQ(efficiency(row, 4, peaks).mue, 25);
  row.words_unread = 50;
  EXPECT_DOUBLE_EQ(efficiency(row, 1, peaks).mue, 50);
  row.flop = 100;
  EXPECT_TRUE(efficiency(row, 1, peaks).memory_bound());
  row.flop = 900;
  EXPECT_FALSE(efficiency(row, 1, peaks).memory_bound());
}

}  // namespace
}  // namespace orrery::tuning
