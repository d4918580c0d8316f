// The published modules of Sanger's accelerator, register by register.
#include <gtest/gtest.h>

#include <filesystem>

#include <source_dir.h>

#include "orrery/base/text/text_file.h"
#include "orrery/engines/accelerator/units/pack_unit.h"
#include "orrery/engines/accelerator/units/prediction_array.h"
#include "orrery/engines/accelerator/units/sparse_array.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;

const std::string kArrayGoldens = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/hw/";

#define SKIP_WITHOUT_GOLDENS() \
  if (!std::filesystem::exists(kArrayGoldens)) GTEST_SKIP() << "the reference figures are not at hand"

Node json_of(const char* file) {
  return formats::json::parse(base::read_file(kArrayGoldens + file), "O1814");
}
const Node& of(const Node& node, const char* key) {
  return node.find(key)->value;
}
std::int64_t whole(const Node& node) {
  return static_cast<std::int64_t>(node.number);
}
std::int64_t at(const Node& node, std::size_t i, std::size_t j) {
  return whole(node.items[i].items[j]);
}

TEST(ArrayGoldens, ExponentialsAreTheUnitsToTheLastBit) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = json_of("exp_unit.json");
  std::size_t compared = 0;
  for (const auto& [key, format] :
       {std::pair{"20_8", accelerator::FixedPoint{20, 8}}, {"32_16", accelerator::FixedPoint{32, 16}}}) {
    const Node& one = of(all, key);
    const accelerator::ExpUnit unit(format);
    const std::int64_t pattern = (std::int64_t{1} << format.bits) - 1;
    for (std::size_t i = 0; i < unit.table().size(); ++i)
      EXPECT_EQ(unit.table()[i], whole(of(one, "lut").items[i])) << i;
    const Node &x = of(one, "x"), &y = of(one, "y");
    for (std::size_t i = 0; i < x.items.size(); ++i, ++compared)
      ASSERT_EQ(unit(whole(x.items[i])) & pattern, whole(y.items[i]) & pattern) << key << " of " << whole(x.items[i]);
    for (const Node& pair : of(one, "negative_inputs").items)
      EXPECT_EQ(unit(whole(pair.items[0])) & pattern, whole(pair.items[1]) & pattern) << key;
  }
  EXPECT_EQ(compared, 3800U);
}

TEST(ArrayGoldens, PredictedScoresAndTheirSumsAreTheArrays) {
  SKIP_WITHOUT_GOLDENS();
  const Node all = json_of("dense_pe_array.json");
  const accelerator::PredictionShape shape;
  const auto n = static_cast<std::size_t>(shape.width);
  for (const Node& one : of(all, "cases").items) {
    accelerator::PredictionArray unit(shape);
    using Pe = accelerator::PredictionArray::Pe;
    using Sum = accelerator::PredictionArray::Sum;
    std::vector<std::uint8_t> left(n), top(n);
    unit.step(Pe::kClear, Sum::kClear, left, top);
    for (std::size_t t = 0; t < 3 * n; ++t) {
      for (std::size_t j = 0; j < n; ++j) {
        const bool there = t >= j && t - j < n;
        left[j] = there ? static_cast<std::uint8_t>(at(of(one, "Q"), j, t - j)) : std::uint8_t{0};
        top[j] = there ? static_cast<std::uint8_t>(at(of(one, "K"), t - j, j)) : std::uint8_t{0};
      }
      unit.step(Pe::kCalculate, Sum::kIdle, left, top);
    }
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c)
        EXPECT_EQ(unit.score(static_cast<int>(r), static_cast<int>(c)), at(of(one, "S_int"), r, c));
    unit.step(Pe::kMove, Sum::kIdle, left, top);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t r = 0; r < n; ++r)
        EXPECT_EQ(unit.exponential(static_cast<int>(r)), at(of(one, "exp_out_raw_by_move_cycle"), t, r));
      unit.step(Pe::kMove, Sum::kAdd, left, top);
    }
    for (std::size_t r = 0; r < n; ++r)
      EXPECT_EQ(unit.sum(static_cast<int>(r)), whole(of(one, "exp_sum_raw").items[r]));
  }
}

