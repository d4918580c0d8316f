#include "orrery/engines/dataflow/search/pairwise.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::dataflow {
namespace {

// Few different prices: most problems have many optima, of which the first must be found.
TieredPrice random_price() {
  return {*rc::gen::inRange(0, 3), *rc::gen::inRange(0, 2), *rc::gen::inRange(0, 2)};
}

PairwiseProblem random_problem(int most_variables, int most_states) {
  PairwiseProblem problem;
  const int variables = *rc::gen::inRange(1, most_variables + 1);
  for (int v = 0; v < variables; ++v) {
    problem.alone.emplace_back(*rc::gen::inRange(1, most_states + 1));
    for (TieredPrice& price : problem.alone.back()) price = random_price();
  }
  const int pairs = variables < 2 ? 0 : *rc::gen::inRange(0, 2 * variables);
  for (int p = 0; p < pairs; ++p) {
    PairPrice pair;
    pair.a = *rc::gen::inRange(0, variables);
    pair.b = (pair.a + *rc::gen::inRange(1, variables)) % variables;
    pair.price.resize(problem.alone[pair.a].size() * problem.alone[pair.b].size());
    for (TieredPrice& price : pair.price) price = random_price();
    problem.pairs.push_back(pair);
  }
  return problem;
}

// All vectors in lexicographic order; the first of the cheapest stays.
PairwiseOptimum enumerate(const PairwiseProblem& problem) {
  PairwiseOptimum best;
  std::vector<int> state(problem.alone.size(), 0);
  for (;;) {
    const TieredPrice here = price(problem, state);
    if (best.state.empty() || here < best.price) {
      best.state = state;
      best.price = here;
    }
    std::size_t v = state.size();
    while (v > 0 && ++state[v - 1] == static_cast<int>(problem.alone[v - 1].size())) state[--v] = 0;
    if (v == 0) return best;
  }
}

RC_GTEST_PROP(Pairwise, EliminationFindsTheFirstCheapestVectorThatEnumerationFinds, ()) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const PairwiseProblem problem = random_problem(7, 4);
    const PairwiseOptimum expected = enumerate(problem);
    const PairwiseOptimum found = least(problem);
    RC_ASSERT(found.proven);
    RC_ASSERT(found.state == expected.state);
    RC_ASSERT(found.price == expected.price);
  }
}

RC_GTEST_PROP(Pairwise, ConditioningOnVariablesFindsTheSame, ()) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const PairwiseProblem problem = random_problem(7, 4);
    const PairwiseOptimum expected = enumerate(problem);
    const PairwiseOptimum found = least(problem, {.most_entries = 9});
    RC_ASSERT(found.proven);
    RC_ASSERT(found.state == expected.state);
  }
}

RC_GTEST_PROP(Pairwise, WhereTheWorkRunsOutTheBoundStillHolds, ()) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const PairwiseProblem problem = random_problem(6, 4);
    const PairwiseOptimum found = least(problem, {.most_entries = 4, .most_work = 40});
    const PairwiseOptimum expected = enumerate(problem);
    RC_ASSERT(!(expected.price < found.bound));
    RC_ASSERT(!(found.price < expected.price));
    RC_ASSERT(price(problem, found.state) == found.price);
  }
}

TEST(Pairwise, AChainOfAThousandVariablesTakesNoTimeToSpeakOf) {
  PairwiseProblem problem;
  for (int v = 0; v < 1000; ++v) {
    problem.alone.push_back({{v % 3, 0, 0}, {(v + 1) % 3, 0, 0}, {(v + 2) % 3, 0, 0}});
    if (v > 0)
      problem.pairs.push_back(
          {v - 1,
           v,
           {{0, 0, 0}, {2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {0, 0, 0}, {2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {0, 0, 0}}});
  }
  const PairwiseOptimum found = least(problem);
  EXPECT_TRUE(found.proven);
  EXPECT_TRUE(found.price.first <= 1000);
}

}  // namespace
}  // namespace orrery::dataflow
