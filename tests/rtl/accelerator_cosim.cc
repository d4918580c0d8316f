// Matrices through the registers: a driver writes them, starts, waits for the interrupt and reads the counters. Writes
// that are not allowed in between change nothing.
#include <tuple>

#include "tests/rtl/jobs.h"

namespace orrery::rtl {
namespace {

class AcceleratorBench : public DutUnit {
 public:
  AcceleratorBench() : DutUnit({{"seed", 24}, {"queries", 6}, {"keys", 8}, {"gaps", 1}}) {}

  Cycle draw(Random& random) override {
    return {random() >> 40, random() % (2 * kRows), random() % kKeys, random() % 2};
  }
  void reset() override {
    dut().rst = 1, dut().write = 0;
    tick();
    dut().rst = 0;
  }
  std::string step(const Cycle& cycle) override {
    const auto job =
        job_of(cycle[0], 1 + static_cast<Count>(cycle[1]) % (2 * kRows), 1 + static_cast<Count>(cycle[2]) % kKeys);
    Memory memory(*job);
    Random random(cycle[0]);
    if (random() % 4 == 0) reset();
    std::string what;
    for (const auto& [address, value] : memory.driven().words) {
      write(address, value);
      if (what.empty() && address != 0x20) what = differs("register", address, read(address), value);
    }
    if (!what.empty()) return what;
    MemoryPort port(memory, job->instance.latency, cycle[3] != 0, cycle[0]);
    const Count most = 20 * job->expected.cycles + 1000;
    Count cycles = 0;
    for (; dut().irq == 0; ++cycles) {
      if (cycles > most) return "no interrupt";
      dut().write = random() % 64 == 0 ? 1 : 0;
      dut().address = 0x38, dut().write_data = 7;
      disturbed_ = disturbed_ || dut().write != 0;
      if (what = port.step(dut()); !what.empty()) return what;
      dut().clk = 1;
      dut().eval();
      dut().write = 0;
    }
    total_ += static_cast<std::size_t>(cycles);
    return ended(*job, memory, cycle[3] != 0);
  }
  std::size_t total() const { return total_; }

  void write(std::uint32_t address, std::uint64_t value) {
    dut().write = 1, dut().address = static_cast<std::uint16_t>(address);
    dut().write_data = static_cast<std::uint32_t>(value);
    dut().in_valid = dut().out_ready = dut().out_done = dut().request_ready = 0;
    tick();
    dut().write = 0;
  }
  std::uint64_t read(std::uint32_t address) {
    dut().address = static_cast<std::uint16_t>(address);
    dut().eval();
    return dut().read_data;
  }

 private:
  void tick() {
    dut().clk = 0;
    dut().eval();
    dut().clk = 1;
    dut().eval();
  }
  std::string ended(const Job& job, const Memory& memory, bool gaps) {
    std::string what = differs("status", 0, read(0x24), disturbed_ ? 6 : 2);
    if (what.empty() && !gaps) what = differs("cycles", 0, read(0xc0), static_cast<std::uint64_t>(job.expected.cycles));
    if (what.empty() && !gaps)
      what = differs("waiting", 0, read(0xc8), static_cast<std::uint64_t>(job.expected.phases.waiting));
    if (what.empty()) what = differs("kept", 0, read(0xd4), static_cast<std::uint64_t>(job.expected.kept));
    if (what.empty()) what = differs("blocks", 0, read(0xd0), static_cast<std::uint64_t>(job.expected.blocks));
    if (what.empty())
      what = differs("saturated", 0, read(0xdc), static_cast<std::uint64_t>(job.expected.saturated.outputs));
    write(0x24, 6);
    disturbed_ = false;
    if (what.empty()) what = differs("status", 1, read(0x24), 0);
    return what.empty() ? memory.outputs_differ() : what;
  }

  std::size_t total_ = 0;
  bool disturbed_ = false;
};

// One instance for all tests, which together run what there is of it.
class Accelerator : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<AcceleratorBench>(); }
  static void TearDownTestSuite() {
    expect_covered(*shared_);
    shared_.reset();
  }
  void SetUp() override { bench.reset(); }

 private:
  static inline std::unique_ptr<AcceleratorBench> shared_;

 protected:
  AcceleratorBench& bench = *shared_;
};

