// The modules against what they are meant to compute, in real numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/engines/accelerator/units/pack_unit.h"
#include "orrery/engines/accelerator/units/prediction_array.h"
#include "orrery/engines/accelerator/units/sparse_array.h"

namespace orrery::accelerator {
namespace {

TEST(FixedPoint, KeepsLowBitsAndFloorsProducts) {
  const FixedPoint f{8, 4};
  EXPECT_EQ(f.wrapped(127), 127);
  EXPECT_EQ(f.wrapped(128), -128);
  EXPECT_EQ(f.wrapped(-129), 127);
  EXPECT_EQ(f.product(-1, 1), -1) << "-1/256 is floored to -1/16";
  EXPECT_EQ(f.product(24, 24), 36);
}

TEST(ExpUnit, IsWithinThreePercentWhereItsResultFitsAndZeroFarBeyond) {
  for (const FixedPoint format : {FixedPoint{20, 8}, FixedPoint{32, 16}, FixedPoint{24, 12}}) {
    for (const int table_bits : {6, 4}) {
      const ExpUnit unit(format, table_bits);
      const auto end = static_cast<std::int64_t>(std::ldexp(unit.most(), format.point));
      double worst = 0;
      for (std::int64_t x = 0; x < end; x += std::max<std::int64_t>(1, end / 5000)) {
        const double exact = std::exp(format.real(x));
        worst = std::max(worst, std::fabs(format.real(unit(x)) / exact - 1));
      }
      EXPECT_LT(worst, table_bits == 6 ? 0.04 : 0.06);
    }
    EXPECT_EQ(ExpUnit(format)((std::int64_t{1} << (format.bits - 1)) - 1), 0);
  }
}

TEST(ExpUnit, WithoutATableHasTheMiddleOfItsCorrection) {
  const ExpUnit unit({20, 8}, 0);
  EXPECT_EQ(unit.table().size(), 1U);
  EXPECT_NEAR(static_cast<double>(unit.table()[0]) / 4096, (1 + 0.913928) / 2, 1e-3);
}

TEST(PackUnit, NeverPutsMoreEntriesOfARowIntoABlockThanItHasPes) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const int height = 1 + static_cast<int>(random() % 9), pes = 1 + static_cast<int>(random() % 4);
    PackUnit unit({height, pes, 6, 64});
    std::vector<std::uint8_t> column(static_cast<std::size_t>(height));
    unit.step(PackUnit::Command::kClear, column);
    std::vector<int> taken(column.size());
    for (int c = 0; c < 64; ++c) {
      for (auto& bit : column) bit = random() % 3 == 0;
      if (unit.full(column)) {
        unit.step(PackUnit::Command::kRead, column);  // closes the block; the column comes again
        std::fill(taken.begin(), taken.end(), 0);
        EXPECT_FALSE(unit.full(column));
      }
      unit.step(PackUnit::Command::kRead, column);
      for (std::size_t i = 0; i < column.size(); ++i) {
        taken[i] += column[i];
        EXPECT_LE(taken[i], pes);
      }
    }
  }
}

