// The packer's blocks, as its writes leave them in a buffer, against the model's.
#include <bit>

#include "orrery/engines/accelerator/units/packer_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kKeyBits = RTL_KEY_BITS;
const int kPortBits = std::bit_width(unsigned{kPorts}), kCountBits = std::bit_width(unsigned{kPes});

class PackerBench : public ClockedUnit {
 public:
  enum At : std::size_t { kReset, kCommand, kKey, kColumn };

  PackerBench()
      : ClockedUnit({{"reset"}, {"command", 2}, {"key", kKeyBits}, {"column", 1, kRows}}),
        column_(kRows),
        model_({kRows, kPes, kPorts}) {}

  void begin_episode(Random& random) override { density_ = random() % 40; }
  // Command 0: nothing, 1: a tile begins, 2: it ends, 3: a column. What was not taken comes again.
  Cycle draw(Random& random) override {
    const std::uint64_t kind = random() % 32;
    Cycle cycle = {random() % 200 == 0, kind < 3 ? kind : 3, random() >> (64 - kKeyBits)};
    for (int i = 0; i < kRows; ++i) cycle.push_back(random() % 64 < density_ ? 1 : 0);
    if (!taken_) std::copy(last_.begin() + kCommand, last_.end(), cycle.begin() + kCommand);
    return last_ = cycle;
  }

 private:
  bool apply(const Cycle& cycle) override {
    for (std::size_t i = 0; i < column_.size(); ++i) column_[i] = static_cast<std::uint8_t>(cycle[kColumn + i]);
    for (int i = 0; i < kRows; ++i) drive(dut().in_column, column_[static_cast<std::size_t>(i)], 1, i);
    drive(dut().begin_tile, cycle[kCommand] == 1 ? 1 : 0, 1);
    drive(dut().in_end, cycle[kCommand] == 2 ? 1 : 0, 1);
    drive(dut().in_valid, cycle[kCommand] == 3 ? 1 : 0, 1);
    drive(dut().in_key, cycle[kKey], kKeyBits);
    return cycle[kReset] != 0;
  }
  void reset_model() override {
    model_ = accelerator::PackerUnit({kRows, kPes, kPorts});
    keys_.assign(kPorts, 0), bits_.assign(static_cast<std::size_t>(kPorts * kRows), 0);
    taken_ = true, closes_ = false;
  }
  // What is written before the edge stands in the buffer after it.
  std::string before_edge(const Cycle& cycle) override {
    if (dut().write != 0) {
      const auto port = static_cast<std::size_t>(pins(dut().write_port, kPortBits));
      if (port >= kPorts) return "a port beyond the last is written";
      keys_[port] = static_cast<std::int32_t>(pins(dut().write_key, kKeyBits));
      for (int r = 0; r < kRows; ++r)
        bits_[port * kRows + static_cast<std::size_t>(r)] = static_cast<std::uint8_t>(pins(dut().write_bits, 1, r));
    }
    closes_ = false, taken_ = true;
    if (cycle[kCommand] == 3) taken_ = model_.step(static_cast<std::int32_t>(cycle[kKey]), column_), closes_ = !taken_;
    if (cycle[kCommand] == 2) closes_ = model_.end();
    if (cycle[kCommand] == 1) model_.begin();
    std::string what = differs("close", 0, dut().close, closes_ ? 1 : 0);
    if (what.empty() && cycle[kCommand] == 3) what = differs("in_ready", 0, dut().in_ready, taken_ ? 1 : 0);
    if (!what.empty() || !closes_) return what;
    const accelerator::PackedColumns& block = model_.closed();
    what = differs("columns", 0, pins(dut().columns, kPortBits), block.keys.size());
    for (int r = 0; r < kRows && what.empty(); ++r)
      what = differs("counts", static_cast<std::size_t>(r), pins(dut().counts, kCountBits, r),
                     block.counts[static_cast<std::size_t>(r)]);
    for (std::size_t m = 0; m < block.keys.size() && what.empty(); ++m) {
      what = differs("the key of port", m, static_cast<std::uint64_t>(keys_[m]),
                     static_cast<std::uint64_t>(block.keys[m]));
      for (std::size_t r = 0; r < kRows && what.empty(); ++r)
        what = differs("bits of the port", m, bits_[m * kRows + r], block.bits[m * kRows + r]);
    }
    return what;
  }
  void step_model(const Cycle&) override {}
  std::string after_edge(const Cycle&) override { return {}; }

  std::uint64_t density_ = 16;
  std::vector<std::uint8_t> column_, bits_;
  std::vector<std::int32_t> keys_;
  accelerator::PackerUnit model_;
  bool taken_ = true, closes_ = false;
  Cycle last_;
};

TEST(Packer, ClosesTheModelsBlocksInTheModelsCycles) {
  PackerBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
