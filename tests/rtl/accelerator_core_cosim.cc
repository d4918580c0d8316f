// Whole matrices through the core, against accelerator::simulate: outputs to the bit, cycles to the cycle. A stimulus is a
// list of jobs; the memory answers after a latency, at full speed or with gaps, when only outputs must be equal. Some
// jobs are cut off by a reset.
#include <array>
#include <filesystem>
#include <set>

#include <source_dir.h>

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
    dut().in_valid = dut().out_ready = dut().out_done = dut().request_ready = 0;  // the memory forgets, too
    tick();
    dut().rst = 0;
  }
  std::string step(const Cycle& cycle) override {
    const auto job = job_of(cycle[kSeed], 1 + static_cast<Count>(cycle[kQueries]) % (3 * kRows),
                            1 + static_cast<Count>(cycle[kMoreKeys]) % kKeys);
    Memory memory(*job);
    configure(*job, memory.driven());
    dut().eval();
    if (dut().runnable == 0) return "not runnable";
    return run(*job, memory, cycle[kGaps] != 0, cycle[kResetAt], cycle[kSeed]);
  }
  std::string run(const Job& job, Memory& memory, bool gaps, std::uint64_t reset_at, std::uint64_t seed) {
    dut().start = 1;
    dut().in_valid = dut().out_ready = dut().out_done = dut().request_ready = 0;
    tick();
    dut().start = 0;
    MemoryPort port(memory, job.instance.latency, gaps, seed + 1);
    busy_ = {};
    Count cycles = 0, idle = 0;
    const Count most = 20 * job.expected.cycles + 1000;
    for (bool done = false; !done;) {
      if (++cycles > most) return "it does not end: units " + std::to_string(dut().units);
      if (reset_at != 0 && static_cast<Count>(reset_at) == cycles) {
        reset();
        return {};
      }
      if (std::string what = port.step(dut()); !what.empty()) return what;
      note(job.instance.overlap);
      steps_.insert(dut().rootp->accelerator_core__DOT__control__DOT__program_unit__DOT__step);
      idle = dut().units != 0 || dut().request != 0 || port.owes() ? 0 : idle + 1;
      longest_idle_ = std::max(longest_idle_, idle);
      if (idle > kMostIdle) return "nothing is under way, and nothing begins";
      done = dut().done != 0;
      dut().clk = 1;
      dut().eval();
    }
    dut().clk = 0;
    dut().eval();
    if (dut().busy != 0 || dut().units != 0 || dut().request != 0) return "not idle after its last cycle";
    total_ += static_cast<std::size_t>(cycles);
    for (std::size_t i = 1; i < port.kinds().size(); ++i) follow_.insert({port.kinds()[i - 1], port.kinds()[i]});
    return compare(job, memory, cycles, gaps);
  }

  std::size_t total() const { return total_; }
  Count longest_idle() const { return longest_idle_; }
  // Kinds of requests that followed each other; pairs of units that worked in one cycle, beside each other or not.
  const std::set<std::pair<int, int>>& follow() const { return follow_; }
  // States of request_program.
  const std::set<int>& steps() const { return steps_; }
  const std::set<std::pair<int, int>>& together(bool overlap) const { return together_[overlap ? 1 : 0]; }
  void configure(const Job& job, const accelerator::DriverRun& driven) {
    const accelerator::Work& work = job.work;
    for (const accelerator::RegisterWord& word : driven.words) {
      if (word.address < accelerator::kLengths) continue;
      dut().length_write = 1, dut().length_at = static_cast<std::uint8_t>((word.address - accelerator::kLengths) / 4);
      dut().length_data = word.value;
      tick();
    }
    dut().length_write = 0;
    dut().overlap = job.instance.overlap ? 1 : 0;
    dut().sequences = static_cast<std::uint16_t>(work.shape.batch);
    dut().heads = static_cast<std::uint16_t>(work.shape.heads);
    dut().depth = static_cast<std::uint16_t>(work.depth);
    dut().predicts = work.prediction ? 1 : 0;
    dut().normalise = work.prediction && work.prediction->normalise ? 1 : 0;
    dut().causal = work.causal ? 1 : 0;
    drive(dut().causal_offset, low(work.shape.columns - work.shape.rows, 17), 17);
    drive(dut().query_multiplier, low(accelerator::query_multiplier(job.instance, work.scale), 16), 16);
    drive(dut().query_align, low(RTL_POINT - accelerator::scaled_point(job.instance, work.scale), 5), 5);
    const accelerator::PredictionConstants& c = job.constants;
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
  void note(bool overlap) {
    for (int a = 0; a < accelerator::kUnits - 1; ++a) {
      if ((dut().units >> a & 1) == 0) continue;
      ++busy_[static_cast<std::size_t>(a)];
      for (int b = 0; b < a; ++b)
        if ((dut().units >> b & 1) != 0) together_[overlap ? 1 : 0].insert({b, a});
    }
  }
  std::string compare(const Job& job, const Memory& memory, Count cycles, bool gaps) {
    const accelerator::Simulation& expected = job.expected;
    std::string what;
    if (!gaps)
      what = differs("cycles", 0, static_cast<std::uint64_t>(cycles), static_cast<std::uint64_t>(expected.cycles));
    // The channel is no unit here: its cycles are the requests'.
    for (std::size_t u = 0; u < busy_.size() && what.empty(); ++u)
      what = differs(accelerator::name_of(static_cast<accelerator::Unit>(u + 1)), u, static_cast<std::uint64_t>(busy_[u]),
                     static_cast<std::uint64_t>(expected.busy[u + 1]));
    if (what.empty()) what = differs("blocks", 0, dut().blocks, static_cast<std::uint64_t>(expected.blocks));
    if (what.empty())
      what = differs("saturated", 0, dut().saturated, static_cast<std::uint64_t>(expected.saturated.outputs));
    return what.empty() ? memory.outputs_differ() : what;
  }

  // A run goes on while it can: cycles in which no unit works, no request is up and the memory owes nothing.
  static constexpr Count kMostIdle = 1;
  Count longest_idle_ = 0;
  std::size_t total_ = 0;
  std::array<Count, accelerator::kUnits - 1> busy_{};
  std::set<std::pair<int, int>> follow_, together_[2];
  std::set<int> steps_;
};

