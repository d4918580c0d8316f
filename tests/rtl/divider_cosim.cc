#include "orrery/engines/accelerator/units/divider.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

// The dividend is quotient * divisor + rest, so that the quotient fits.
class DividerBench : public ClockedUnit {
 public:
  DividerBench()
      : ClockedUnit(
            {{"reset"}, {"valid"}, {"quotient", RTL_BITS}, {"divisor", RTL_DIVISOR_BITS}, {"rest", RTL_DIVISOR_BITS}}),
        model_(RTL_BITS) {}

  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[0] = random() % 200 == 0;
    cycle[2] >>= random() % RTL_BITS, cycle[3] >>= random() % (RTL_DIVISOR_BITS + 1);
    return cycle;
  }

 private:
  std::uint64_t dividend(const Cycle& cycle) const {
    const std::uint64_t most = (std::uint64_t{1} << RTL_DIVIDEND_BITS) - 1;
    if (cycle[3] == 0) return cycle[4] & most;
    return std::min(cycle[2] * cycle[3] + cycle[4] % cycle[3], most);
  }
  bool apply(const Cycle& cycle) override {
    drive(dut().in_valid, cycle[1], 1);
    drive(dut().dividend, dividend(cycle), RTL_DIVIDEND_BITS);
    drive(dut().divisor, cycle[3], RTL_DIVISOR_BITS);
    return cycle[0] != 0;
  }
  void reset_model() override { model_ = accelerator::Divider(RTL_BITS), result_ = {}; }
  void step_model(const Cycle& cycle) override { result_ = model_.step(cycle[1] != 0, dividend(cycle), cycle[3]); }
  std::string after_edge(const Cycle&) override {
    const std::string what = differs("out_valid", 0, dut().out_valid, result_.there ? 1 : 0);
    return what.empty() && result_.there ? differs("quotient", 0, dut().quotient, result_.value) : what;
  }

  accelerator::Divider model_;
  accelerator::Divider::Result result_;
};

TEST(Divider, IsTheModelInEveryCycle) {
  DividerBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
