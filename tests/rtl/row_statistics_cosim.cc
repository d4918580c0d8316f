#include "orrery/engines/accelerator/units/score_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS, kScoreBits = RTL_SCORE_BITS;

accelerator::Instance instance() {
  accelerator::Instance one;
  one.numbers.sum = {kBits, RTL_POINT}, one.numbers.score = {kScoreBits, RTL_SCORE_POINT};
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  return one;
}

class StatisticsBench : public ClockedUnit {
 public:
  StatisticsBench()
      : ClockedUnit({{"reset"}, {"clear"}, {"take"}, {"z", kScoreBits}}), model_(instance(), constants()) {}

  void begin_episode(Random& random) override { spread_ = static_cast<int>(random() % kScoreBits); }
  Cycle draw(Random& random) override {
    const std::int64_t z = sign_extended(random() >> (64 - kScoreBits), kScoreBits) >> spread_;
    return {random() % 200 == 0, random() % 64 == 0, random() % 8 != 0, low(z, kScoreBits)};
  }

 private:
  static accelerator::PredictionConstants constants() {
    accelerator::PredictionConstants one;
    one.score_shift = 10;
    return one;
  }
  bool apply(const Cycle& cycle) override {
    drive(dut().clear, cycle[1], 1);
    drive(dut().take, cycle[2], 1);
    drive(dut().z, cycle[3], kScoreBits);
    return cycle[0] != 0;
  }
  void reset_model() override { row_ = model_.cleared(); }
  void step_model(const Cycle& cycle) override {
    if (cycle[1] != 0)
      row_ = model_.cleared();
    else if (cycle[2] != 0)
      model_.add(row_, sign_extended(cycle[3], kScoreBits));
  }
  std::string after_edge(const Cycle&) override {
    const std::string what = differs("most", 0, pins(dut().most, kScoreBits), low(row_.most, kScoreBits));
    return what.empty() ? differs("sum", 0, pins(dut().sum, kBits), low(row_.sum, kBits)) : what;
  }

  accelerator::ScoreUnit model_;
  accelerator::ScoreUnit::Row row_;
  int spread_ = 0;
};

TEST(RowStatistics, AreTheModelsInEveryCycle) {
  StatisticsBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
