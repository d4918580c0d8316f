// A simulated array that does a model's attention beside a chip.
#include "orrery/inputs/layers/array_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/text_file.h"
#include "orrery/inputs/layers/layer_question_test_util.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {
namespace {

// Of one head of 64 elements, `tokens` queries and keys.
std::string answer(double seconds, double energy_pj, base::Count tokens, double density = 0.25, int head_size = 64) {
  return fmt::format(R"({{"schema": "orrery.sparse_simulate/1", "result": {{"seconds": {}, "energy_pj": {},
"density": {}, "cases": [{{"batch": 1, "heads": 1, "head_size": {}, "queries": {}, "keys": {}}}]}}}})",
                     seconds, energy_pj, density, head_size, tokens, tokens);
}

MapRequest on_eyeriss(const std::string& model, base::Count tokens) {
  MapRequest request;
  request.model = model, request.chips = {"eyeriss"};
  request.sequence = tokens;
  return request;
}

const MappedLayer& layer(const MapAnswer& answer, const std::string& name) {
  return *std::find_if(answer.mapped.layers.begin(), answer.mapped.layers.end(),
                       [&](const MappedLayer& each) { return each.name == name; });
}

Totals sum(const MapAnswer& answer) {
  return totals(answer.mapped.layers, answer.mapped.attention.rows);
}

TEST(ArrayRows, StandInThePlaceOfScoresSoftmaxAndValuesAndChangeNothingElse) {
  const base::Folder folder;
  MapRequest request = on_eyeriss("bert-base", 128);
  const MapAnswer without = map(request);
  request.attention_array = folder.write("array.json", answer(1e-6, 5e3, 100));
  const MapAnswer with = map(request);
  EXPECT_TRUE(without.mapped.attention.rows.empty());
  ASSERT_EQ(with.mapped.attention.rows.size(), 1u);
  const ArrayRow& row = with.mapped.attention.rows[0];
  EXPECT_EQ(row.name, "attention");
  EXPECT_EQ(row.instances, 12);
  EXPECT_EQ(row.before, 1u);  // behind KQV
  std::vector<std::string> names;
  for (const MappedLayer& each : with.mapped.layers) {
    names.push_back(each.name);
    EXPECT_EQ(each.optimum.mapping, layer(without, each.name).optimum.mapping) << each.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"KQV", "Out", "layernorm", "FF1", "FF2"}));
  ASSERT_FALSE(with.mapped.warnings.all().empty());
  EXPECT_EQ(with.mapped.warnings.all().back().code, "O2011");
  EXPECT_EQ(std::count_if(with.mapped.inputs.begin(), with.mapped.inputs.end(),
                          [&](const base::Input& each) { return each.name == request.attention_array; }),
            1);
}

TEST(ArrayRows, HaveThePriceOfTheirScores) {
  const base::Folder folder;
  for (const base::Count tokens : {128, 256}) {
    MapRequest request = on_eyeriss("bert-base", tokens);
    request.attention_array = folder.write("array.json", answer(1e-5, 5e3, 100));  // 1 ns, 0.5 pJ a score
    request.batch = 3;
    const ArrayRow row = map(request).mapped.attention.rows.at(0);
    const base::Count scores = tokens * tokens;
    EXPECT_EQ(row.instances, 36);
    EXPECT_EQ(row.cycles, scores);  // of 1 ns
    EXPECT_NEAR(row.seconds, 1e-9 * static_cast<double>(scores), 1e-18);
    EXPECT_NEAR(row.energy_pj, 0.5 * static_cast<double>(scores), 1e-6);
    EXPECT_DOUBLE_EQ(row.edp_j_cycles, row.energy_pj * static_cast<double>(row.cycles) / 1e12);
  }
}

TEST(ArrayRows, OfAnArrayThatKeepsAllAndCostsWhatTheChipDoesLeaveTheTotalsAsTheyWere) {
  const base::Folder folder;
  MapRequest request = on_eyeriss("bert-base", 128);
  const MapAnswer without = map(request);
  double cycles = 0, energy_pj = 0;
  for (const char* name : {"KTQ", "softmax", "VScores"}) {
    const nest::Evaluation& cost = layer(without, name).optimum.evaluation;
    cycles += static_cast<double>(cost.cycles), energy_pj += cost.energy_pj;
  }
  request.attention_array = folder.write("array.json", answer(1e-9 * cycles, energy_pj, 128, 1));
  const MapAnswer with = map(request);
  const Totals a = sum(without), b = sum(with);
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_NEAR(a.energy_pj, b.energy_pj, 1e-9 * a.energy_pj);
  EXPECT_NEAR(a.edp_j_cycles, b.edp_j_cycles, 1e-9 * a.edp_j_cycles);
  // At the lengths that were simulated, nothing is to be said of others.
  for (const std::string& note : with.mapped.warnings.all().back().notes)
    EXPECT_EQ(note.find("cost the same"), std::string::npos) << note;
}

TEST(ArrayRows, TotalsAreSumsOverLayersAndRows) {
  ArrayRow row;
  row.instances = 4, row.energy_pj = 10, row.cycles = 7, row.edp_j_cycles = 70 / 1e12;
  const Totals both = totals({}, {row, row});
  EXPECT_EQ(both.energy_pj, 80);
  EXPECT_EQ(both.cycles, 56);
  EXPECT_DOUBLE_EQ(both.edp_j_cycles, 80 * 56 / 1e12);
  EXPECT_DOUBLE_EQ(both.edp_seed, 8 * 70 / 1e12);
  row.cycles = base::Count{1} << 62;
  EXPECT_EQ(base::codes_of([&] { totals({}, {row}); }), base::Codes{"O1004"});
}

