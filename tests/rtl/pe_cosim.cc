// The module is the second PE of a row of two, the model the row: what the first one sends is what its accumulator was.
#include <deque>

#include "tests/rtl/sparse_array_bench.h"

namespace orrery::rtl {
namespace {

class PeBench : public SparseStimulus {
 public:
  PeBench() : SparseStimulus({{kBits, RTL_POINT}, kPorts - RTL_CHAIN, kPorts, 1}) {}

 private:
  bool apply(const Cycle& cycle) override {
    decode(cycle);
    drive(dut().c3, c3(cycle), 2);
    drive(dut().c5, c5(cycle), 3);
    drive(dut().maximum, low(model_.maximum(0), kBits), kBits);
    drive(dut().c1, words_.a[1], kPortBits);
    drive(dut().c2, words_.b[1], kPortBits);
    drive(dut().c4, words_.delay[1], kDelayBits);
    for (int m = 0; m < kPorts; ++m) {
      drive(dut().row_in, low(queries_[static_cast<std::size_t>(m)], kBits), kBits, m);
      drive(dut().col_in, low(keys_[static_cast<std::size_t>(m)], kBits), kBits, m);
    }
    const std::size_t delay = words_.delay[0];
    const std::int64_t sent = delay == 0 ? model_.accumulator(0, 0) : ages_[delay - 1];
    drive(dut().o_in, low(sent, kBits), kBits);
    drive(dut().score_in, low(model_.exponential(0, 0), kBits), kBits);
    return cycle[kReset] != 0;
  }
  void reset_model() override {
    SparseStimulus::reset_model();
    queries_.assign(kPorts, 0), keys_.assign(kPorts, 0), ages_.assign(RTL_CHAIN + 1, 0);
  }
  void step_model(const Cycle& cycle) override {
    const auto sums = static_cast<Sums>(c3(cycle));
    if (sums == Sums::kClear) ages_.assign(RTL_CHAIN + 1, 0);
    if (sums == Sums::kChain) ages_.push_front(model_.accumulator(0, 0)), ages_.pop_back();
    SparseStimulus::step_model(cycle);
    if (cycle[kClear] != 0) {
      queries_.assign(kPorts, 0), keys_.assign(kPorts, 0);
    } else {
      queries_.push_front(left_[0]), queries_.pop_back();
      keys_.assign(top_.begin(), top_.end());
    }
  }
  std::string before_edge(const Cycle& cycle) override {
    return static_cast<Sums>(c3(cycle)) == Sums::kChain
               ? differs("o_out", 0, pins(dut().o_out, kBits), low(model_.output(0, words_), kBits))
               : std::string();
  }
  std::string after_edge(const Cycle&) override {
    std::string what = differs("accumulator", 0, pins(dut().accumulator, kBits), low(model_.accumulator(0, 1), kBits));
    return what.empty() ? differs("score_out", 0, pins(dut().score_out, kBits), low(model_.exponential(0, 1), kBits))
                        : what;
  }

  std::deque<std::int64_t> queries_, keys_, ages_;
};

TEST(Pe, IsTheModelInEveryCycle) {
  PeBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
