// Jobs that a number in the stimulus draws: constants and rows; every code in its cycle.
#include "orrery/engines/accelerator/units/quantiser_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS, kLanes = RTL_LANES, kCodeBits = RTL_CODE_BITS, kDepth = 14, kRows = 9;

accelerator::Instance instance() {
  accelerator::Instance one;
  one.depth = kDepth, one.code_bits = kCodeBits, one.quantiser_lanes = kLanes;
  one.numbers.query = one.numbers.key = {kBits, RTL_POINT};
  return one;
}

class QuantiserBench : public ClockedUnit {
 public:
  QuantiserBench() : ClockedUnit({{"reset"}, {"start"}, {"job", 24}}), model_(constants_, kLanes) {
    EXPECT_EQ(accelerator::widths(instance_).norm, RTL_NORM_BITS);
  }

  Cycle draw(Random& random) override { return {random() % 500 == 0, random() % 4 != 0, random() >> 40}; }

 private:
  void prepare(std::uint64_t seed) {
    Random random(seed);
    const auto depth = static_cast<base::Count>(1 + random() % kDepth);
    const bool normalise = random() % 4 != 0;
    const double clip = static_cast<double>(1 + random() % 100) / (normalise ? 100 : 10);
    base::Diagnostics found;
    const auto drawn =
        accelerator::prediction_constants(instance_, {1, 8, 8, depth, 0.125, true}, normalise, clip, clip, 0.01, found);
    if (!found.has_errors()) constants_ = drawn.query;
    count_ = static_cast<base::Count>(random() % (kRows + 1)), depth_ = depth;
    x_.assign(static_cast<std::size_t>(count_ * depth), 0);
    const auto shift = static_cast<int>(random() % kBits);
    for (auto& one : x_) one = static_cast<std::int32_t>(sign_extended(random() >> (64 - kBits), kBits) >> shift);
    if (count_ > 1 && random() % 2 == 0) std::fill_n(x_.begin(), depth, 0);
  }
  template <class Port>
  void read(Port& port, std::uint64_t row, std::uint64_t chunk) {
    for (int i = 0; i < kLanes; ++i) {
      const base::Count at = static_cast<base::Count>(chunk) * kLanes + i;
      const bool there = static_cast<base::Count>(row) < count_ && at < depth_;
      drive(port, low(there ? x_[static_cast<std::size_t>(static_cast<base::Count>(row) * depth_ + at)] : 99, kBits),
            kBits, i);
    }
  }

  bool apply(const Cycle& cycle) override {
    starts_ = !model_.busy() && cycle[1] != 0 && cycle[0] == 0;
    if (starts_) prepare(cycle[2]);
    drive(dut().start, starts_ ? 1 : 0, 1);
    drive(dut().count, static_cast<std::uint64_t>(count_), RTL_ROW_BITS);
    drive(dut().depth, static_cast<std::uint64_t>(depth_), RTL_DEPTH_BITS);
    dut().normalise = constants_.normalise ? 1 : 0;
    drive(dut().reciprocal, constants_.reciprocal, 16);
    drive(dut().shift, static_cast<std::uint64_t>(constants_.shift), 6);
    drive(dut().factor_scale, constants_.factor, 16);
    drive(dut().factor_shift, static_cast<std::uint64_t>(constants_.factor_shift), 6);
    dut().clk = 0;
    dut().eval();
    read(dut().squares_in, dut().squares_row, dut().squares_chunk);
    read(dut().code_in, dut().code_row, dut().code_chunk);
    return cycle[0] != 0;
  }
  void reset_model() override {
    was_busy_ = false;
    model_ = accelerator::QuantiserUnit(constants_, kLanes), clipped_ = 0;
  }
  void step_model(const Cycle&) override {
    if (starts_) {
      model_ = accelerator::QuantiserUnit(constants_, kLanes);
      model_.begin(x_.data(), count_, depth_);
      clipped_ = 0;
    } else if (model_.busy()) {
      model_.step();
    }
  }
  std::string before_edge(const Cycle&) override {
    last_ = dut().last != 0;
    there_ = dut().codes_valid != 0;
    row_ = dut().code_row, chunk_ = dut().code_chunk, factor_ = dut().factor;
    clipped_ += dut().clipped;
    for (int i = 0; i < kLanes; ++i) codes_[static_cast<std::size_t>(i)] = pins(dut().codes, kCodeBits, i);
    return {};
  }
  std::string after_edge(const Cycle& cycle) override {
    std::string what = differs("busy", 0, dut().busy, model_.busy() ? 1 : 0);
    // What was said to be the last cycle was it.
    if (what.empty() && !starts_ && was_busy_ && cycle[0] == 0)
      what = differs("last", 0, last_ ? 1 : 0, model_.busy() ? 0 : 1);
    was_busy_ = model_.busy();
    const bool leaves = there_;
    there_ = false;
    if (what.empty())
      what = differs("clipped", 0, static_cast<std::uint64_t>(clipped_), static_cast<std::uint64_t>(model_.clipped()));
    if (!leaves || !what.empty()) return what;
    if (static_cast<base::Count>(row_) >= count_) return "codes of a row that there is not";
    if (chunk_ == 0) what = differs("factor", row_, factor_, model_.factors()[row_]);
    for (int i = 0; i < kLanes && what.empty(); ++i) {
      const base::Count at = static_cast<base::Count>(chunk_) * kLanes + i;
      if (at >= depth_) break;
      const std::size_t index = row_ * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(at);
      what = differs("codes", index, codes_[static_cast<std::size_t>(i)], low(model_.codes()[index], kCodeBits));
    }
    return what;
  }

  const accelerator::Instance instance_ = instance();
  accelerator::QuantiserConstants constants_ = [] {
    base::Diagnostics found;
    return accelerator::prediction_constants(instance(), {1, 8, 8, kDepth, 0.125, true}, true, 0.5, 0.5, 0.01, found).query;
  }();
  accelerator::QuantiserUnit model_;
  std::vector<std::int32_t> x_;
  base::Count count_ = 0, depth_ = 1, clipped_ = 0;
  bool starts_ = false, last_ = false, was_busy_ = false, there_ = false;
  std::size_t row_ = 0, chunk_ = 0;
  std::uint64_t factor_ = 0;
  std::vector<std::uint64_t> codes_ = std::vector<std::uint64_t>(kLanes);
};

TEST(Quantiser, GivesTheModelsCodesAndFactorsInTheModelsCycles) {
  QuantiserBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
