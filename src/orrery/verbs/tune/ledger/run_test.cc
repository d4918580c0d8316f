#include "orrery/verbs/tune/ledger/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace orrery::verbs {
namespace {

LedgerRequest on_v100(const std::string& model) {
  LedgerRequest request;
  request.layer.model = model;
  request.layer.batch = 8;
  request.layer.seq = 512;
  request.system = "v100-dgx1";
  return request;
}

const JudgedOperator* find(const LedgerAnswer& answer, std::string_view name) {
  for (const JudgedOperator& one : answer.operators)
    if (one.row.name == name) return &one;
  return nullptr;
}

TEST(TuneLedger, OfBertLargeHasSubstationsTotals) {
  const LedgerAnswer answer = tune_ledger(on_v100("bert-large"));
  const tuning::ProfileTotals& all = answer.ledger.total;
  EXPECT_EQ(answer.operators.size(), 32u);
  EXPECT_EQ(all.flop_contractions, 335'007'449'088);
  EXPECT_EQ(all.words_unfused, 1'317'089'280);
  EXPECT_EQ(all.words_fused, 1'082'175'488);
  EXPECT_EQ(all.words_minimal, 339'899'392);
  EXPECT_EQ(all.words_compulsory, 58'760'192);
  ASSERT_NE(find(answer, "bad"), nullptr);  // its activation is a GELU
  EXPECT_EQ(find(answer, "bad")->row.flop, 50'331'648);
}

TEST(TuneLedger, OfAModelAndOfItsSizesAreTheSame) {
  LedgerRequest sizes = on_v100("");
  sizes.layer.width = 1024;
  sizes.layer.heads = 16;
  const LedgerAnswer one = tune_ledger(on_v100("bert-large")), other = tune_ledger(sizes);
  EXPECT_EQ(one.ledger.total.words_fused, other.ledger.total.words_fused);
  EXPECT_EQ(one.ledger.total.flop, other.ledger.total.flop);
}

// By a roofline nothing is above the roof, large products are near the peak, and what moves much for little is bound by
// memory.
TEST(TuneLedger, HoldsOperatorsAgainstTheRoof) {
  const LedgerAnswer answer = tune_ledger(on_v100("bert-large"));
  EXPECT_FALSE(answer.measured);
  EXPECT_EQ(answer.precision, machine::Precision::kBf16);
  for (const JudgedOperator& one : answer.operators) {
    EXPECT_GT(one.seconds, 0) << one.row.name;
    EXPECT_LE(one.at.mue, 100.0001) << one.row.name;
    EXPECT_LE(one.at.peak_share, 100.0001) << one.row.name;
    EXPECT_TRUE(one.at.memory_bound() || one.row.what == tuning::Class::kContraction) << one.row.name;
  }
  EXPECT_FALSE(find(answer, "lin1")->at.memory_bound());
  EXPECT_TRUE(find(answer, "gamma")->at.memory_bound());  // heads of 64: little work for scores of 512 x 512
  EXPECT_LT(find(answer, "bdrln1")->at.mue, find(answer, "blnrd1")->at.mue);  // a sixth of what it writes is dead
}

TEST(TuneLedger, CountsMasksOnlyOfLayersThatAreTrainedWithDropout) {
  LedgerRequest request = on_v100("bert-large");
  const LedgerAnswer with = tune_ledger(request);
  request.dropout = false;
  const LedgerAnswer without = tune_ledger(request);
  EXPECT_TRUE(with.options.dropout);
  EXPECT_FALSE(without.options.dropout);
  EXPECT_LT(without.ledger.total.words_fused, with.ledger.total.words_fused);
  EXPECT_FALSE(tune_ledger(on_v100("llama3-8b")).options.dropout);
  request.training = false;
  request.dropout = true;
  EXPECT_FALSE(tune_ledger(request).options.dropout);
}

TEST(TuneLedger, MeasuresThisMachineWhereNoneIsGiven) {
  LedgerRequest request = on_v100("bert-base");
  request.system.clear();
  request.threads = 1;
  const LedgerAnswer answer = tune_ledger(request);
  EXPECT_TRUE(answer.measured);
  EXPECT_EQ(answer.precision, machine::Precision::kFp32);
  EXPECT_GT(answer.peaks.flop_per_s, 1e8);
  EXPECT_GT(answer.peaks.bytes_per_s, 1e8);
}

}  // namespace
}  // namespace orrery::verbs
