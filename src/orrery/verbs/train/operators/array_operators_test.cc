// The simulated array at the seam that training runs ask.
#include "orrery/verbs/train/operators/array_operators.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/text_file.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {
namespace {

constexpr const char* kAnswer = R"({"schema": "orrery.sparse_simulate/1", "result": {"seconds": 1e-3, "energy_pj": 5e9,
"density": 0.1, "cases": [{"batch": 2, "heads": 50, "head_size": 128, "queries": 100, "keys": 100}]}})";

// Nothing but products, a second each.
struct Rest : machine::OperatorModel {
  double matrix_product_seconds(const machine::MatrixProduct&) const override { return 1; }
  double memory_bound_seconds(double) const override { return 0; }
  double issue_seconds() const override { return 0; }
};

machine::Operator attention(base::Count tokens, double share = 1) {
  machine::Operator out;
  out.kind = machine::OperatorKind::kAttention;
  out.product = {3, tokens, tokens, 128, machine::Precision::kBf16};
  out.value_width = 128, out.share = share;
  return out;
}

TEST(ArrayOperators, ForwardAttentionTakesAsLongAsItsScoresAndBackwardItsProducts) {
  const Rest rest;
  const ArrayOperators operators(read_attention_array(base::source(kAnswer)), rest);
  EXPECT_NEAR(*operators.attention_seconds(attention(100)), 3e4 * 1e-9, 1e-18);
  EXPECT_NEAR(*operators.attention_seconds(attention(100, 0.5)), 3e4 * 1e-9, 1e-18);  // causality is simulated
  const machine::Cost cost = operators.cost(attention(100));
  EXPECT_NEAR(*cost.joules, 3e4 * 5e-9, 1e-15);
  EXPECT_EQ(cost.binds, "array");
  machine::Operator back = attention(100, 0.5);
  back.gradient = true;
  EXPECT_DOUBLE_EQ(*operators.attention_seconds(back), 2.5);
}

TEST(ArrayOperators, OtherHeadsAndOtherDocumentsAreRefused) {
  const Rest rest;
  const ArrayOperators operators(read_attention_array(base::source(kAnswer)), rest);
  machine::Operator other = attention(100);
  other.product.k = 64;
  EXPECT_EQ(base::codes_of([&] { operators.attention_seconds(other); }), base::Codes{"O1905"});
  for (const auto& [from, to] : {std::pair{"sparse_simulate", "sparse_pack"},
                                 {"1e-3", "0"},
                                 {"1e-3", "1e308"},
                                 {"1e-3", "\"fast\""},
                                 {"0.1,", "1.1,"},
                                 {"\"heads\"", "\"head\""},
                                 {"[{", "[], \"more\": [{"},
                                 {"128", "12.5"}}) {
    const std::string text = base::replaced(kAnswer, from, to);
    EXPECT_EQ(base::codes_of([&] { read_attention_array(base::source(text)); }), base::Codes{"O1905"})
        << from << " to " << to;
  }
}

TEST(ArrayOperators, ARunsForwardPassHasTheArraysTimeAndNothingElseChanges) {
  const base::Folder folder;
  TrainRequest request;
  request.model = "gpt3-6.7b", request.system = "dgx-h100";
  request.gpus = 8, request.global_batch = 8, request.tp = 8, request.pp = 1, request.dp = 1;
  request.by_operator = true;
  const TrainedModel without = train(request);
  request.attention_array = folder.write("array.json", kAnswer);
  const TrainedModel with = train(request);
  const auto seconds = [](const TrainedModel& run, const std::string& name, cluster::OperatorPass pass) {
    double sum = 0;
    for (const RunOperator& one : run.listed)
      if (one.use.name == name && one.use.pass == pass) sum += one.seconds;
    return sum;
  };
  using enum cluster::OperatorPass;
  // 32 layers x 8 sequences x 4 heads a rank x 2048^2 scores of a nanosecond.
  const double taken = 32.0 * 8 * 4 * 2048 * 2048 * 1e-9;
  EXPECT_NEAR(seconds(with, "attention", kForward), taken, 1e-9 * taken);
  EXPECT_EQ(seconds(without, "FF1", kForward), seconds(with, "FF1", kForward));
  EXPECT_GT(with.iteration.iteration_s, without.iteration.iteration_s);
  ASSERT_FALSE(with.warnings.all().empty());
  EXPECT_EQ(with.warnings.all().back().code, "O1906");
}

}  // namespace
}  // namespace orrery::verbs