TEST(ArrayRows, OfEncodersDecodersAndCrossAttentionHaveAllScoresOfTheModel) {
  const AttentionArray array = read_attention_array(base::source(answer(1, 1, 10)));
  using workload::CorePart;
  using workload::Operator;
  const auto op = [](const char* name, workload::Einsum einsum, base::Count instances, CorePart part) {
    return Operator{name, std::move(einsum), instances, workload::OperatorRole::kMatmul, part};
  };
  std::vector<Operator> operators = {op("KQV", workload::matmul("", 192, 64, 8), 1, CorePart::kNone),
                                     op("KTQ", workload::matmul("", 8, 64, 5), 3, CorePart::kScores),
                                     op("softmax", workload::normalisation("", 5, 8, 2), 3, CorePart::kSoftmax),
                                     op("VScores", workload::matmul("", 64, 8, 5), 3, CorePart::kValues),
                                     op("decoder-KTQ", workload::matmul("", 7, 64, 6), 2, CorePart::kScores),
                                     op("Out", workload::matmul("", 64, 64, 8), 1, CorePart::kNone),
                                     op("cross-KTQ-2", workload::matmul("", 9, 64, 4), 1, CorePart::kScores)};
  const std::vector<ArrayRow> rows = take_attention("m", array, operators);
  ASSERT_EQ(operators.size(), 2u);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "attention");
  EXPECT_EQ(rows[1].name, "decoder-attention");
  EXPECT_EQ(rows[2].name, "cross-attention-2");
  EXPECT_EQ(rows[0].before, 1u);
  EXPECT_EQ(rows[1].before, 1u);
  EXPECT_EQ(rows[2].before, 2u);
  base::Count scores = 0;
  for (const ArrayRow& row : rows) scores += row.instances * row.queries * row.keys;
  EXPECT_EQ(scores, 3 * 40 + 2 * 42 + 36);
}

TEST(ArrayRows, AreCountedInCyclesOfTheChipWhateverItsClock) {
  ArrayAttention attention;
  attention.array.seconds_per_score = 1e-9, attention.array.joules_per_score = 1e-12;
  attention.rows.resize(1);
  attention.rows[0].queries = 30, attention.rows[0].keys = 100;
  for (const auto& [cycle, cycles] : {std::pair{1e-9, 3000}, {2e-9, 1500}, {1.2e-9, 2500}, {7e-9, 429}, {1.0, 1}}) {
    attention.cycle_seconds = cycle;
    price(attention);
    EXPECT_EQ(attention.rows[0].cycles, cycles) << cycle;
    EXPECT_DOUBLE_EQ(attention.rows[0].seconds, 3e-6);
    EXPECT_DOUBLE_EQ(attention.rows[0].energy_pj, 3000);
  }
  attention.cycle_seconds = 1e-30;
  EXPECT_EQ(base::codes_of([&] { price(attention); }), base::Codes{"O1004"});
}

TEST(ArrayRows, OfTwoClocksAreRefused) {
  const auto chip = std::make_shared<machine::Chip>(testing::small_chip());
  const auto slow = std::make_shared<machine::Chip>(*chip);
  slow->cycle_seconds = 2e-9;
  const LayerQuestion a = testing::product("a", chip, 4, 4, 4), b = testing::product("b", slow, 4, 4, 4);
  EXPECT_EQ(common_cycle_seconds({b, b}), 2e-9);
  EXPECT_EQ(base::codes_of([&] { common_cycle_seconds({a, b}); }), base::Codes{"O2012"});
}

TEST(ArrayRows, WithoutAPrefillWithAttentionOrWithOtherHeadsAreRefused) {
  const base::Folder folder;
  const std::string array = folder.write("array.json", answer(1e-6, 5e3, 100));
  const auto codes = [&](const std::string& model, const auto& change) {
    MapRequest request = on_eyeriss(model, 128);
    request.attention_array = array;
    change(request);
    return base::codes_of([&] { map(request); });
  };
  using base::Codes;
  const auto none = [](MapRequest&) {};
  EXPECT_EQ(codes("mamba2-2.7b", none), Codes{"O2010"});
  EXPECT_EQ(codes("gpt3-6.7b", none), (Codes{"O1905", "O1905"}));  // queries and values of 128
  EXPECT_EQ(codes("bert-base", [](MapRequest& r) { r.layer = "FF1"; }), Codes{"O2010"});
  for (const char* phase : {"decode", "verify"})
    EXPECT_EQ(codes("gpt2-small", [&](MapRequest& r) { r.phase = phase, r.sequence.reset(); }), Codes{"O2010"})
        << phase;
  EXPECT_EQ(codes("", [](MapRequest& r) { r.gemms = {{8, 8, 8}}, r.sequence.reset(); }), Codes{"O2010"});
  EXPECT_EQ(codes("bert-base", [](MapRequest& r) { r.attention_array = "nowhere.json"; }).size(), 1u);
}

}  // namespace
}  // namespace orrery::verbs