#if RTL_DEPTH < 64
TEST(AcceleratorCore, GivesTheModelsOutputsInTheModelsCyclesForWholeMatrices) {
  CoreBench bench;
  std::uint64_t seed = 1;
  while (bench.total() < cosim_cycles()) {
    const std::string difference = cosimulate(bench, 8, 8, seed++);
    ASSERT_TRUE(difference.empty()) << difference;
  }
  std::printf("%zu cycles, at most %d of them idle in a row\n", bench.total(), static_cast<int>(bench.longest_idle()));
  EXPECT_TRUE(bench.together(false).empty()) << "units work beside each other without overlap";
  // All but predictor and packer, which share the score memory, work beside each other.
  for (int a = 0; a < accelerator::kUnits - 1; ++a)
    for (int b = a + 1; b < accelerator::kUnits - 1; ++b)
      EXPECT_EQ(bench.together(true).contains({a, b}), a != 1 || b != 2) << a << " beside " << b;
  // Every kind of request and all that may follow it, and no others: 0 queries, 1 keys, 2 values, 3 masks, 4 outputs.
  const std::set<std::pair<int, int>> program{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 0}, {1, 2}, {2, 0},
                                              {2, 3}, {2, 4}, {3, 0}, {3, 4}, {4, 0}, {4, 3}, {4, 4}};
  for (const auto& [from, to] : program)
    EXPECT_TRUE(bench.follow().contains({from, to})) << "request " << from << " was never followed by " << to;
  for (const auto& [from, to] : bench.follow())
    EXPECT_TRUE(program.contains({from, to})) << "request " << from << " was followed by " << to;
  EXPECT_EQ(bench.steps().size(), 12U) << "a state of the program of requests was never reached";
  expect_covered(bench);
}

