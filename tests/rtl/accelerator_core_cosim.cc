// Whole matrices through the core, against array::simulate: outputs to the bit, cycles to the cycle. A stimulus is a
// list of jobs; the memory answers after a latency, at full speed or with gaps, when only outputs must be equal. Some
// jobs are cut off by a reset.
#include <algorithm>
#include <filesystem>
#include <set>

#include "orrery/formats/numpy/array.h"
#include "tests/rtl/jobs.h"

namespace orrery::rtl {
namespace {

class CoreBench : public DutUnit {
 public:
  enum At : std::size_t { kSeed, kQueries, kMoreKeys, kGaps, kResetAt };
  CoreBench() : DutUnit({{"seed", 24}, {"queries", 6}, {"keys", 8}, {"gaps", 1}, {"reset_at", 12}}) {}

  Cycle draw(Random& random) override {
    return {random() >> 40, random() % (3 * kRows), random() % kKeys, random() % 3 == 0,
            random() % 4 == 0 ? random() % 4096 : 0};
  }
  void reset() override {
    dut().rst = 1;
    tick();
    dut().rst = 0;
  }
  std::string step(const Cycle& cycle) override {
    const auto job = job_of(cycle[kSeed], 1 + static_cast<Count>(cycle[kQueries]) % (3 * kRows),
                            1 + static_cast<Count>(cycle[kMoreKeys]) % kKeys);
    configure(*job);
    Memory memory(*job);
    return run(*job, memory, cycle[kGaps] != 0, cycle[kResetAt], cycle[kSeed]);
  }
  std::string run(const Job& job, Memory& memory, bool gaps, std::uint64_t reset_at, std::uint64_t seed) {
    dut().start = 1;
    dut().in_valid = dut().out_ready = dut().out_done = 0;
    tick();
    dut().start = 0;
    MemoryPort port(memory, job.instance.latency, gaps, seed + 1);
    Count cycles = 0;
    const Count most = 20 * job.expected.cycles + 1000;
    for (bool done = false; !done;) {
      if (++cycles > most)
        return "it does not end: operation " + std::to_string(last_) + ", beats " + std::to_string(port.beats());
      if (reset_at != 0 && static_cast<Count>(reset_at) == cycles) {
        reset();
        return {};
      }
      if (std::string what = port.step(dut()); !what.empty()) return what;
      note();
      done = dut().done != 0;
      dut().clk = 1;
      dut().eval();
    }
    total_ += static_cast<std::size_t>(cycles);
    return compare(job, memory, cycles, gaps);
  }

  std::size_t total() const { return total_; }
  const std::set<std::pair<int, int>>& transitions() const { return transitions_; }
  void configure(const Job& job) {
    const array::Work& work = job.work;
    dut().predicts = work.prediction ? 1 : 0;
    dut().normalise = work.prediction && work.prediction->normalise ? 1 : 0;
    dut().causal = work.causal ? 1 : 0;
    dut().queries = static_cast<std::uint16_t>(work.shape.rows);
    dut().keys = static_cast<std::uint16_t>(work.shape.columns);
    drive(dut().causal_offset, low(work.shape.columns - work.shape.rows, 17), 17);
    drive(dut().query_multiplier, low(array::query_multiplier(job.instance, work.scale), 16), 16);
    drive(dut().query_align, low(RTL_POINT - array::scaled_point(job.instance, work.scale), 5), 5);
    const array::PredictionConstants& c = job.constants;
    drive(dut().query_reciprocal, c.query.reciprocal, 17), drive(dut().query_shift, low(c.query.shift, 6), 6);
    drive(dut().query_factor, c.query.factor, 17), drive(dut().query_factor_shift, low(c.query.factor_shift, 6), 6);
    drive(dut().key_reciprocal, c.key.reciprocal, 17), drive(dut().key_shift, low(c.key.shift, 6), 6);
    drive(dut().key_factor, c.key.factor, 17), drive(dut().key_factor_shift, low(c.key.factor_shift, 6), 6);
    drive(dut().score_shift, low(c.score_shift, 6), 6);
    drive(dut().log2_threshold, low(c.threshold, 24), 24);
    dut().query_base = 0, dut().key_base = kRegion, dut().value_base = 2 * kRegion, dut().mask_base = 3 * kRegion;
    dut().output_base = 4 * kRegion;
  }

