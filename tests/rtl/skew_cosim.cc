#include <deque>

#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

class SkewBench : public ClockedUnit {
 public:
  SkewBench() : ClockedUnit({{"reset"}, {"in", RTL_BITS}}) {}

  Cycle draw(Random& random) override { return {random() % 50 == 0, random() >> (64 - RTL_BITS)}; }

 private:
  bool apply(const Cycle& cycle) override {
    drive(dut().in, cycle[1], RTL_BITS);
    return cycle[0] != 0;
  }
  void reset_model() override { held_.assign(RTL_DELAY, 0); }
  void step_model(const Cycle& cycle) override { held_.push_back(cycle[1]), held_.pop_front(); }
  std::string after_edge(const Cycle&) override { return differs("out", 0, pins(dut().out, RTL_BITS), held_.front()); }

  std::deque<std::uint64_t> held_;
};

TEST(Skew, GivesWhatCameSoManyCyclesAgo) {
  SkewBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
