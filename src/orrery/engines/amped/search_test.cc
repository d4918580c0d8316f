#include "orrery/engines/amped/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "orrery/engines/amped/test_util.h"

namespace orrery::amped {
namespace {

Quantities with(Quantities q, const Candidate& c) {
  q.batch_size = static_cast<double>(c.batch);
  q.dp_intra = static_cast<double>(c.dp_intra), q.dp_inter = static_cast<double>(c.dp_inter);
  q.tp_intra = static_cast<double>(c.tp_intra), q.tp_inter = static_cast<double>(c.tp_inter);
  q.pp_intra = static_cast<double>(c.pp_intra), q.pp_inter = static_cast<double>(c.pp_inter);
  return q;
}

std::int64_t rejected(const Search& s) {
  return s.more_stages_than_layers + s.heads_not_shared + s.batch_not_shared + s.too_large;
}

std::size_t position(std::string_view name) {
  return static_cast<std::size_t>(find_quantity(name) - quantity_table().data());
}

TEST(Search, EightAcceleratorsOn512NodesHave550Splits) {
  const Space space{8, 512, 100, 0};
  EXPECT_EQ(splits(space), 550);
  EXPECT_EQ(search(run_of_seven_billion(), nothing(), {}, space).considered, 55000);
}

TEST(Search, ValidCandidatesAreSortedWholeAndPricedAsTheyWouldBeAlone) {
  const Search found = search(run_of_seven_billion(), nothing(), {}, {8, 8, 512, 0});
  ASSERT_FALSE(found.valid.empty());
  EXPECT_EQ(static_cast<std::int64_t>(found.valid.size()) + rejected(found), found.considered);
  for (std::size_t i = 0; i < found.valid.size(); ++i) {
    const Candidate& c = found.valid[i];
    if (i > 0) {
      EXPECT_GE(c.total_s, found.valid[i - 1].total_s);
    }
    EXPECT_EQ(c.dp_intra * c.tp_intra * c.pp_intra, 8);
    EXPECT_EQ(c.dp_inter * c.tp_inter * c.pp_inter, 8);
    EXPECT_EQ(36 % (c.pp_intra * c.pp_inter), 0);
  }
  const Candidate& best = found.valid.front();
  EXPECT_EQ(times(with(run_of_seven_billion(), best), {}).total_s, best.total_s);
}

// One by one, with the rules as the header has them.
TEST(Search, EveryBatchSizeIsTried) {
  const Space space{4, 6, 40, 7};
  Quantities base = run_of_seven_billion();
  base.microbatches = 3;
  std::vector<bool> keep = nothing();
  keep[position("number_of_microbatches_per_minibatch")] = true;
  const Search found = search(base, keep, {}, space);
  std::set<std::tuple<base::Count, base::Count, base::Count, base::Count, base::Count, base::Count, base::Count>> valid;
  for (const Candidate& c : found.valid)
    valid.emplace(c.batch, c.dp_intra, c.tp_intra, c.pp_intra, c.dp_inter, c.tp_inter, c.pp_inter);
  EXPECT_EQ(valid.size(), found.valid.size());
  std::size_t expected = 0;
  for (base::Count batch = 1; batch <= 40; ++batch)
    for (base::Count a = 1; a <= 4; ++a)
      for (base::Count b = 1; a * b <= 4; ++b)
        for (base::Count c = 1; c <= 6; ++c)
          for (base::Count d = 1; c * d <= 6; ++d) {
            if (4 % (a * b) != 0 || 6 % (c * d) != 0) continue;
            const Candidate candidate{batch, a, b, 4 / a / b, c, d, 6 / c / d};
            const base::Count dp = a * c, tp = b * d, pp = candidate.pp_intra * candidate.pp_inter;
            if (36 % pp != 0 || 32 % tp != 0 || batch % (dp * 3) != 0) continue;
            Quantities q = with(base, candidate);
            calculate(q, keep, {});
            if (q.memory_gb > 7) continue;
            ++expected;
            EXPECT_TRUE(valid.contains({batch, a, b, candidate.pp_intra, c, d, candidate.pp_inter}));
          }
  EXPECT_EQ(found.valid.size(), expected);
  EXPECT_GT(expected, 0u);
  EXPECT_GT(found.too_large, 0);
}

TEST(Search, EffortIsWhatItEvaluates) {
  const Space space{8, 12, 300, 0};
  const Search found = search(run_of_seven_billion(), nothing(), {}, space);
  const Effort effort = amped::effort(run_of_seven_billion(), nothing(), {}, space);
  EXPECT_EQ(effort.splits, splits(space));
  EXPECT_EQ(effort.evaluations, static_cast<std::int64_t>(found.valid.size()));
}

TEST(Search, WhatFollowsFromDegreesIsCalculatedThoughItWasGiven) {
  Quantities base = run_of_seven_billion();
  base.dp = 8, base.minibatch = 64, base.nodes = 64;
  std::vector<bool> keep = nothing();
  for (const char* name : {"data_parallel_degree", "minibatch_size", "number_of_nodes"}) keep[position(name)] = true;
  const Space space{8, 8, 64, 0};
  const Search given = search(base, keep, {}, space);
  const Search open = search(run_of_seven_billion(), nothing(), {}, space);
  EXPECT_EQ(given.recalculated, (std::vector<std::string_view>{"minibatch_size", "data_parallel_degree"}));
  EXPECT_TRUE(open.recalculated.empty());
  ASSERT_EQ(given.valid.size(), open.valid.size());
  EXPECT_EQ(given.valid.front().total_s, open.valid.front().total_s);
}

TEST(Search, TheBestAreOfDifferentSplitsEachAtItsBestBatchSize) {
  const Search found = search(run_of_seven_billion(), nothing(), {}, {8, 8, 128, 0});
  const std::vector<Candidate> best = best_candidates(found, 5);
  ASSERT_EQ(best.size(), 5u);
  EXPECT_EQ(best.front().total_s, found.valid.front().total_s);
  for (const Candidate& b : best)
    for (const Candidate& c : found.valid) {
      const bool same = std::tuple(b.dp_intra, b.tp_intra, b.pp_intra, b.dp_inter, b.tp_inter, b.pp_inter) ==
                        std::tuple(c.dp_intra, c.tp_intra, c.pp_intra, c.dp_inter, c.tp_inter, c.pp_inter);
      if (same) {
        EXPECT_LE(b.total_s, c.total_s);
      }
    }
  EXPECT_EQ(best_candidates(found, 1000000).size(),
            static_cast<std::size_t>(std::count_if(found.valid.begin(), found.valid.end(),
                                                   [](const Candidate& c) { return c.batch == 64; })));
}

TEST(Search, LessMemoryNeverAllowsMore) {
  Space space{8, 8, 512, 0};
  std::size_t before = search(run_of_seven_billion(), nothing(), {}, space).valid.size();
  for (const double memory : {1000.0, 20.0, 5.0, 0.001}) {
    space.memory_gb = memory;
    const std::size_t now = search(run_of_seven_billion(), nothing(), {}, space).valid.size();
    EXPECT_LE(now, before);
    before = now;
  }
  EXPECT_EQ(before, 0u);
}

}  // namespace
}  // namespace orrery::amped