TEST(ArrayGoldens, ColumnsArePackedAndBlocksClosedAsThePackUnitDoes) {
  SKIP_WITHOUT_GOLDENS();
  std::size_t closed = 0;
  const Node all = json_of("pack.json");
  for (const Node& one : of(all, "cases").items) {
    accelerator::PackUnit unit({8, 4, 3, 8});
    std::vector<std::uint8_t> column(8);
    unit.step(accelerator::PackUnit::Command::kClear, column);
    for (const Node& cycle : of(one, "trace").items) {
      for (std::size_t i = 0; i < 8; ++i) column[i] = of(cycle, "binaries").items[i].number != 0;
      EXPECT_EQ(unit.full(column), of(cycle, "emit_before_edge").number != 0);
      closed += unit.full(column) ? 1 : 0;
      unit.step(accelerator::PackUnit::Command::kRead, column);
      EXPECT_EQ(unit.write(), of(cycle, "maskWrite").number != 0);
      if (!unit.write()) continue;
      for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(unit.mask()[i], whole(of(cycle, "mask").items[i]));
    }
    if (one.find("final_emit_all_ones") == nullptr) continue;
    std::fill(column.begin(), column.end(), std::uint8_t{1});
    EXPECT_EQ(unit.full(column), of(one, "final_emit_all_ones").number != 0);
  }
  EXPECT_EQ(closed, 13U);
}

TEST(ArrayGoldens, ScoresExponentialsOutputsAndSumsAreTheSparseArrays) {
  SKIP_WITHOUT_GOLDENS();
  using Sums = accelerator::SparseArray::Sums;
  using Exp = accelerator::SparseArray::Exponentials;
  const accelerator::SparseShape shape{{32, 16}, 4, 8, 8};
  constexpr std::size_t n = 8, pes = 4, cycles = 24;
  constexpr std::int64_t kSixteenth = 1 << 12;
  const Node all = json_of("sparse_pe_array.json");
  for (const Node& one : of(all, "cases").items) {
    accelerator::SparseArray unit(shape);
    accelerator::SparseArray::Words scores{std::vector<std::uint16_t>(n * pes), {}, {}};
    scores.b = scores.delay = scores.a;
    accelerator::SparseArray::Words values = scores;
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t j = 0; j < pes; ++j) {
        scores.a[r * pes + j] = scores.b[r * pes + j] = static_cast<std::uint16_t>(at(of(one, "select"), r, j));
        values.a[r * pes + j] = n, values.b[r * pes + j] = scores.b[r * pes + j];
        values.delay[r * pes + j] = static_cast<std::uint16_t>(at(of(one, "c4"), r, j));
      }
    std::vector<std::int64_t> left(n), top(n);
    unit.step(Sums::kClear, Exp::kIdle, true, scores, nullptr, nullptr);
    for (std::size_t t = 0; t < cycles; ++t) {
      for (std::size_t i = 0; i < n; ++i) {
        const bool there = t >= i && t - i < n;
        left[i] = there ? at(of(one, "Q16"), i, t - i) * kSixteenth : 0;
        top[i] = there ? at(of(one, "K16"), t - i, i) * kSixteenth : 0;
      }
      unit.step(Sums::kOwn, Exp::kIdle, false, scores, left.data(), top.data());
    }
    unit.step(Sums::kIdle, Exp::kIdle, false, scores, nullptr, nullptr);
    for (int t = 0; t < 2; ++t) unit.step(Sums::kIdle, Exp::kTake, false, scores, nullptr, nullptr);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t j = 0; j < pes; ++j) {
        EXPECT_EQ(unit.accumulator(static_cast<int>(r), static_cast<int>(j)), at(of(one, "score_acc_raw"), r, j));
        EXPECT_EQ(unit.exponential(static_cast<int>(r), static_cast<int>(j)), at(of(one, "score_exp_raw"), r, j));
      }
    for (std::size_t t = 0; t < cycles; ++t) {
      for (std::size_t m = 0; m < n; ++m) top[m] = t >= m && t - m < n ? at(of(one, "V16"), m, t - m) * kSixteenth : 0;
      unit.step(Sums::kChain, Exp::kIdle, false, values, nullptr, top.data());
      for (std::size_t r = 0; r < n; ++r) {
        const std::int64_t out = unit.output(static_cast<int>(r), values);
        EXPECT_EQ(out, at(of(one, "out_raw_per_stage2_cycle"), t, r)) << "cycle " << t << ", row " << r;
        if (t >= r + n && t - r - n < n) {
          EXPECT_EQ(out, at(of(one, "O_raw"), r, t - r - n));
        }
      }
    }
    for (std::size_t t = 0; t <= pes; ++t) unit.step(Sums::kIdle, Exp::kMove, false, values, nullptr, nullptr);
    for (std::size_t r = 0; r < n; ++r)
      EXPECT_EQ(unit.sum(static_cast<int>(r)), whole(of(one, "score_sum_raw").items[r]));
  }
}

}  // namespace
}  // namespace orrery::verbs
