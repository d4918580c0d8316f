#include "orrery/engines/accelerator/units/log2_unit.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

class LogBench : public DutUnit {
 public:
  LogBench() : DutUnit({{"x", RTL_BITS}}), model_(RTL_POINT) {}

  Cycle draw(Random& random) override { return {random() >> (64 - 1 - random() % RTL_BITS)}; }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    drive(dut().x, cycle[0], RTL_BITS);
    dut().eval();
    return differs("y", 0, dut().y, low(model_(cycle[0]), 24));
  }

 private:
  accelerator::Log2Unit model_;
};

TEST(Log2Unit, IsTheModel) {
  LogBench bench;
  // Zeros: what is appended to x, the sign of a place, and the net of what is not used.
  expect_equal(bench, 1, R"(place\[5\]|moved\[(.|1[0-5])\]|unused)");
  for (std::uint64_t x = 0; x < 300000; ++x) ASSERT_EQ(bench.step({x}), "") << x;
}

}  // namespace
}  // namespace orrery::rtl
