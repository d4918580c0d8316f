// The module is the second PE of a row of two, the model the row.
#include "orrery/engines/accelerator/units/prediction_array.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kSumBits = RTL_SUM_BITS;
using Pe = accelerator::PredictionArray::Pe;

class PeBench : public ClockedUnit {
 public:
  PeBench() : ClockedUnit({{"reset"}, {"command", 2}, {"left", 4}, {"top", 4, 2}}), model_(shape()) {}

  Cycle draw(Random& random) override {
    const std::uint64_t kind = random() % 32;
    return {random() % 200 == 0, kind < 3 ? kind : kind < 6 ? 3 : 2, random() % 16, random() % 16, random() % 16};
  }

 private:
  static accelerator::PredictionShape shape() { return {{20, 8}, 0, kSumBits, 2, 1}; }

  bool apply(const Cycle& cycle) override {
    drive(dut().command, cycle[1], 2);
    dut().left = held_left_;
    drive(dut().top, cycle[4], 4);
    drive(dut().sum_in, model_.score(0, 0), kSumBits);
    return cycle[0] != 0;
  }
  void reset_model() override {
    model_ = accelerator::PredictionArray(shape());
    held_left_ = right_ = bottom_ = 0;
  }
  void step_model(const Cycle& cycle) override {
    const auto command = static_cast<Pe>(cycle[1]);
    model_.step(command, accelerator::PredictionArray::Sum::kIdle, {static_cast<std::uint8_t>(cycle[2])},
                {static_cast<std::uint8_t>(cycle[3]), static_cast<std::uint8_t>(cycle[4])});
    if (command == Pe::kClear) held_left_ = right_ = bottom_ = 0;
    if (command != Pe::kCalculate) return;
    right_ = held_left_;
    held_left_ = static_cast<std::uint8_t>(cycle[2]);
    bottom_ = static_cast<std::uint8_t>(cycle[4]);
  }
  std::string after_edge(const Cycle&) override {
    std::string what = differs("sum", 0, dut().sum, model_.score(0, 1));
    if (what.empty()) what = differs("right", 0, dut().right, right_);
    return what.empty() ? differs("bottom", 0, dut().bottom, bottom_) : what;
  }

  accelerator::PredictionArray model_;
  std::uint8_t held_left_ = 0, right_ = 0, bottom_ = 0;
};

TEST(PredictionPe, IsTheModelInEveryCycle) {
  PeBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
