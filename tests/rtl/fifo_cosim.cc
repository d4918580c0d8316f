#include <deque>

#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

class FifoBench : public ClockedUnit {
 public:
  FifoBench() : ClockedUnit({{"reset"}, {"valid"}, {"ready"}, {"data", RTL_BITS}}) {}

  void begin_episode(Random& random) override { in_ = random() % 8, out_ = random() % 8; }
  Cycle draw(Random& random) override {
    return {random() % 200 == 0, random() % 8 <= in_, random() % 8 <= out_, random() >> (64 - RTL_BITS)};
  }

 private:
  bool apply(const Cycle& cycle) override {
    drive(dut().in_valid, cycle[1], 1);
    drive(dut().out_ready, cycle[2], 1);
    drive(dut().in_data, cycle[3], RTL_BITS);
    return cycle[0] != 0;
  }
  void reset_model() override { words_.clear(); }
  void step_model(const Cycle& cycle) override {
    const bool takes = cycle[1] != 0 && words_.size() < RTL_DEPTH;
    if (cycle[2] != 0 && !words_.empty()) words_.pop_front();
    if (takes) words_.push_back(cycle[3]);
  }
  std::string shown() {
    std::string what = differs("in_ready", 0, dut().in_ready, words_.size() < RTL_DEPTH ? 1 : 0);
    if (what.empty()) what = differs("out_valid", 0, dut().out_valid, words_.empty() ? 0 : 1);
    if (what.empty()) what = differs("count", 0, dut().count, words_.size());
    if (what.empty() && !words_.empty()) what = differs("out_data", 0, dut().out_data, words_.front());
    return what;
  }
  std::string before_edge(const Cycle&) override { return shown(); }
  std::string after_edge(const Cycle&) override { return shown(); }

  std::uint64_t in_ = 4, out_ = 4;
  std::deque<std::uint64_t> words_;
};

TEST(Fifo, IsAQueueInEveryCycleUnderBackPressure) {
  FifoBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
