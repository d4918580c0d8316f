#include "orrery/engines/accelerator/units/divider.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

class RootBench : public ClockedUnit {
 public:
  RootBench() : ClockedUnit({{"reset"}, {"valid"}, {"x", 2 * RTL_BITS}}), model_(RTL_BITS) {}

  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[0] = random() % 200 == 0;
    cycle[2] >>= random() % (2 * RTL_BITS);
    return cycle;
  }

 private:
  bool apply(const Cycle& cycle) override {
    drive(dut().in_valid, cycle[1], 1);
    drive(dut().x, cycle[2], 2 * RTL_BITS);
    return cycle[0] != 0;
  }
  void reset_model() override { model_ = accelerator::SquareRoot(RTL_BITS), result_ = {}; }
  void step_model(const Cycle& cycle) override { result_ = model_.step(cycle[1] != 0, cycle[2]); }
  std::string after_edge(const Cycle&) override {
    const std::string what = differs("out_valid", 0, dut().out_valid, result_.there ? 1 : 0);
    return what.empty() && result_.there ? differs("root", 0, dut().root, result_.value) : what;
  }

  accelerator::SquareRoot model_;
  accelerator::Divider::Result result_;
};

TEST(SquareRoot, IsTheModelInEveryCycle) {
  RootBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
