#include "orrery/dataflow/optimize.h"

#include <gtest/gtest.h>

#include "orrery/dataflow/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

void expect_final(const dataflow::Setup& setup, Generation generation, double final_ns) {
  const Placement found = optimize(setup, generation);
  ASSERT_TRUE(found.mapping) << (found.reasons.empty() ? "" : found.reasons[0].message);
  EXPECT_NEAR(found.evaluation.final_ns, final_ns, final_ns * 1e-9);
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_EQ(found.certificate.lower_bound, found.evaluation.final_ns);
  EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, generation).final_ns, found.evaluation.final_ns);
}

TEST(Optimize, FindsTheProvenOptimaOfPublishedCases) {
  expect_final(cases::readme(), Generation::kGen1, 78994771025.58195);
  expect_final(cases::gpt3_4x2(), Generation::kGen2, 793194560225.28);
  expect_final(cases::gpt3_8x1(), Generation::kGen2, 876688724459.52);
  expect_final(cases::hpl_circe(), Generation::kGen2, 60300056.879855);
  expect_final(cases::fft_1024(), Generation::kGen2, 1357981486.505653);
  expect_final(cases::dlrm_i(), Generation::kGen2, 67754278554008.75);
  expect_final(cases::decode(), Generation::kGen3, 12577816.575999996);
}

}  // namespace
}  // namespace orrery::dataflow
