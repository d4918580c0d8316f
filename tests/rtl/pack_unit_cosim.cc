#include <gtest/gtest.h>

#include "orrery/engines/accelerator/units/pack_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"
#include "tests/rtl/goldens.h"

namespace orrery::rtl {
namespace {

constexpr int kHeight = RTL_HEIGHT, kMaskBits = RTL_MASK_BITS;
using Command = accelerator::PackUnit::Command;

class PackBench : public ClockedUnit {
 public:
  PackBench() : ClockedUnit({{"reset"}, {"command", 2}, {"column", 1, kHeight}}), column_(kHeight), model_(shape()) {}

  void begin_episode(Random& random) override { density_ = random() % 64; }
  Cycle draw(Random& random) override {
    Cycle cycle = {random() % 200 == 0, random() % 16 == 0 ? random() % 2 : 2};
    const bool empty = random() % 8 == 0;
    for (int i = 0; i < kHeight; ++i) cycle.push_back(!empty && random() % 64 < density_ ? 1 : 0);
    return cycle;
  }

  bool full(const std::vector<std::uint64_t>& column) {
    apply(reading(column));
    dut().eval();
    return dut().full != 0;
  }
  void read(const std::vector<std::uint64_t>& column) { EXPECT_EQ(step(reading(column)), ""); }
  bool write() { return dut().write != 0; }
  std::uint64_t mask(int row) { return pins(dut().mask, kMaskBits, row); }

 private:
  static Cycle reading(const std::vector<std::uint64_t>& column) {
    Cycle cycle = {0, 2};
    cycle.insert(cycle.end(), column.begin(), column.end());
    return cycle;
  }
  static accelerator::PackShape shape() { return {kHeight, RTL_PES, RTL_NUMBER_BITS, RTL_NONE}; }
  static Command command(const Cycle& cycle) {
    return cycle[1] == 1 ? Command::kClear : cycle[1] == 2 ? Command::kRead : Command::kIdle;
  }

  bool apply(const Cycle& cycle) override {
    drive(dut().command, cycle[1], 2);
    for (int i = 0; i < kHeight; ++i) {
      column_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(cycle[static_cast<std::size_t>(2 + i)]);
      drive(dut().column, column_[static_cast<std::size_t>(i)], 1, i);
    }
    return cycle[0] != 0;
  }
  void reset_model() override { model_ = accelerator::PackUnit(shape()); }
  void step_model(const Cycle& cycle) override { model_.step(command(cycle), column_); }
  std::string before_edge(const Cycle&) override {
    return differs("full", 0, dut().full, model_.full(column_) ? 1 : 0);
  }
  std::string after_edge(const Cycle&) override {
    std::string what = differs("write", 0, dut().write, model_.write() ? 1 : 0);
    for (int i = 0; i < kHeight && what.empty(); ++i)
      what = differs("mask", static_cast<std::size_t>(i), mask(i), model_.mask()[static_cast<std::size_t>(i)]);
    return what;
  }

  std::uint64_t density_ = 16;
  std::vector<std::uint8_t> column_;
  accelerator::PackUnit model_;
};

TEST(PackUnit, IsTheModelInEveryCycle) {
  PackBench bench;
  expect_equal(bench);
}

TEST(PackUnit, PacksTheRecordedColumns) {
  SKIP_WITHOUT_GOLDENS();
  const Json all = golden("pack.json");
  std::size_t closed = 0;
  for (const Json& one : of(all, "cases").items) {
    PackBench bench;
    bench.reset();
    for (const Json& cycle : of(one, "trace").items) {
      std::vector<std::uint64_t> column;
      for (const Json& bit : of(cycle, "binaries").items) column.push_back(static_cast<std::uint64_t>(bit.number));
      const bool full = bench.full(column);
      EXPECT_EQ(full, of(cycle, "emit_before_edge").number != 0);
      closed += full ? 1 : 0;
      bench.read(column);
      EXPECT_EQ(bench.write(), of(cycle, "maskWrite").number != 0);
      if (!bench.write()) continue;
      for (int i = 0; i < kHeight; ++i)
        EXPECT_EQ(bench.mask(i), static_cast<std::uint64_t>(at(of(cycle, "mask"), static_cast<std::size_t>(i))));
    }
    if (one.find("final_emit_all_ones") == nullptr) continue;
    EXPECT_EQ(bench.full(std::vector<std::uint64_t>(kHeight, 1)), of(one, "final_emit_all_ones").number != 0);
  }
  EXPECT_EQ(closed, 13U);
}

// The published test: each row keeps 4 of 8 columns, so that none is full before a column of ones is.
TEST(PackUnit, NumbersColumnsAndClosesABlockAsThePublishedTestAsks) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    PackBench bench;
    bench.reset();
    std::vector<std::vector<std::uint64_t>> columns(8, std::vector<std::uint64_t>(kHeight));
    for (std::size_t i = 0; i < kHeight; ++i) {
      std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t k = 0; k < RTL_PES; ++k) columns[order[k]][i] = 1;
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      EXPECT_FALSE(bench.full(columns[c]));
      bench.read(columns[c]);
      const bool any = std::count(columns[c].begin(), columns[c].end(), 1U) > 0;
      EXPECT_EQ(bench.write(), any);
      for (int i = 0; any && i < kHeight; ++i)
        EXPECT_EQ(bench.mask(i), columns[c][static_cast<std::size_t>(i)] != 0 ? c : RTL_NONE);
    }
    EXPECT_TRUE(bench.full(std::vector<std::uint64_t>(kHeight, 1)));
  }
}

}  // namespace
}  // namespace orrery::rtl
