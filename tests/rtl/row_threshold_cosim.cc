#include "orrery/engines/accelerator/units/score_unit.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS, kScoreBits = RTL_SCORE_BITS;

class ThresholdBench : public DutUnit {
 public:
  ThresholdBench() : DutUnit({{"minus_log2_threshold", 23}, {"most", kScoreBits}, {"sum", kBits - 1}}) {
    for (std::int64_t t = 0; t < 64; ++t) {
      accelerator::PredictionConstants constants;
      constants.threshold = -(t * t * t) * 32 - t;
      models_.emplace_back(accelerator::Instance{}, constants);
      thresholds_.push_back(constants.threshold);
    }
  }

  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[2] >>= random() % (kBits - 1);
    return cycle;
  }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    const std::size_t which = cycle[0] % models_.size();
    drive(dut().log2_threshold, low(thresholds_[which], 24), 24);
    drive(dut().most, cycle[1], kScoreBits);
    drive(dut().sum, cycle[2], kBits);
    dut().eval();
    const std::int64_t t =
        models_[which].threshold({sign_extended(cycle[1], kScoreBits), static_cast<std::int64_t>(cycle[2])});
    return differs("t", 0, pins(dut().t, kScoreBits + 8), low(t, kScoreBits + 8));
  }

 private:
  std::vector<accelerator::ScoreUnit> models_;
  std::vector<std::int64_t> thresholds_;
};

TEST(RowThreshold, IsTheModel) {
  ThresholdBench bench;
  // Constant: zeros inside log2_unit, and nets of what is not used.
  expect_equal(bench, 1, R"(place\[5\]|moved\[(.|1[0-5])\]|unused)");
}

}  // namespace
}  // namespace orrery::rtl
