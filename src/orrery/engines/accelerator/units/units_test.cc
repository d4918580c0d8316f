// The modules that Sanger did not publish, cycle by cycle, against plain arithmetic on random cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "orrery/engines/accelerator/units/log2_unit.h"
#include "orrery/engines/accelerator/units/mask_decoder.h"
#include "orrery/engines/accelerator/units/merger_unit.h"
#include "orrery/engines/accelerator/units/packer_unit.h"
#include "orrery/engines/accelerator/units/quantiser_unit.h"
#include "orrery/engines/masks/packing/control_words.h"

namespace orrery::accelerator {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Count whole(Count least, Count most) { return std::uniform_int_distribution<Count>(least, most)(engine_); }
  double normal() { return normal_(engine_); }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

TEST(SignedExpUnit, IsOneAtZeroAndWithinHalfAPercentOfTheExponentialWithTheLongSum) {
  const FixedPoint format{32, 16};
  for (const bool long_log2 : {true, false}) {
    const SignedExpUnit unit(format, {6, long_log2});
    EXPECT_EQ(unit(0), 1 << 16);
    double worst = 0;
    for (std::int64_t x = 0; x > -6 * (1 << 16); x -= 7) {
      const double exact = std::exp(format.real(x));
      worst = std::max(worst, std::fabs(format.real(unit(x)) - exact) / (exact + std::ldexp(1.0, -9)));
      EXPECT_GE(unit(x), 0);
      EXPECT_LE(unit(x), 1 << 16);
    }
    EXPECT_LT(worst, long_log2 ? 0.009 : 0.03);
    EXPECT_EQ(unit(-20 * (1 << 16)), 0);
    EXPECT_EQ(unit(-(std::int64_t{1} << 40)), 0);
  }
}

TEST(SignedExpUnit, LosesNothingBeforeTheTable) {
  // y = x c exactly: the same as in real numbers, cut to whole and part.
  const FixedPoint format{24, 12};
  Random random(5);
  for (const bool long_log2 : {true, false}) {
    const SignedExpUnit unit(format, {5, long_log2});
    const double c = long_log2 ? 1 + 1.0 / 2 - 1.0 / 16 + 1.0 / 256 + 1.0 / 1024 : 1 + 1.0 / 2 - 1.0 / 16;
    for (int trial = 0; trial < 20000; ++trial) {
      const std::int64_t x = -random.whole(0, 12 << 12);
      const double y = format.real(x) * c, u = std::floor(y), f = y - u;
      const int i = static_cast<int>(f * 32);
      const double entry =
          static_cast<double>(unit.table()[static_cast<std::size_t>(i)]) * std::ldexp(1.0, -12 - unit.append());
      const double exact = std::floor(std::ldexp((f + entry) * std::exp2(u), 12));
      EXPECT_EQ(static_cast<double>(unit(x)), exact) << x;
    }
  }
}

TEST(Log2Unit, IsWithinItsTablesError) {
  const Log2Unit unit(16);
  Random random(6);
  for (int trial = 0; trial < 20000; ++trial) {
    const auto x = static_cast<std::uint64_t>(random.whole(1, Count{1} << random.whole(1, 31)));
    EXPECT_NEAR(std::ldexp(static_cast<double>(unit(x)), -16), std::log2(std::ldexp(static_cast<double>(x), -16)),
                0.0036);
  }
}

TEST(Divider, AndSquareRootAreTheFloorsOfTheirPlainOnesWhateverEntersWhen) {
  Random random(7);
  for (int bits = 1; bits <= 30; ++bits) {
    Divider divider(bits);
    SquareRoot root(bits);
    std::vector<std::pair<bool, std::uint64_t>> quotients, roots;
    for (int cycle = 0; cycle < 400; ++cycle) {
      const bool there = random.whole(0, 2) > 0;
      const auto divisor = static_cast<std::uint64_t>(random.whole(1, Count{1} << random.whole(0, 30)));
      const auto quotient = static_cast<std::uint64_t>(random.whole(0, (Count{1} << bits) - 1));
      const std::uint64_t dividend =
          quotient * divisor + static_cast<std::uint64_t>(random.whole(0, static_cast<Count>(divisor) - 1));
      const auto x = static_cast<std::uint64_t>(random.whole(0, (Count{1} << (2 * bits)) - 1));
      quotients.emplace_back(there, dividend / divisor), roots.emplace_back(there, square_root(x));
      const Divider::Result q = divider.step(there, dividend, divisor), r = root.step(there, x);
      if (cycle < bits - 1) {
        EXPECT_FALSE(q.there || r.there);
        continue;
      }
      const auto at = static_cast<std::size_t>(cycle - bits + 1);
      ASSERT_EQ(q.there, quotients[at].first);
      ASSERT_EQ(r.there, roots[at].first);
      if (!q.there) continue;
      ASSERT_EQ(q.value, quotients[at].second);
      ASSERT_EQ(r.value, roots[at].second);
    }
  }
}

TEST(SquareRoot, AtOnceIsTheLargestWhoseSquareIsNoMore) {
  Random random(8);
  for (int trial = 0; trial < 20000; ++trial) {
    const auto x = static_cast<std::uint64_t>(random.whole(0, Count{1} << random.whole(0, 62)));
    const std::uint64_t root = square_root(x);
    EXPECT_LE(root * root, x);
    EXPECT_GT((root + 1) * (root + 1), x);
  }
}

// Codes and factors of random rows: stage by stage, at once, and in double precision.
TEST(QuantiserUnit, GivesCodesAndFactorsOfTheRowsInTheCyclesThatTheTimingSays) {
  Random random(9);
  for (int trial = 0; trial < 300; ++trial) {
    Instance instance;
    instance.depth = random.whole(1, 80);
    instance.quantiser_lanes = random.whole(1, 40);
    instance.code_bits = static_cast<int>(2 * random.whole(1, 4));
    instance.numbers.query = {static_cast<int>(random.whole(8, 16)), static_cast<int>(random.whole(4, 10))};
    Sizes sizes{1, 8, 8, random.whole(1, instance.depth), 1 / std::sqrt(64.0), true};
    const bool normalise = random.whole(0, 2) > 0;
    base::Diagnostics found;
    const double clip = normalise ? random.whole(10, 100) / 100.0 : random.whole(1, 40) / 10.0;
    const PredictionConstants all = prediction_constants(instance, sizes, normalise, clip, clip, 0.01, found);
    ASSERT_FALSE(found.has_errors());
    const QuantiserConstants& c = all.query;
    const Count rows = random.whole(0, 9);
    std::vector<std::int32_t> x(static_cast<std::size_t>(rows * sizes.depth));
    const Count reach = (Count{1} << (instance.numbers.query.bits - 1)) - 1;
    for (auto& one : x) one = static_cast<std::int32_t>(random.whole(-reach - 1, reach));
    if (rows > 2) std::fill_n(x.begin(), sizes.depth, 0);
    QuantiserUnit unit(c, instance.quantiser_lanes);
    unit.begin(x.data(), rows, sizes.depth);
    Count cycles = 0;
    for (; unit.busy(); ++cycles) unit.step();
    const Timing t = timing(instance, sizes.depth);
    EXPECT_EQ(cycles, rows * t.quantise_row + t.quantise_tail);
    Count clipped = 0;
    for (Count r = 0; r < rows; ++r) {
      std::uint64_t squares = 0;
      for (Count i = 0; i < sizes.depth; ++i) {
        const std::int64_t one = x[static_cast<std::size_t>(r * sizes.depth + i)];
        squares += static_cast<std::uint64_t>(one * one);
      }
      const RowScale scale = row_scale(c, squares);
      const double unit_of = std::ldexp(1.0, instance.numbers.query.point),
                   norm = std::sqrt(static_cast<double>(squares)) / unit_of;
      EXPECT_EQ(unit.factors()[static_cast<std::size_t>(r)], scale.factor);
      const double factor = (normalise ? norm : 1) * clip / c.most * sizes.scale;
      EXPECT_NEAR(std::ldexp(static_cast<double>(scale.factor), -c.factor_point), factor,
                  factor * 2e-2 + std::ldexp(1.0, -c.factor_point));
      for (Count i = 0; i < sizes.depth; ++i) {
        const auto at = static_cast<std::size_t>(r * sizes.depth + i);
        ASSERT_EQ(unit.codes()[at], code_of(c, scale, x[at], clipped));
        if (norm == 0) {
          EXPECT_EQ(unit.codes()[at], 0);
          continue;
        }
        const double exact = x[at] / unit_of / (normalise ? norm : 1) * c.most / clip;
        EXPECT_NEAR(unit.codes()[at], std::clamp<double>(exact, -c.most, c.most),
                    0.5 + 0.05 * std::min<double>(std::fabs(exact), c.most) / 4 + 0.01);
      }
    }
    EXPECT_EQ(unit.clipped(), clipped);
  }
}

masks::Mask random_mask(Random& random, Count rows, Count columns, int percent) {
  masks::Mask mask({1, 1, rows, columns});
  for (Count r = 0; r < rows; ++r)
    for (Count c = 0; c < columns; ++c)
      if (random.whole(0, 99) < percent) mask.keep(0, 0, r, c);
  return mask;
}

TEST(PackerUnit, ClosesTheBlocksThatThePackingCountsInAColumnACycle) {
  Random random(10);
  for (int trial = 0; trial < 400; ++trial) {
    const Count pes = random.whole(1, 5);
    const masks::PackArray array{random.whole(1, 9), pes, pes + random.whole(0, 9)};
    const Count rows = random.whole(1, array.rows), keys = random.whole(0, 60);
    const masks::Mask mask = random_mask(random, rows, keys, static_cast<int>(random.whole(0, 60)));
    const masks::Packing packing = masks::pack_as_sanger(mask, array);
    PackerUnit unit(array);
    std::vector<std::uint8_t> column(static_cast<std::size_t>(array.rows));
    std::size_t closed = 0;
    Count cycles = 0, counted = 0;
    const auto compare = [&] {
      ASSERT_LT(closed, packing.blocks.size());
      const masks::PackedBlock& block = packing.blocks[closed++];
      counted += unit.closed().cycles;
      EXPECT_EQ(unit.closed().keys, block.keys);
      // Words of the decoder are those of the packing.
      const masks::BlockWords words = masks::control_words(block, array);
      MaskDecoder decoder(array);
      decoder.begin(unit.closed().counts);
      for (std::size_t m = 0; decoder.busy(); ++m)
        decoder.step(m < block.keys.size() ? unit.closed().bits.data() + m * column.size() : nullptr);
      std::size_t packed = 0;
      for (std::size_t r = 0; r < column.size(); ++r) {
        const bool used = packed < block.rows.size() && block.rows[packed].query == static_cast<std::int32_t>(r);
        for (std::size_t j = 0; j < static_cast<std::size_t>(array.pes); ++j) {
          const std::size_t pe = r * static_cast<std::size_t>(array.pes) + j;
          // An empty row's words are those of the packing's last rows, which have no query either.
          const std::size_t row = used ? packed : block.rows.size();
          if (row >= words.queries.size()) continue;
          const masks::PeWords& w = words.pes[row * static_cast<std::size_t>(array.pes) + j];
          EXPECT_EQ(decoder.scores().a[pe], w.score_a);
          EXPECT_EQ(decoder.scores().b[pe], w.score_b);
          EXPECT_EQ(decoder.values().a[pe], w.value_a);
          EXPECT_EQ(decoder.values().b[pe], w.value_b);
          EXPECT_EQ(decoder.values().delay[pe], w.delay);
        }
        if (used) ++packed;
      }
    };
    for (Count key = 0; key < keys;) {
      for (Count r = 0; r < rows; ++r) column[static_cast<std::size_t>(r)] = mask.kept(0, 0, r, key) ? 1 : 0;
      ++cycles;
      if (unit.step(static_cast<std::int32_t>(key), column))
        ++key;
      else
        compare();
    }
    ++cycles;
    if (unit.end())
      compare();
    else
      counted += unit.closed().cycles;
    EXPECT_EQ(closed, packing.blocks.size());
    EXPECT_EQ(cycles, keys + std::max<Count>(1, static_cast<Count>(closed)));
    EXPECT_EQ(counted, cycles);
  }
}

// Random blocks, merged unit by unit, against softmax in double precision.
TEST(MergerUnit, GivesTheSoftmaxOverAllBlocksInTheCyclesThatTheTimingSays) {
  Random random(11);
  const FixedPoint sum{32, 16}, output{16, 10};
  for (int trial = 0; trial < 200; ++trial) {
    Instance instance;
    instance.array = {random.whole(1, 6), 2, 4};
    instance.depth = random.whole(1, 20), instance.merge_lanes = random.whole(1, 24);
    instance.numbers.output = output;
    const Count depth = random.whole(1, instance.depth), queries = random.whole(1, 6);
    MergerUnit unit(instance, queries);
    const Timing t = timing(instance, depth);
    std::vector<double> most(static_cast<std::size_t>(queries), -1e9), total(most.size(), 0);
    std::vector<double> exact(static_cast<std::size_t>(queries * depth), 0);
    const int blocks = static_cast<int>(random.whole(0, 5));
    for (int b = 0; b < blocks; ++b) {
      BlockOutputs block;
      for (Count r = 0; r < instance.array.rows; ++r) {
        const auto query = static_cast<std::int32_t>(random.whole(-1, queries - 1));
        const bool any = random.whole(0, 3) > 0;
        block.queries.push_back(query);
        block.most.push_back(any ? random.whole(-3 * 65536, 3 * 65536) : -(Count{1} << 31));
        block.sum.push_back(any ? random.whole(65536, 2 * 65536) : 0);
        const double scale = std::exp(sum.real(block.most.back()));
        for (Count i = 0; i < depth; ++i) {
          block.elements.push_back(any ? random.whole(-2 * 65536, 2 * 65536) : 0);
          if (query >= 0 && any)
            exact[static_cast<std::size_t>(query * depth + i)] += scale * sum.real(block.elements.back());
        }
        if (query >= 0 && any) total[static_cast<std::size_t>(query)] += scale * sum.real(block.sum.back());
      }
      unit.merge(block, depth);
      Count cycles = 0;
      for (; unit.busy(); ++cycles) unit.step();
      EXPECT_EQ(cycles, t.merge);
    }
    for (int again = 0; again < 2; ++again) {  // the second time accumulators are empty
      unit.normalise(queries, depth);
      Count cycles = 0;
      for (; unit.busy(); ++cycles) unit.step();
      EXPECT_EQ(cycles, queries * t.normalise_row + t.normalise_tail);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double one = total[i / static_cast<std::size_t>(depth)];
        const double expected = again == 1 || one == 0 ? 0 : exact[i] / one;
        EXPECT_NEAR(output.real(unit.outputs()[i]), expected, 0.03) << "of " << one;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::accelerator