// Sequences of a tile each: one of many blocks, one of a single block, one without keys, whose matrix is packed as soon as its
// queries are here, while blocks of the first still wait for the array.
class ShortMatrices : public CoreBench {
 public:
  std::string step(const Cycle& cycle) override {
    Random random(cycle[kSeed]);
    Job job;
    job.instance = instance_of(static_cast<Count>(random() % 12));
    accelerator::Work& work = job.work;
    work.shape = {kSequences, 1, kRows, kKeys}, work.depth = kDepth, work.scale = 0.25;
    std::normal_distribution<float> normal;
    for (auto* const x : {&job.query, &job.key, &job.value})
      for (Count i = 0; i < kSequences * std::max(kRows, kKeys) * kDepth; ++i) x->push_back(normal(random));
    work.query = job.query.data(), work.key = job.key.data(), work.value = job.value.data();
    job.mask = masks::Mask(work.shape);
    const Count empty = 2 + static_cast<Count>(random() % (kSequences - 2));
    for (Count b = 0; b < kSequences; ++b) {
      const auto drawn = static_cast<Count>(random());
      const Count keys = b == empty       ? 0
                         : b == empty - 1 ? 1 + (drawn & 0xff) % kPes
                         : b == empty - 2 ? kKeys / 2 + (drawn & 0xff) % (kKeys / 2)
                                          : 1 + (drawn & 0xff) % kKeys;
      for (Count i = 0; i < kRows; ++i) job.mask.valid_rows.push_back(1);
      for (Count i = 0; i < kKeys; ++i) job.mask.valid_columns.push_back(i < keys ? 1 : 0);
      for (Count r = 0; r < kRows; ++r)
        for (Count c = 0; c < keys; ++c) job.mask.keep(b, 0, r, c);
    }
    work.mask = &job.mask;
    settle(job);
    Memory memory(job);
    configure(job, memory.driven());
    return run(job, memory, cycle[kGaps] != 0, 0, cycle[kSeed]);
  }
};

TEST(AcceleratorCore, MatricesWithoutKeysArePackedWhileBlocksOfOthersWait) {
  ShortMatrices bench;
  const std::string difference = cosimulate(bench, 40, 8);
  ASSERT_TRUE(difference.empty()) << difference;
}

#else

// A head of recorded queries and keys of 512 tokens, with values of our own: its mask predicted, with units that
// overlap and one at a time, and its recorded mask given.
class RecordedHead : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(RecordedHead, RunsToTheBitAndTheCycle) {
  const auto& [overlap, predicts] = GetParam();
  const std::string folder = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/cloth_s512_thr2e-3/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the reference figures are not at hand";
  constexpr Count kTokens = 512;
  Job job;
  job.instance = instance_of(40);
  job.instance.overlap = overlap;
  const auto head = [&](const char* file) {
    std::vector<float> all = formats::numpy::floats_of(formats::numpy::read_array(folder + file));
    all.resize(static_cast<std::size_t>(kTokens * kDepth));
    return all;
  };
  job.query = head("Q.npy"), job.key = head("K.npy");
  Random random(12);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < job.key.size(); ++i) job.value.push_back(normal(random));
  accelerator::Work& work = job.work;
  work.shape = {1, 1, kTokens, kTokens}, work.depth = kDepth, work.scale = 0.125;
  work.query = job.query.data(), work.key = job.key.data(), work.value = job.value.data();
  if (predicts) {
    work.prediction = accelerator::Prediction{0.002, true, 0.538363516330719, 0.5102559924125671};
  } else {
    const formats::numpy::Array bits = formats::numpy::read_array(folder + "mask_packed_le.npy");
    job.mask = masks::Mask(work.shape);
    for (Count i = 0; i < kTokens * kTokens; ++i)
      if ((static_cast<unsigned char>(bits.bytes[static_cast<std::size_t>(i / 8)]) >> (i % 8) & 1) != 0)
        job.mask.keep(0, 0, i / kTokens, i % kTokens);
    work.mask = &job.mask;
  }
  settle(job);
  CoreBench bench;
  bench.reset();
  Memory memory(job);
  bench.configure(job, memory.driven());
  EXPECT_EQ(bench.run(job, memory, false, 0, 1), "");
  std::printf("%zu cycles, %zu blocks, utilisation %.3f\n", bench.total(),
              static_cast<std::size_t>(job.expected.blocks), job.expected.utilization);
}
INSTANTIATE_TEST_SUITE_P(WholeHeads, RecordedHead,
                         testing::Values(std::pair{true, true}, std::pair{false, true}, std::pair{true, false}));
#endif

}  // namespace
}  // namespace orrery::rtl
