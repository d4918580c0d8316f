#include "orrery/engines/masks/packing/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "orrery/engines/masks/packing/array_area.h"
#include "orrery/engines/masks/packing/array_run.h"
#include "orrery/engines/masks/packing/packing_orrery.h"
#include "orrery/engines/masks/packing/packing_random.h"

namespace orrery::masks {
namespace {

// Queries of different density, keys of different popularity.
Mask random_mask(std::uint64_t seed, Count heads, Count rows, Count columns, double density) {
  PackRandom random(seed);
  Mask mask({1, heads, rows, columns});
  std::vector<double> popular(static_cast<std::size_t>(columns));
  for (Count h = 0; h < heads; ++h) {
    for (double& p : popular) p = 2 * density * random.unit();
    for (Count r = 0; r < rows; ++r) {
      const double busy = 2 * random.unit();
      for (Count c = 0; c < columns; ++c)
        if (random.unit() < busy * popular[static_cast<std::size_t>(c)]) mask.keep(0, h, r, c);
    }
  }
  return mask;
}

Mask permuted_queries(const Mask& mask, std::uint64_t seed) {
  PackRandom random(seed);
  std::vector<Count> order(static_cast<std::size_t>(mask.rows()));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  Mask out(mask.shape());
  for (Count h = 0; h < mask.heads(); ++h)
    for (Count r = 0; r < mask.rows(); ++r)
      mask.for_each_kept(0, h, order[static_cast<std::size_t>(r)], [&](Count c) { out.keep(0, h, r, c); });
  return out;
}

const base::Budget kNoLimit;
constexpr PackEffort kQuick{.swaps = 20, .rounds = 8, .threads = 1};

struct Sample {
  Mask mask;
  PackArray array;
};

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const PackArray arrays[] = {{64, 16, 64}, {4, 2, 4}, {8, 4, 16}, {3, 1, 2}, {16, 8, 128}, {5, 3, 7}};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    PackRandom random(seed + 100);
    const auto size = [&](std::uint32_t most) { return static_cast<Count>(1 + random.below(most)); };
    out.push_back({random_mask(seed, size(3), size(90), size(140), 0.02 + 0.4 * random.unit()),
                   arrays[seed % std::size(arrays)]});
  }
  out.push_back({Mask({1, 2, 70, 80}), {}});  // nothing kept
  Mask full({1, 1, 70, 130});
  for (Count r = 0; r < 70; ++r)
    for (Count c = 0; c < 130; ++c) full.keep(0, 0, r, c);
  out.push_back({full, {}});
  return out;
}

TEST(Packing, ComputesEachKeptEntryOnceAndFitsTheArray) {
  for (const Sample& s : samples()) {
    EXPECT_EQ(packing_fault(s.mask, pack_as_sanger(s.mask, s.array)), std::nullopt);
    EXPECT_EQ(packing_fault(s.mask, pack_compacted(s.mask, s.array)), std::nullopt);
    EXPECT_EQ(packing_fault(s.mask, pack_orrery(s.mask, s.array, kNoLimit, kQuick)), std::nullopt);
  }
}

TEST(Packing, FaultsAreNoticed) {
  Mask mask({1, 1, 2, 4});
  for (Count c = 0; c < 3; ++c) mask.keep(0, 0, 0, c);
  const PackArray array{2, 2, 2};
  const PackedBlock first{0, {0, 1}, {{0, {0, 1}}}}, second{0, {2}, {{0, {0}}}};
  EXPECT_EQ(packing_fault(mask, {array, {first, second}}), std::nullopt);
  EXPECT_TRUE(packing_fault(mask, {array, {first}}));                                // an entry is missing
  EXPECT_TRUE(packing_fault(mask, {array, {first, second, second}}));                // one is computed twice
  EXPECT_TRUE(packing_fault(mask, {array, {{0, {0, 1, 2}, {{0, {0, 1, 2}}}}}}));     // too many keys and entries
  EXPECT_TRUE(packing_fault(mask, {array, {first, {0, {3}, {{0, {0}}}}, second}}));  // not kept
}

TEST(Packing, OrreryNeverHasMoreBlocksThanASchemeThatFits) {
  for (const Sample& s : samples()) {
    const std::vector<PackedScheme> schemes = pack_all(s.mask, s.array, kNoLimit, kQuick);
    const PackedScheme& ours = schemes.back();
    ASSERT_EQ(ours.name, "orrery");
    for (const PackedScheme& scheme : schemes) {
      EXPECT_LE(scheme.utilization, scheme.bound + 1e-12) << scheme.name;
      if (scheme.on_array) {
        EXPECT_LE(ours.blocks, scheme.blocks) << scheme.name;
        EXPECT_GE(*ours.on_array, *scheme.on_array) << scheme.name;
      }
    }
  }
}

