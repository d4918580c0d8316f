#include "orrery/engines/accelerator/units/exp_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/goldens.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS;

class ExpBench : public DutUnit {
 public:
  ExpBench() : DutUnit({{"x", kBits}}), model_({kBits, RTL_POINT}, RTL_TABLE_BITS, RTL_APPEND) {}

  Cycle draw(Random& random) override { return {random() >> (64 - 1 - random() % kBits)}; }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    drive(dut().x, cycle[0], kBits);
    dut().eval();
    return differs("y", 0, dut().y, low(model_(static_cast<std::int64_t>(cycle[0])), kBits));
  }

  std::uint64_t y(std::int64_t x) {
    drive(dut().x, low(x, kBits), kBits);
    dut().eval();
    return dut().y;
  }

 private:
  accelerator::ExpUnit model_;
};

TEST(ExpUnit, IsTheModelForRandomNumbers) {
  ExpBench bench;
  // Zeros: what is appended to x, and what is above the fraction and its carry.
  expect_equal(bench, 1, R"(wide\[[0-3]\]|part\[(1[2-9]|2.)\]|sum\[(1[3-9]|2.)\])");
}

TEST(ExpUnit, IsTheModelForEveryNumberWhoseExponentialFits) {
  ExpBench bench;
  const accelerator::FixedPoint format{kBits, RTL_POINT};
  const double most = accelerator::ExpUnit(format, RTL_TABLE_BITS, RTL_APPEND).most();
  for (std::int64_t x = 0; format.real(x) <= most + 1; ++x) {
    const std::string what = bench.step({static_cast<std::uint64_t>(x)});
    ASSERT_TRUE(what.empty()) << x << ": " << what;
  }
}

TEST(ExpUnit, IsTheRecordedUnitToTheLastBit) {
  SKIP_WITHOUT_GOLDENS();
  ExpBench bench;
  const Json all = golden("exp_unit.json");
  const Json& one = of(all, "20_8");
  for (std::size_t i = 0; i < of(one, "x").items.size(); ++i)
    ASSERT_EQ(bench.y(at(of(one, "x"), i)), low(at(of(one, "y"), i), kBits)) << i;
  for (const Json& pair : of(one, "negative_inputs").items) EXPECT_EQ(bench.y(at(pair, 0)), low(at(pair, 1), kBits));
}

}  // namespace
}  // namespace orrery::rtl
