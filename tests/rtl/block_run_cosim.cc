// Packed blocks that a number in the stimulus draws; outputs as they leave, maxima and sums at the end.
#include "orrery/engines/accelerator/units/block_run.h"
#include "orrery/engines/accelerator/units/mask_decoder.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kBits = RTL_BITS, kPortBits = RTL_PORT_BITS;
constexpr int kDepthBits = RTL_DEPTH_BITS, kDepth = 1 << (RTL_DEPTH_BITS - 1);

accelerator::Instance instance() {
  accelerator::Instance one;
  one.array = {kRows, kPes, kPorts};
  one.depth = kDepth;
  one.numbers.sum = {kBits, RTL_POINT};
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  return one;
}

class BlockBench : public ClockedUnit {
 public:
  BlockBench()
      : ClockedUnit({{"reset"}, {"start"}, {"block", 24}}), model_(std::make_unique<accelerator::BlockRun>(instance_)) {}

  Cycle draw(Random& random) override { return {random() % 700 == 0, random() % 4 != 0, random() >> 40}; }

 private:
  void prepare(std::uint64_t seed) {
    Random random(seed);
    block_ = {};
    block_.depth = 1 + static_cast<base::Count>(random() % kDepth);
    block_.query_point = RTL_POINT - static_cast<int>(random() % 4);
    // Every row has some of its PEs' entries; ports beyond the columns have none.
    accelerator::MaskDecoder decoder({kRows, kPes, kPorts});
    std::vector<std::vector<std::uint8_t>> bits(kPorts, std::vector<std::uint8_t>(kRows));
    std::vector<std::uint32_t> counts(kRows);
    const std::size_t columns = 1 + random() % kPorts;
    for (std::size_t m = 0; m < columns; ++m)
      for (std::size_t r = 0; r < kRows; ++r)
        if (counts[r] < kPes && random() % 2 == 0) bits[m][r] = 1, ++counts[r];
    decoder.begin(counts);
    for (const auto& port : bits) decoder.step(port.data());
    block_.scores = decoder.scores(), block_.values = decoder.values();
    const int wide = random() % 4 == 0 ? 16 : 12;
    const auto fill = [&](std::vector<std::int32_t>& x, int tokens) {
      for (base::Count i = 0; i < tokens * block_.depth; ++i)
        x.push_back(static_cast<std::int32_t>(sign_extended(random() >> (64 - wide), wide)));
    };
    fill(block_.queries, kRows), fill(block_.keys, kPorts), fill(block_.value_rows, kPorts);
    block_.query_numbers.assign(kRows, 0);
  }

  // Element `element` of a row's query or a port's key or value, aligned; beyond the depth anything.
  void serve() {
    const auto element = static_cast<base::Count>(dut().element);
    const auto number = [&](const std::vector<std::int32_t>& from, int token, int point) {
      if (element >= block_.depth) return std::uint64_t{99};
      return low(std::int64_t{from[static_cast<std::size_t>(token * block_.depth + element)]} << (RTL_POINT - point),
                 kBits);
    };
    for (int r = 0; r < kRows; ++r) drive(dut().left, number(block_.queries, r, block_.query_point), kBits, r);
    const bool values = dut().values != 0;
    const int point = values ? instance_.numbers.value.point : instance_.numbers.key.point;
    for (int m = 0; m < kPorts; ++m)
      drive(dut().top, number(values ? block_.value_rows : block_.keys, m, point), kBits, m);
  }
  bool apply(const Cycle& cycle) override {
    starts_ = !model_->busy() && cycle[1] != 0 && cycle[0] == 0;
    if (starts_) {
      prepare(cycle[2]);
      for (int i = 0; i < kRows * kPes; ++i) {
        const auto at = static_cast<std::size_t>(i);
        drive(dut().ports, block_.values.b[at], kPortBits, i);
        drive(dut().delays, block_.values.delay[at], kPortBits, i);
        drive(dut().busy_pes, block_.values.a[at] == kPorts ? 1 : 0, 1, i);
      }
    }
    drive(dut().start, starts_ ? 1 : 0, 1);
    drive(dut().depth, static_cast<std::uint64_t>(block_.depth), kDepthBits);
    dut().clk = 0;
    dut().eval();
    if (block_.depth > 0) serve();
    return cycle[0] != 0;
  }
  void reset_model() override {
    model_ = std::make_unique<accelerator::BlockRun>(instance_);
    was_busy_ = false;
  }
  void step_model(const Cycle&) override {
    if (starts_) {
      model_->begin(block_, outputs_);
      taken_.assign(outputs_.elements.size(), -1);
    } else if (model_->busy()) {
      model_->step();
    }
  }
  std::string before_edge(const Cycle&) override {
    last_ = dut().last != 0;
    if (!model_->busy()) return dut().out_valid == 0 ? "" : "an output without a block";
    for (int r = 0; r < kRows; ++r) {
      if (pins(dut().out_valid, 1, r) == 0) continue;
      const auto at =
          static_cast<std::size_t>(r * block_.depth) + static_cast<std::size_t>(pins(dut().out_element, kDepthBits, r));
      if (at >= taken_.size()) return "an output beyond the depth";
      taken_[at] = sign_extended(pins(dut().o, kBits, r), kBits);
    }
    return {};
  }
  std::string after_edge(const Cycle& cycle) override {
    std::string what = differs("busy", 0, dut().busy, model_->busy() ? 1 : 0);
    const bool ended = was_busy_ && !starts_ && cycle[0] == 0 && !model_->busy();
    if (what.empty() && was_busy_ && !starts_ && cycle[0] == 0)
      what = differs("last", 0, last_ ? 1 : 0, model_->busy() ? 0 : 1);
    was_busy_ = model_->busy();
    if (!ended || !what.empty()) return what;
    for (int r = 0; r < kRows && what.empty(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      what = differs("maxima", at, pins(dut().maxima, kBits, r), low(outputs_.most[at], kBits));
      if (what.empty()) what = differs("sums", at, pins(dut().sums, kBits, r), low(outputs_.sum[at], kBits));
    }
    for (std::size_t i = 0; i < taken_.size() && what.empty(); ++i)
      what = differs("elements", i, low(taken_[i], kBits), low(outputs_.elements[i], kBits));
    return what;
  }
  int machine_state() override { return dut().rootp->block_run__DOT__state; }

  const accelerator::Instance instance_ = instance();
  std::unique_ptr<accelerator::BlockRun> model_;
  accelerator::BlockOperands block_;
  accelerator::BlockOutputs outputs_;
  std::vector<std::int64_t> taken_;
  bool starts_ = false, last_ = false, was_busy_ = false;
};

TEST(BlockRun, GivesTheModelsOutputsInTheModelsCycles) {
  BlockBench bench;
  expect_equal(bench);
  enum { kIdle, kClear, kScores, kMost, kBelow, kValues, kDrain };
  expect_transitions(bench, {{kIdle, kClear},
                             {kClear, kScores},
                             {kScores, kMost},
                             {kMost, kBelow},
                             {kBelow, kValues},
                             {kValues, kDrain},
                             {kDrain, kIdle}});
}

}  // namespace
}  // namespace orrery::rtl