TEST(Packing, SchemesThatTheArrayCannotComputeAreMarked) {
  const std::vector<PackedScheme> schemes = pack_all(random_mask(5, 1, 130, 130, 0.1), {}, kNoLimit, kQuick);
  std::map<std::string, bool> fits;
  for (const PackedScheme& scheme : schemes) fits[scheme.name] = scheme.fits;
  const std::map<std::string, bool> expected = {{"pack", true},       {"pack_nowin", false}, {"compact64", false},
                                                {"compact16", false}, {"row_chunks", false}, {"orrery", true}};
  EXPECT_EQ(fits, expected);
}

TEST(Packing, DoesNotDependOnTheOrderOfQueries) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Mask mask = random_mask(seed, 2, 100, 120, 0.15);
    const auto blocks = [&](const Mask& of) { return pack_orrery(of, {16, 4, 16}, kNoLimit, kQuick).blocks.size(); };
    EXPECT_EQ(blocks(mask), blocks(permuted_queries(mask, seed + 1)));
  }
}

TEST(Packing, DoesNotDependOnThreads) {
  const Mask mask = random_mask(9, 5, 100, 120, 0.15);
  PackEffort many = kQuick;
  many.threads = 4;
  EXPECT_EQ(pack_orrery(mask, {}, kNoLimit, kQuick), pack_orrery(mask, {}, kNoLimit, many));
}

TEST(Packing, MoreEffortFindsNoMoreBlocks) {
  const Mask mask = random_mask(11, 2, 200, 200, 0.12);
  const auto blocks = [&](Count rounds) {
    return pack_orrery(mask, {}, kNoLimit, {.swaps = 50, .rounds = rounds, .threads = 1}).blocks.size();
  };
  EXPECT_LE(blocks(30), blocks(3));
  EXPECT_LT(blocks(30), pack_as_sanger(mask, {}).blocks.size());
}

TEST(Packing, AnInterruptedSearchStillPacksEverything) {
  const Mask mask = random_mask(12, 3, 128, 128, 0.2);
  std::atomic<bool> stop = true;
  base::Limits limits;
  limits.stop = &stop;
  EXPECT_EQ(packing_fault(mask, pack_orrery(mask, {}, base::Budget(limits), kQuick)), std::nullopt);
  limits.stop = nullptr;
  limits.seconds = 1e-4;
  EXPECT_EQ(packing_fault(mask, pack_orrery(mask, {}, base::Budget(limits), kQuick)), std::nullopt);
}

// The fewest blocks, by trying every way to deal entries to blocks.
class Exhaustive {
 public:
  Exhaustive(const PackProblem& problem) : array_(problem.array) {
    for (std::size_t r = 0; r < problem.rows.size(); ++r)
      for (const std::int32_t c : problem.rows[r]) entries_.emplace_back(static_cast<std::int32_t>(r), c);
    best_ = entries_.size();
    deal(0);
  }
  std::size_t best() const { return best_; }

 private:
  using Entries = std::vector<std::pair<std::int32_t, std::int32_t>>;
  bool fits(const Entries& block) const {
    std::map<std::int32_t, Count> of_row, of_column;
    for (const auto& [r, c] : block) ++of_row[r], ++of_column[c];
    Count pe_rows = 0;
    for (const auto& [r, n] : of_row) pe_rows += base::ceil_divide(n, array_.pes);
    return pe_rows <= array_.rows && static_cast<Count>(of_column.size()) <= array_.ports;
  }
  void deal(std::size_t next) {
    if (blocks_.size() >= best_) return;
    if (next == entries_.size()) {
      best_ = blocks_.size();
      return;
    }
    for (std::size_t b = 0; b <= blocks_.size(); ++b) {
      if (b == blocks_.size()) blocks_.emplace_back();
      blocks_[b].push_back(entries_[next]);
      const bool opened = blocks_[b].size() == 1;
      if (fits(blocks_[b])) deal(next + 1);
      blocks_[b].pop_back();
      if (opened) {
        blocks_.pop_back();
        break;
      }
    }
  }

  PackArray array_;
  Entries entries_;
  std::vector<Entries> blocks_;
  std::size_t best_ = 0;
};

TEST(Packing, OnTinyMasksTheBoundHoldsAndAtMostOneBlockIsLost) {
  int optimal = 0, problems = 0, tight = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const PackArray array = seed % 2 == 0 ? PackArray{2, 2, 3} : PackArray{3, 1, 2};
    const Mask mask = random_mask(seed, 1, 5, 6, 0.3);
    const PackProblem problem = pack_problem(mask, array, 0);
    if (problem.entries() == 0 || problem.entries() > 10) continue;
    const std::size_t best = Exhaustive(problem).best();
    const std::size_t ours = pack_orrery(mask, array, kNoLimit, {}).blocks.size();
    EXPECT_LE(static_cast<std::size_t>(fewest_blocks(problem)), best) << seed;
    EXPECT_GE(ours, best) << seed;
    EXPECT_LE(ours, best + 1) << seed;
    ++problems;
    optimal += ours == best;
    tight += static_cast<std::size_t>(fewest_blocks(problem)) == best;
  }
  EXPECT_GT(problems, 60);
  EXPECT_GT(optimal * 10, problems * 9);  // nine in ten
  EXPECT_GT(tight * 2, problems);
}

