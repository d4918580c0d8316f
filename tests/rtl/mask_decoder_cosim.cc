#include <bit>

#include "orrery/engines/accelerator/units/mask_decoder.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kPortBits = RTL_PORT_BITS;
const int kCountBits = std::bit_width(unsigned{kPes});

// A stimulus gives any bits; those that a row of `count` entries has no room for are left out, and what is missing of
// its entries comes last.
class DecoderBench : public ClockedUnit {
 public:
  DecoderBench()
      : ClockedUnit({{"reset"}, {"step"}, {"count", kCountBits, kRows}, {"bit", 1, kRows}}),
        model_({kRows, kPes, kPorts}) {}

  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[0] = random() % 100 == 0, cycle[1] = random() % 8 != 0;
    return cycle;
  }

 private:
  bool apply(const Cycle& cycle) override {
    const bool first = port_ == 0;
    if (first && cycle[1] != 0)
      for (std::size_t r = 0; r < kRows; ++r)
        counts_[r] = left_[r] = static_cast<std::uint32_t>(cycle[2 + r] % (kPes + 1));
    drive(dut().step, cycle[1], 1);
    drive(dut().first, first ? 1 : 0, 1);
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::uint32_t ports = static_cast<std::uint32_t>(kPorts - port_);
      bits_[r] = left_[r] > 0 && (cycle[2 + kRows + r] != 0 || left_[r] >= ports) ? 1 : 0;
      drive(dut().counts, counts_[r], kCountBits, static_cast<int>(r));
      drive(dut().bits, bits_[r], 1, static_cast<int>(r));
    }
    return cycle[0] != 0;
  }
  void reset_model() override {
    model_ = accelerator::MaskDecoder({kRows, kPes, kPorts});
    model_.begin(std::vector<std::uint32_t>(kRows, 0));
    counts_.assign(kRows, 0), left_ = counts_, bits_.assign(kRows, 0), port_ = 0;
  }
  void step_model(const Cycle& cycle) override {
    if (cycle[1] == 0) return;
    if (port_ == 0) model_.begin(counts_);
    model_.step(bits_.data());
    for (std::size_t r = 0; r < kRows; ++r) left_[r] -= bits_[r];
    port_ = (port_ + 1) % kPorts;
  }
  std::string after_edge(const Cycle&) override {
    std::string what;
    for (int pe = 0; pe < kRows * kPes && what.empty(); ++pe) {
      const auto index = static_cast<std::size_t>(pe);
      what = differs("ports", index, pins(dut().ports, kPortBits, pe), model_.values().b[index]);
      if (what.empty())
        what = differs("delays", index, pins(dut().delays, kPortBits, pe), model_.values().delay[index]);
      // 0 until the PE is reached, then the own exponential or the zero operand.
      if (what.empty())
        what = differs("busy", index, pins(dut().busy, 1, pe), model_.values().a[index] == kPorts ? 1 : 0);
    }
    return what;
  }

  accelerator::MaskDecoder model_;
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(kRows), left_ = counts_;
  std::vector<std::uint8_t> bits_ = std::vector<std::uint8_t>(kRows);
  int port_ = 0;
};

TEST(MaskDecoder, IsTheModelInEveryCycle) {
  DecoderBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
