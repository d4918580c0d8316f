// The model is an array of one row, whose key registers are the row's input.
#include "tests/rtl/sparse_array_bench.h"

namespace orrery::rtl {
namespace {

constexpr int kPes = RTL_PES;

class RowBench : public SparseStimulus {
 public:
  RowBench() : SparseStimulus({{kBits, RTL_POINT}, kPes, kPorts, 1}) {}

 private:
  bool apply(const Cycle& cycle) override {
    decode(cycle);
    drive(dut().c3, c3(cycle), 2);
    drive(dut().c5, c5(cycle), 3);
    drive(dut().clear, cycle[kClear], 1);
    drive_words();
    drive(dut().left, low(left_[0], kBits), kBits);
    for (int m = 0; m < kPorts; ++m) drive(dut().keys, low(keys_[static_cast<std::size_t>(m)], kBits), kBits, m);
    return cycle[kReset] != 0;
  }
  void reset_model() override {
    SparseStimulus::reset_model();
    keys_.assign(kPorts, 0);
  }
  void step_model(const Cycle& cycle) override {
    SparseStimulus::step_model(cycle);
    keys_ = top_;
    if (cycle[kClear] != 0) keys_.assign(kPorts, 0);
  }
  std::string before_edge(const Cycle& cycle) override {
    return static_cast<Sums>(c3(cycle)) == Sums::kChain
               ? differs("o", 0, pins(dut().o, kBits), low(model_.output(0, words_), kBits))
               : std::string();
  }
  std::string after_edge(const Cycle&) override {
    std::string what = differs("sum", 0, pins(dut().sum, kBits), low(model_.sum(0), kBits));
    if (what.empty()) what = differs("maximum", 0, pins(dut().maximum, kBits), low(model_.maximum(0), kBits));
    for (int j = 0; j < kPes && what.empty(); ++j) {
      const auto index = static_cast<std::size_t>(j);
      what = differs("accumulators", index, pins(dut().accumulators, kBits, j), low(model_.accumulator(0, j), kBits));
      if (what.empty())
        what = differs("exponentials", index, pins(dut().exponentials, kBits, j), low(model_.exponential(0, j), kBits));
    }
    return what;
  }

  std::vector<std::int64_t> keys_;
};

TEST(PeRow, IsTheModelInEveryCycle) {
  RowBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