// Scores, outputs and sums of random kept keys, in an array of any size, against double precision.
TEST(SparseArray, AttendsToKeptKeysWithinItsExponentialsError) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  using Sums = SparseArray::Sums;
  using Exp = SparseArray::Exponentials;
  for (int trial = 0; trial < 20; ++trial) {
    const int pes = 1 + static_cast<int>(random() % 5), ports = pes + static_cast<int>(random() % 6);
    const int rows = 1 + static_cast<int>(random() % 7), depth = 1 + static_cast<int>(random() % 9);
    SparseArray unit({{32, 16}, pes, ports, rows});
    const auto value = [&](int i) { return static_cast<std::int64_t>(i) << 12; };  // sixteenths
    std::vector<std::vector<int>> q(static_cast<std::size_t>(rows)), k(static_cast<std::size_t>(ports)), v = k;
    for (auto* all : {&q, &k, &v})
      for (auto& one : *all)
        for (int d = 0; d < depth; ++d) one.push_back(static_cast<int>(uniform(random) * 12));
    // As many ports as PEs for each row, ascending.
    std::vector<std::vector<int>> kept(static_cast<std::size_t>(rows));
    const auto cells = static_cast<std::size_t>(rows * pes);
    SparseArray::Words scores{std::vector<std::uint16_t>(cells), std::vector<std::uint16_t>(cells),
                              std::vector<std::uint16_t>(cells)};
    SparseArray::Words values = scores;
    for (std::size_t r = 0; r < kept.size(); ++r) {
      std::vector<int> all(static_cast<std::size_t>(ports));
      for (int m = 0; m < ports; ++m) all[static_cast<std::size_t>(m)] = m;
      std::shuffle(all.begin(), all.end(), random);
      kept[r].assign(all.begin(), all.begin() + pes);
      std::sort(kept[r].begin(), kept[r].end());
      for (std::size_t j = 0; j < kept[r].size(); ++j) {
        const std::size_t pe = r * kept[r].size() + j;
        const int next = j + 1 < kept[r].size() ? kept[r][j + 1] : ports;
        scores.a[pe] = scores.b[pe] = values.b[pe] = static_cast<std::uint16_t>(kept[r][j]);
        values.a[pe] = static_cast<std::uint16_t>(ports);
        values.delay[pe] = static_cast<std::uint16_t>(next - kept[r][j] - 1);
      }
    }
    std::vector<std::int64_t> left(q.size()), top(k.size());
    const auto there = [&](int t, int i) { return t >= i && t - i < depth; };
    const auto at = [](const std::vector<int>& of, int i) { return of[static_cast<std::size_t>(i)]; };
    unit.step(Sums::kClear, Exp::kIdle, true, scores, nullptr, nullptr);
    for (int t = 0; t < depth + ports + rows; ++t) {
      for (int r = 0; r < rows; ++r)
        left[static_cast<std::size_t>(r)] = there(t, r) ? value(at(q[static_cast<std::size_t>(r)], t - r)) : 0;
      for (int m = 0; m < ports; ++m)
        top[static_cast<std::size_t>(m)] = there(t, m) ? value(at(k[static_cast<std::size_t>(m)], t - m)) : 0;
      unit.step(Sums::kOwn, Exp::kIdle, false, scores, left.data(), top.data());
    }
    unit.step(Sums::kIdle, Exp::kTake, false, scores, nullptr, nullptr);
    std::vector<double> sums(q.size());
    for (std::size_t r = 0; r < q.size(); ++r)
      for (std::size_t j = 0; j < kept[r].size(); ++j) {
        double score = 0;
        for (int d = 0; d < depth; ++d) score += at(q[r], d) * at(k[static_cast<std::size_t>(kept[r][j])], d) / 256.0;
        const FixedPoint format{32, 16};
        EXPECT_EQ(format.real(unit.accumulator(static_cast<int>(r), static_cast<int>(j))), score);
        sums[r] += format.real(unit.exponential(static_cast<int>(r), static_cast<int>(j)));
        EXPECT_NEAR(format.real(unit.exponential(static_cast<int>(r), static_cast<int>(j))) / std::exp(score), 1, 0.04);
      }
    std::vector<std::vector<double>> weights(q.size());
    for (std::size_t r = 0; r < q.size(); ++r)
      for (std::size_t j = 0; j < kept[r].size(); ++j)
        weights[r].push_back(FixedPoint{32, 16}.real(unit.exponential(static_cast<int>(r), static_cast<int>(j))));
    for (int t = 0; t < depth + ports + rows; ++t) {
      for (int m = 0; m < ports; ++m)
        top[static_cast<std::size_t>(m)] = there(t, m) ? value(at(v[static_cast<std::size_t>(m)], t - m)) : 0;
      unit.step(Sums::kChain, Exp::kIdle, false, values, nullptr, top.data());
      for (int r = 0; r < rows; ++r) {
        const int n = t - r - ports;
        if (n < 0 || n >= depth) continue;
        double exact = 0;
        const auto row = static_cast<std::size_t>(r);
        for (std::size_t j = 0; j < kept[row].size(); ++j)
          exact += weights[row][j] * at(v[static_cast<std::size_t>(kept[row][j])], n) / 16.0;
        EXPECT_NEAR((FixedPoint{32, 16}.real(unit.output(r, values))), exact, pes * std::ldexp(1.0, -16));
      }
    }
    for (int t = 0; t < pes; ++t) unit.step(Sums::kIdle, Exp::kMove, false, values, nullptr, nullptr);
    for (int r = 0; r < rows; ++r) EXPECT_EQ((FixedPoint{32, 16}.real(unit.sum(r))), sums[static_cast<std::size_t>(r)]);
  }
}

}  // namespace
}  // namespace orrery::accelerator