TEST(ControlWords, EveryPeOfARowHasAPortOfItsOwnAndDelaysAddUpToTheRest) {
  for (const Sample& s : samples())
    for (const PackedBlock& block : pack_orrery(s.mask, s.array, kNoLimit, kQuick).blocks) {
      const BlockWords words = control_words(block, s.array);
      for (Count r = 0; r < s.array.rows; ++r) {
        Count delays = 0;
        for (Count j = 0; j < s.array.pes; ++j) {
          const PeWords& pe = words.pes[static_cast<std::size_t>(r * s.array.pes + j)];
          EXPECT_TRUE(pe.score_a == pe.score_b || pe.score_a == zero_operand(s.array));
          EXPECT_EQ(pe.score_b, pe.value_b);
          EXPECT_GE(pe.delay, 0);
          delays += pe.delay;
        }
        EXPECT_EQ(words.pes[static_cast<std::size_t>((r + 1) * s.array.pes - 1)].value_b + 1 +
                      words.pes[static_cast<std::size_t>((r + 1) * s.array.pes - 1)].delay,
                  s.array.ports);
        EXPECT_LE(delays, s.array.ports - s.array.pes);
      }
    }
}

TEST(ControlWords, BusyPesAreTheKeptEntries) {
  for (const Sample& s : samples()) {
    Count busy = 0;
    for (const PackedBlock& block : pack_orrery(s.mask, s.array, kNoLimit, kQuick).blocks)
      busy += busy_pes(control_words(block, s.array), s.array);
    EXPECT_EQ(busy, s.mask.kept());
  }
}

TEST(ControlWords, ThePublishedArrayTakesTwentyBitsAPe) {
  EXPECT_EQ(control_bits({}).c1, 7);
  EXPECT_EQ(control_bits({}).c2, 7);
  EXPECT_EQ(control_bits({}).c4, 6);
  EXPECT_EQ(array_design({}).control_bits, 20480);
}

TEST(ArrayArea, GrowsWithEachOfItsSizes) {
  const double published = array_design({}).area();
  EXPECT_GT(array_design({128, 16, 64}).area(), 1.9 * published);
  EXPECT_GT(array_design({64, 16, 128}).area(), published);
  EXPECT_GT(array_design({64, 16, 128}).multiplexers, 1.9 * array_design({}).multiplexers);
  EXPECT_EQ(array_design({64, 16, 128}).arithmetic, array_design({}).arithmetic);
}

// Attention over kept entries, without any array.
TEST(ArrayRun, APackedMaskComputesItsAttention) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Count heads = 2, queries = 20, keys = 30, size = 5;
    const Mask mask = random_mask(seed, heads, queries, keys, 0.2);
    PackRandom random(seed + 50);
    const auto numbers = [&](Count count) {
      std::vector<double> out(static_cast<std::size_t>(count));
      for (double& x : out) x = 2 * random.unit() - 1;
      return out;
    };
    const std::vector<double> q = numbers(heads * queries * size), k = numbers(heads * keys * size),
                              v = numbers(heads * keys * size);
    const ArrayOperands operands{q.data(), k.data(), v.data(), queries, keys, size, 0.7};
    const PackArray arrays[] = {{8, 4, 8}, {4, 2, 16}, {64, 16, 64}, {3, 3, 3}};
    const PackArray array = arrays[seed % std::size(arrays)];
    for (const Packing& packing :
         {pack_as_sanger(mask, array), pack_compacted(mask, array), pack_orrery(mask, array, kNoLimit, kQuick)}) {
      const ArrayOutputs out = run_on_array(packing, heads, operands);
      for (Count h = 0; h < heads; ++h)
        for (Count r = 0; r < queries; ++r) {
          std::vector<double> expected(static_cast<std::size_t>(size));
          double sum = 0;
          mask.for_each_kept(0, h, r, [&](Count c) {
            double score = 0;
            for (Count i = 0; i < size; ++i)
              score += q[static_cast<std::size_t>((h * queries + r) * size + i)] *
                       k[static_cast<std::size_t>((h * keys + c) * size + i)];
            const double weight = std::exp(0.7 * score);
            sum += weight;
            for (Count i = 0; i < size; ++i)
              expected[static_cast<std::size_t>(i)] += weight * v[static_cast<std::size_t>((h * keys + c) * size + i)];
          });
          const auto query = static_cast<std::size_t>(h * queries + r);
          EXPECT_NEAR(out.sums[query], sum, 1e-12 * (1 + sum));
          for (Count i = 0; i < size; ++i)
            EXPECT_NEAR(out.weighted[query * static_cast<std::size_t>(size) + static_cast<std::size_t>(i)],
                        expected[static_cast<std::size_t>(i)], 1e-12 * (1 + sum));
        }
    }
  }
}

}  // namespace
}  // namespace orrery::masks
