#include "orrery/engines/accelerator/units/signed_exp_unit.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_IN_BITS, kPoint = RTL_POINT;

class ExpBench : public DutUnit {
 public:
  ExpBench() : DutUnit({{"minus_x", kBits - 1}}), model_({32, kPoint}, {RTL_TABLE_BITS, RTL_LONG != 0}) {}

  Cycle draw(Random& random) override { return {random() >> (64 - 1 - random() % (kBits - 1))}; }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    const std::int64_t x = -static_cast<std::int64_t>(cycle[0]);
    drive(dut().x, low(x, kBits), kBits);
    dut().eval();
    return differs("y", 0, dut().y, low(model_(x), kPoint + 1));
  }

 private:
  accelerator::SignedExpUnit model_;
};

TEST(SignedExpUnit, IsTheModelForRandomNumbers) {
  ExpBench bench;
  expect_equal(bench);
}

TEST(SignedExpUnit, IsTheModelForEveryNumberWhoseExponentialIsNotZero) {
  ExpBench bench;
  for (std::uint64_t x = 0; x >> kPoint <= kPoint + 1; ++x) {
    const std::string what = bench.step({x});
    ASSERT_TRUE(what.empty()) << x << ": " << what;
  }
}

}  // namespace
}  // namespace orrery::rtl