 private:
  void tick() {
    dut().clk = 0;
    dut().eval();
    dut().clk = 1;
    dut().eval();
  }
  void note() {
    const int now = dut().operation;
    transitions_.insert({last_, now});
    last_ = now;
  }
  std::string compare(const Job& job, const Memory& memory, Count cycles, bool gaps) {
    const array::Simulation& expected = job.expected;
    std::string what;
    if (!gaps)
      what = differs("cycles", 0, static_cast<std::uint64_t>(cycles), static_cast<std::uint64_t>(expected.cycles));
    if (what.empty()) what = differs("blocks", 0, dut().blocks, static_cast<std::uint64_t>(expected.blocks));
    if (what.empty())
      what = differs("saturated", 0, dut().saturated, static_cast<std::uint64_t>(expected.saturated.outputs));
    return what.empty() ? outputs_differ(job, memory) : what;
  }

  std::size_t total_ = 0;
  int last_ = 0;
  std::set<std::pair<int, int>> transitions_;
};

TEST(AcceleratorCore, GivesTheModelsOutputsInTheModelsCyclesForWholeMatrices) {
  CoreBench bench;
  std::uint64_t seed = 1;
  while (bench.total() < cosim_cycles()) {
    const std::string difference = cosimulate(bench, 8, 8, seed++);
    ASSERT_TRUE(difference.empty()) << difference;
  }
  // Every operation and all that may follow it: the numbers of accelerator_core.sv's operation_t.
  constexpr std::pair<int, int> kProgram[] = {{1, 2},  {2, 3},   {2, 4},  {3, 4},   {4, 5},   {4, 7},
                                              {4, 8},  {5, 6},   {6, 8},  {7, 8},   {8, 9},   {8, 12},
                                              {9, 10}, {10, 11}, {11, 8}, {11, 12}, {12, 13}, {13, 4}};
  for (const auto& [from, to] : kProgram)
    EXPECT_TRUE(bench.transitions().contains({from, to})) << "operation " << from << " was never followed by " << to;
  for (const auto& [from, to] : bench.transitions()) {
    if (from == to || to == 1) continue;  // a matrix begins, also after a reset
    EXPECT_TRUE(std::find(std::begin(kProgram), std::end(kProgram), std::pair{from, to}) != std::end(kProgram))
        << from << " > " << to;
  }
  expect_covered(bench);
}

#if RTL_DEPTH == 64 && RTL_KEYS >= 512
// A head of recorded queries and keys of 512 tokens, with values of our own.
TEST(AcceleratorCore, RunsARecordedHeadToTheBitAndTheCycle) {
  const std::string folder = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/cloth_s512_thr2e-3/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the reference figures are not at hand";
  constexpr Count kTokens = 512;
  Job job;
  job.instance = instance_of(40);
  const auto head = [&](const char* file) {
    std::vector<float> all = formats::numpy::floats_of(formats::numpy::read_array(folder + file));
    all.resize(static_cast<std::size_t>(kTokens * kDepth));
    return all;
  };
  job.query = head("Q.npy"), job.key = head("K.npy");
  Random random(12);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < job.key.size(); ++i) job.value.push_back(normal(random));
  array::Work& work = job.work;
  work.shape = {1, 1, kTokens, kTokens}, work.depth = kDepth, work.scale = 0.125;
  work.query = job.query.data(), work.key = job.key.data(), work.value = job.value.data();
  work.prediction = array::Prediction{0.002, true, 0.538363516330719, 0.5102559924125671};
  settle(job);
  CoreBench bench;
  bench.reset();
  bench.configure(job);
  Memory memory(job);
  EXPECT_EQ(bench.run(job, memory, false, 0, 1), "");
  std::printf("%zu cycles, %zu blocks, utilisation %.3f\n", bench.total(),
              static_cast<std::size_t>(job.expected.blocks), job.expected.utilization);
}
#endif

}  // namespace
}  // namespace orrery::rtl
