#include "orrery/engines/accelerator/units/score_unit.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

constexpr int kScoreBits = RTL_SCORE_BITS, kCodeBits = RTL_CODE_BITS, kShifts = 60;

// Codes' sums as codes can have them: each of `depth` codes is at most 2^CODE_BITS - 1.
class RescaleBench : public DutUnit {
 public:
  RescaleBench()
      : DutUnit({{"depth", RTL_DEPTH_BITS},
                 {"row_sum", RTL_CODE_SUM_BITS},
                 {"key_sum", RTL_CODE_SUM_BITS},
                 {"sum", RTL_SUM_BITS},
                 {"query_factor", 16},
                 {"key_factor", 16},
                 {"shift", 6}}) {
    accelerator::Instance instance;
    instance.numbers.score = {kScoreBits, 10};
    for (int shift = 1; shift <= kShifts; ++shift) {
      accelerator::PredictionConstants constants;
      constants.score_shift = shift;
      models_.emplace_back(instance, constants);
    }
  }

  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[4] >>= random() % 16, cycle[5] >>= random() % 16;
    return cycle;
  }
  void reset() override {}
  std::string step(const Cycle& cycle) override {
    const std::uint64_t most = (1U << kCodeBits) - 1,
                        depth = cycle[0] % (std::uint64_t{1} << (RTL_SUM_BITS - 2 * kCodeBits));
    const std::uint64_t row = cycle[1] % (depth * most + 1), key = cycle[2] % (depth * most + 1),
                        sum = cycle[3] % (depth * most * most + 1), shift = 1 + cycle[6] % kShifts;
    drive(dut().depth, depth, RTL_DEPTH_BITS);
    drive(dut().row_sum, row, RTL_CODE_SUM_BITS);
    drive(dut().key_sum, key, RTL_CODE_SUM_BITS);
    drive(dut().sum, sum, RTL_SUM_BITS);
    drive(dut().query_factor, cycle[4], 16);
    drive(dut().key_factor, cycle[5], 16);
    drive(dut().shift, shift, 6);
    dut().eval();
    base::Count saturated = 0;
    const std::int64_t z = models_[static_cast<std::size_t>(shift - 1)].rescaled(
        accelerator::signed_sum(static_cast<std::int64_t>(sum), static_cast<std::int64_t>(row),
                          static_cast<std::int64_t>(key), static_cast<base::Count>(depth), kCodeBits),
        cycle[4], cycle[5], saturated);
    const std::string what = differs("z", 0, pins(dut().z, kScoreBits), low(z, kScoreBits));
    return what.empty() ? differs("saturated", 0, dut().saturated, static_cast<std::uint64_t>(saturated)) : what;
  }

 private:
  std::vector<accelerator::ScoreUnit> models_;  // of each shift
};

TEST(ScoreRescale, IsTheModel) {
  RescaleBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
