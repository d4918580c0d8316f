// Jobs that a number in the stimulus draws: a block, or the outputs of some queries; every output in its cycle.
#include <bit>

#include "orrery/engines/accelerator/units/merger_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS, kOutBits = RTL_OUT_BITS, kLanes = RTL_LANES, kDepth = RTL_LANES * RTL_CHUNKS;

accelerator::Instance instance() {
  accelerator::Instance one;
  one.array = {RTL_ROWS, 4, 8};
  one.depth = kDepth, one.merge_lanes = kLanes, one.query_rows = RTL_QUERIES;
  one.numbers.sum = {kBits, RTL_POINT}, one.numbers.output = {kOutBits, RTL_OUT_POINT};
  one.numbers.accumulator_bits = RTL_SUM_BITS;
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  return one;
}

class MergerBench : public ClockedUnit {
 public:
  MergerBench() : ClockedUnit({{"reset"}, {"start"}, {"job", 24}}), model_(instance_, RTL_QUERIES) {}

  Cycle draw(Random& random) override { return {random() % 500 == 0, random() % 4 != 0, random() >> 40}; }

 private:
  // Whether there is a block to merge; else outputs leave.
  bool prepare(std::uint64_t seed) {
    Random random(seed);
    if (depth_ == 0) depth_ = 1 + static_cast<base::Count>(random() % kDepth);
    next_queries_ = static_cast<base::Count>(random() % (RTL_QUERIES + 1));
    next_ = {};
    const bool wide = random() % 4 == 0;
    for (int r = 0; r < RTL_ROWS; ++r) {
      const bool any = random() % 4 != 0;
      next_.queries.push_back(static_cast<std::int32_t>(random() % (RTL_QUERIES + 1)) - 1);
      const auto most = static_cast<std::int64_t>(random() % (8U << RTL_POINT)) - (4 << RTL_POINT);
      next_.most.push_back(any ? (wide ? most * 1000 : most) : -(std::int64_t{1} << (kBits - 1)));
      next_.sum.push_back(any ? static_cast<std::int64_t>((1U << RTL_POINT) + random() % (4U << RTL_POINT)) : 0);
      for (base::Count i = 0; i < depth_; ++i)
        next_.elements.push_back(any ? sign_extended(random() >> (wide ? 37 : 44), wide ? 27 : 20) : 0);
    }
    return random() % 4 != 0;
  }

  // A job may start while nothing is done, and in another one's last cycle.
  bool apply(const Cycle& cycle) override {
    drive(dut().start_merge, 0, 1);
    drive(dut().start_normalise, 0, 1);
    drive(dut().queries, static_cast<std::uint64_t>(queries_), RTL_QUERY_BITS);
    drive(dut().depth, static_cast<std::uint64_t>(depth_), RTL_DEPTH_BITS);
    drive(dut().chunks, static_cast<std::uint64_t>(base::ceil_divide(depth_, base::Count{kLanes})), RTL_CHUNK_BITS);
    dut().clk = 0;
    dut().eval();
    serve();
    const bool idle = !model_.busy();
    const bool starts = (idle || dut().last != 0) && cycle[1] != 0 && cycle[0] == 0;
    merges_ = starts && prepare(cycle[2]), normalises_ = starts && !merges_;
    drive(dut().start_merge, merges_ ? 1 : 0, 1);
    drive(dut().start_normalise, normalises_ ? 1 : 0, 1);
    return cycle[0] != 0;
  }
  // Its reads of the output buffer.
  void serve() {
    const auto weigh = static_cast<std::size_t>(dut().weigh_row), row = static_cast<std::size_t>(dut().row);
    if (weigh < block_.queries.size()) {
      drive(dut().query_valid, block_.queries[weigh] >= 0 ? 1 : 0, 1);
      drive(dut().query, low(std::max(0, block_.queries[weigh]), RTL_QUERY_BITS), RTL_QUERY_BITS);
      drive(dut().most, low(block_.most[weigh], kBits), kBits);
      drive(dut().sum, low(block_.sum[weigh], kBits), kBits);
    }
    for (int i = 0; i < kLanes; ++i) {
      const auto at = static_cast<base::Count>(dut().chunk) * kLanes + i;
      const bool there = row < block_.queries.size() && at < depth_;
      const std::int64_t element =
          there ? block_.elements[row * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(at)] : 12345;
      drive(dut().elements, low(element, kBits), kBits, i);
    }
  }
  void reset_model() override {
    was_busy_ = ended_ = false;
    model_ = accelerator::MergerUnit(instance_, RTL_QUERIES);
    saturated_ = depth_ = 0;
  }
  void step_model(const Cycle&) override {
    was_busy_ = model_.busy();
    if (was_busy_) model_.step();
    ended_ = was_busy_ && !model_.busy();
    if (there_) outputs_ = model_.outputs();
    if (merges_ || normalises_) block_ = next_, queries_ = next_queries_;
    if (merges_) model_.merge(block_, depth_);
    if (normalises_) model_.normalise(queries_, depth_);
  }
  std::string before_edge(const Cycle&) override {
    last_ = dut().last != 0;
    there_ = dut().out_valid != 0;
    saturated_ += dut().saturated;
    out_query_ = static_cast<std::size_t>(dut().out_query), out_chunk_ = static_cast<base::Count>(dut().out_chunk);
    for (int i = 0; i < kLanes; ++i) out_[static_cast<std::size_t>(i)] = pins(dut().out, kOutBits, i);
    return {};
  }
  std::string after_edge(const Cycle& cycle) override {
    std::string what = differs("busy", 0, dut().busy, model_.busy() ? 1 : 0);
    // What was said to be the last cycle was it.
    if (what.empty() && was_busy_ && cycle[0] == 0) what = differs("last", 0, last_ ? 1 : 0, ended_ ? 1 : 0);
    if (what.empty())
      what = differs("saturated", 0, static_cast<std::uint64_t>(saturated_),
                     static_cast<std::uint64_t>(model_.saturated()));
    const bool leaves = there_;
    there_ = false;
    if (!leaves) return what;
    for (int i = 0; i < kLanes && what.empty(); ++i) {
      const base::Count at = out_chunk_ * kLanes + i;
      if (at >= depth_) break;
      const std::size_t index = out_query_ * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(at);
      what = differs("out", index, out_[static_cast<std::size_t>(i)], low(outputs_[index], kOutBits));
    }
    return what;
  }

  int machine_state() override { return dut().rootp->merger__DOT__state; }

  const accelerator::Instance instance_ = instance();
  accelerator::MergerUnit model_;
  accelerator::BlockOutputs block_, next_;
  std::vector<std::int32_t> outputs_;
  base::Count depth_ = 0, queries_ = 0, next_queries_ = 0, saturated_ = 0, out_chunk_ = 0;
  bool merges_ = false, normalises_ = false, there_ = false, last_ = false, was_busy_ = false, ended_ = false;
  std::size_t out_query_ = 0;
  std::vector<std::uint64_t> out_ = std::vector<std::uint64_t>(kLanes);
};

TEST(Merger, MergesAndNormalisesAsTheModelInEveryCycle) {
  MergerBench bench;
  expect_equal(bench);
  enum { kIdle, kWeigh, kMerge, kNormalise };
  expect_transitions(bench, {{kIdle, kWeigh},
                             {kIdle, kNormalise},
                             {kWeigh, kMerge},
                             {kMerge, kIdle},
                             {kMerge, kWeigh},
                             {kMerge, kNormalise},
                             {kNormalise, kIdle},
                             {kNormalise, kWeigh}});
}

}  // namespace
}  // namespace orrery::rtl
