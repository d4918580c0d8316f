#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kScoreBits = RTL_SCORE_BITS, kThresholdBits = RTL_SCORE_BITS + 8;

class KeepBench : public DutUnit {
 public:
  KeepBench() : DutUnit({{"score", kScoreBits, kRows}, {"threshold", kThresholdBits, kRows}, {"valid", 1, kRows}}) {}

  // Thresholds near their scores, or any.
  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    for (std::size_t r = 0; r < kRows; ++r)
      if (random() % 2 == 0)
        cycle[kRows + r] =
            low(sign_extended(cycle[r], kScoreBits) + static_cast<std::int64_t>(random() % 3) - 1, kThresholdBits);
    return cycle;
  }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    std::uint64_t expected = 0;
    for (int r = 0; r < kRows; ++r) {
      const auto at = static_cast<std::size_t>(r);
      drive(dut().scores, cycle[at], kScoreBits, r);
      drive(dut().thresholds, cycle[kRows + at], kThresholdBits, r);
      drive(dut().valid, cycle[2 * kRows + at], 1, r);
      if (cycle[2 * kRows + at] != 0 &&
          sign_extended(cycle[at], kScoreBits) > sign_extended(cycle[kRows + at], kThresholdBits))
        expected |= std::uint64_t{1} << at;
    }
    dut().eval();
    return differs("column", 0, pins(dut().column, kRows), expected);
  }
};

TEST(KeepColumn, KeepsScoresAboveTheirRowsThreshold) {
  KeepBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