TEST_F(Accelerator, RunsMatricesThatADriverSetsUpInItsRegisters) {
  std::uint64_t seed = 100;
  while (bench.total() < cosim_cycles()) {
    const std::string difference = cosimulate(bench, 8, 8, seed++);
    ASSERT_TRUE(difference.empty()) << difference;
  }
  std::printf("%zu cycles\n", bench.total());
}

TEST_F(Accelerator, RefusesStartsThatItCannotRunAndWordsThatThereAreNot) {
  EXPECT_EQ(bench.read(0), 0x4f525259U);
  EXPECT_EQ(bench.read(4), static_cast<std::uint64_t>(kRows));
  EXPECT_EQ(bench.read(0x14), static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(bench.read(0x44), 0x8000U);
  const auto refused = [&](std::uint32_t address, std::uint64_t value) {
    bench.write(address, value);
    const bool error = bench.read(0x24) == 4;
    bench.write(0x24, 4);
    EXPECT_EQ(bench.read(0x24), 0U);
    return error;
  };
  EXPECT_TRUE(refused(0x20, 1)) << "nothing to run";
  const std::pair<std::uint32_t, std::uint64_t> words[] = {{0x30, 1}, {0x34, 1},      {0x38, 4},
                                                           {0x3c, 4}, {0x40, kDepth}, {0x400, 0x40004}};
  for (const auto& [address, value] : words) EXPECT_FALSE(refused(address, value));
  const std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, const char*> wrongs[] = {
      {0x30, 0, 1, "no sequence"},
      {0x30, kSequences + 1, 1, "more sequences than lengths"},
      {0x34, 0, 1, "no head"},
      {0x40, 0, kDepth, "no head size"},
      {0x40, kDepth + kStream / 2, kDepth, "a larger head size"},
      {0x40, kDepth - 1, kDepth, "tokens that fill no words"},
      {0x400, (std::uint64_t{kKeys} + 1) << 16U | 4, 0x40004, "more keys than fit"},
      {0x400, 0x40000, 0x40004, "no queries"},
      {0x84, 1, 0, "an address beyond 32 bits"}};
  for (const auto& [address, wrong, right, why] : wrongs) {
    bench.write(address, wrong);
    EXPECT_TRUE(refused(0x20, 1)) << why;
    bench.write(address, right);
  }
  EXPECT_TRUE(refused(0x20, 0x21)) << "given blocks";
  EXPECT_TRUE(refused(0x00, 1)) << "read only";
  EXPECT_TRUE(refused(0x18, 1)) << "no such word";
  EXPECT_TRUE(refused(accelerator::kLengths + 4 * kSequences, 1)) << "no such length";
  // A second sequence, too long, counts only where it is run.
  bench.write(0x404, (std::uint64_t{kKeys} + 1) << 16U | 4);
  bench.write(0x30, 2);
  EXPECT_TRUE(refused(0x20, 1)) << "a sequence that does not fit";
  bench.write(0x30, 1);
  bench.write(0x20, 1);
  EXPECT_EQ(bench.read(0x24), 1U) << "a run";
}

// Random reads and writes, START apart, against the model's registers.
TEST_F(Accelerator, HasTheModelsRegistersAndNoOthers) {
  accelerator::RegisterFile model(instance_of(0));
  Random random(4);
  for (std::uint32_t address = 0; address < accelerator::kLengths + 4 * kSequences; address += 4)
    EXPECT_EQ(bench.read(address), model.read(address)) << address;
  for (std::size_t i = 0; i < cosim_cycles() / 10; ++i) {
    const std::uint32_t address = random() % 4 == 0
                                      ? accelerator::kLengths + 4 * static_cast<std::uint32_t>(random() % kSequences)
                                      : static_cast<std::uint32_t>(random() % 0x110) * 4 % 0x400;
    auto value = static_cast<std::uint32_t>(random());
    if (address == 0x20) value &= ~accelerator::kStart;
    bench.write(address, value);
    model.write(address, value);
    ASSERT_EQ(bench.read(address), model.read(address)) << std::hex << address;
    ASSERT_EQ(bench.read(0x24), model.read(0x24)) << std::hex << address;
  }
}

}  // namespace
}  // namespace orrery::rtl
