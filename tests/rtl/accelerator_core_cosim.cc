// Whole matrices through the core, against array::simulate: outputs to the bit, cycles to the cycle. A stimulus is a
// list of jobs; the memory answers after a latency, at full speed or with gaps, when only outputs must be equal. Some
// jobs are cut off by a reset.
#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/array/calculate.h"
#include "orrery/array/tile_arithmetic.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

using base::Count;
constexpr Count kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kDepth = RTL_DEPTH, kKeys = RTL_KEYS;
constexpr std::size_t kStream = RTL_STREAM;
constexpr std::uint32_t kRegion = 1U << 24;  // of the memory, for each of the five kinds

array::Instance instance_of(Count latency) {
  array::Instance one;
  one.array = {kRows, kPes, kPorts};
  one.depth = kDepth, one.code_bits = RTL_CODE_BITS, one.prediction_width = RTL_WIDTH;
  one.quantiser_lanes = RTL_QUANTISER_LANES, one.merge_lanes = RTL_MERGE_LANES;
  one.numbers.query = one.numbers.key = one.numbers.value = {16, RTL_IN_POINT};
  one.numbers.output = {16, RTL_OUT_POINT};
  one.numbers.sum = {RTL_BITS, RTL_POINT}, one.numbers.score = {RTL_SCORE_BITS, RTL_SCORE_POINT};
  one.numbers.accumulator_bits = RTL_SUM_BITS;
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  one.query_rows = kRows, one.key_tokens = one.score_keys = kKeys;
  one.overlap = false;
  one.bandwidth = static_cast<double>(kStream) * one.frequency, one.latency = latency;
  return one;
}

// A matrix to run, and what the model makes of it.
struct Job {
  array::Instance instance;
  array::Work work;
  std::vector<float> query, key, value;
  sparse::Mask mask;
  array::FixedInputs fixed;
  array::PredictionConstants constants;
  array::Simulation expected;
};

std::unique_ptr<Job> job_of(std::uint64_t seed, Count queries, Count keys) {
  Random random(seed);
  auto job = std::make_unique<Job>();
  array::Work& work = job->work;
  job->instance = instance_of(static_cast<Count>(random() % 30));
  work.shape = {1, 1, queries, keys}, work.depth = kDepth;
  work.scale = random() % 3 == 0 ? 1 : 1 / std::sqrt(static_cast<double>(kDepth));
  std::normal_distribution<float> normal(0, random() % 4 == 0 ? 3 : 1);
  const auto fill = [&](std::vector<float>& x, Count tokens) {
    x.resize(static_cast<std::size_t>(tokens * kDepth));
    for (float& one : x) one = normal(random);
    if (random() % 4 == 0) x[random() % x.size()] = 1000;
    return x.data();
  };
  work.query = fill(job->query, queries), work.key = fill(job->key, keys), work.value = fill(job->value, keys);
  work.causal = random() % 3 == 0;
  if (random() % 4 != 0) {
    const double threshold = random() % 8 == 0 ? 0 : static_cast<double>(1 + random() % 200) / 1000;
    work.prediction = array::Prediction{threshold, random() % 4 != 0, 0.5, 0.7};
    if (random() % 2 == 0) {
      for (Count i = 0; i < queries; ++i) work.valid_rows.push_back(i + 1 == queries || random() % 4 != 0 ? 1 : 0);
      for (Count i = 0; i < keys; ++i) work.valid_columns.push_back(i + 1 == keys || random() % 4 != 0 ? 1 : 0);
    }
    base::Diagnostics found;
    job->constants = array::prediction_constants(job->instance, array::sizes_of(work), work.prediction->normalise, 0.5,
                                                 0.7, threshold, found);
    EXPECT_FALSE(found.has_errors());
  } else {
    job->mask = sparse::Mask(work.shape);
    job->mask.causal = work.causal;
    const std::uint64_t percent = random() % 60;
    for (Count r = 0; r < queries; ++r)
      for (Count c = 0; c < keys; ++c)
        if (random() % 100 < percent) job->mask.keep(0, 0, r, c);
    work.mask = &job->mask;
  }
  EXPECT_FALSE(array::faults(job->instance, array::sizes_of(work)).has_errors());
  job->fixed = array::fixed_inputs(job->instance, work, 1);
  array::SimulateOptions options;
  options.compare = false;
  job->expected = array::simulate(job->instance, work, options);
  return job;
}

// What a driver lays into the memory: tokens of two-byte numbers, each matrix's or tile's validity behind them.
class Memory {
 public:
  explicit Memory(const Job& job) {
    const array::Work& work = job.work;
    put(kRegion, job.fixed.key, 0, work.shape.columns);
    if (work.prediction) bits(work.valid_columns, 0, work.shape.columns);
    put(2 * kRegion, job.fixed.value, 0, work.shape.columns);
    region(0);
    for (Count first = 0; first < work.shape.rows; first += kRows) {
      const Count rows = std::min(kRows, work.shape.rows - first);
      tokens(job.fixed.query, first, rows);
      if (work.prediction) bits(work.valid_rows, first, rows);
    }
    region(3 * kRegion);
    const sparse::Mask inside = work.mask != nullptr ? sparse::inside_valid(job.mask) : sparse::Mask{};
    for (Count first = 0; work.mask != nullptr && first < work.shape.rows; first += kRows) {
      const Count keys =
          work.causal
              ? std::clamp<Count>(std::min(first + kRows, work.shape.rows) + work.shape.columns - work.shape.rows, 0,
                                  work.shape.columns)
              : work.shape.columns;
      for (Count key = 0; key < keys; ++key)
        for (Count byte = 0; byte < (kRows + 7) / 8; ++byte) {
          std::uint8_t column = 0;
          for (Count r = first + 8 * byte; r < std::min(first + 8 * byte + 8, work.shape.rows); ++r)
            column = static_cast<std::uint8_t>(column | (inside.kept(0, 0, r, key) ? 1U << (r - first - 8 * byte) : 0));
          push(column);
        }
      pad();
    }
  }

  std::uint8_t read(std::uint32_t address) const {
    const auto& from = regions_[address / kRegion];
    const std::size_t at = address % kRegion;
    return at < from.size() ? from[at] : std::uint8_t{0xaa};
  }
  void write(std::uint32_t address, std::uint8_t byte) {
    auto& to = regions_[address / kRegion];
    if (to.size() <= address % kRegion) to.resize(address % kRegion + 1);
    to[address % kRegion] = byte;
  }

 private:
  void region(std::uint32_t base) { at_ = base / kRegion; }
  void push(std::uint8_t byte) { regions_[at_].push_back(byte); }
  void pad() {
    while (regions_[at_].size() % kStream != 0) push(0);
  }
  void tokens(const std::vector<std::int32_t>& x, Count first, Count count) {
    for (Count i = first * kDepth; i < (first + count) * kDepth; ++i) {
      push(static_cast<std::uint8_t>(x[static_cast<std::size_t>(i)] & 0xff));
      push(static_cast<std::uint8_t>(x[static_cast<std::size_t>(i)] >> 8 & 0xff));
    }
  }
  void put(std::uint32_t base, const std::vector<std::int32_t>& x, Count first, Count count) {
    region(base), tokens(x, first, count);
    if (base == kRegion) at_ = 1;
  }
  void bits(const std::vector<std::uint8_t>& valid, Count first, Count count) {
    for (Count i = 0; i < count; i += 8) {
      std::uint8_t byte = 0;
      for (Count j = i; j < std::min(i + 8, count); ++j)
        if (valid.empty() || valid[static_cast<std::size_t>(first + j)] != 0)
          byte = static_cast<std::uint8_t>(byte | 1U << (j - i));
      push(byte);
    }
    pad();
  }

  std::array<std::vector<std::uint8_t>, 5> regions_;
  std::size_t at_ = 0;
};

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
    Random random(seed + 1);
    dut().start = 1;
    dut().in_valid = dut().out_ready = dut().out_done = 0;
    tick();
    dut().start = 0;
    Count cycles = 0, wait = 0;
    std::uint32_t address = 0, beats = 0;
    bool writes = false, done = false, active = false;
    const Count most = 20 * job.expected.cycles + 1000;
    while (!done) {
      if (++cycles > most)
        return "it does not end: operation " + std::to_string(last_) + ", beats " + std::to_string(beats);
      if (reset_at != 0 && static_cast<Count>(reset_at) == cycles) {
        reset();
        return {};
      }
      dut().in_valid = dut().out_ready = dut().out_done = 0;
      dut().clk = 0;
      dut().eval();
      note();
      if (dut().request != 0) {
        if (active) return "a request before the last one has ended";
        active = true, writes = dut().request_write != 0, address = dut().request_address, beats = dut().request_beats;
        if (beats == 0) return "a request of nothing";
        wait = job.instance.latency;
      }
      const bool gap = gaps && random() % 3 == 0;
      if (active && !writes) {
        if (wait > 0) {
          --wait;
        } else if (!gap) {
          dut().in_valid = 1;
          for (std::size_t i = 0; i < kStream; ++i)
            drive(dut().in_data, memory.read(address++), 8, static_cast<int>(i));
          active = --beats > 0;
        }
      } else if (active) {
        dut().out_ready = gap ? 0 : 1;
        dut().eval();
        if (beats > 0 && dut().out_ready != 0 && dut().out_valid != 0) {
          for (std::size_t i = 0; i < kStream; ++i)
            memory.write(address++, static_cast<std::uint8_t>(pins(dut().out_data, 8, static_cast<int>(i))));
          if (--beats == 0 && wait == 0) dut().out_done = 1, active = false;
        } else if (beats == 0 && --wait == 0) {
          dut().out_done = 1, active = false;
        }
      }
      dut().eval();
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
    drive(dut().query_multiplier, low(array::query_multiplier(job.instance, work.scale), 17), 17);
    drive(dut().query_align, low(RTL_POINT - array::scaled_point(job.instance, work.scale), 5), 5);
    const array::PredictionConstants& c = job.constants;
    drive(dut().query_reciprocal, c.query.reciprocal, 16), drive(dut().query_shift, low(c.query.shift, 6), 6);
    drive(dut().query_factor, c.query.factor, 16), drive(dut().query_factor_shift, low(c.query.factor_shift, 6), 6);
    drive(dut().key_reciprocal, c.key.reciprocal, 16), drive(dut().key_shift, low(c.key.shift, 6), 6);
    drive(dut().key_factor, c.key.factor, 16), drive(dut().key_factor_shift, low(c.key.factor_shift, 6), 6);
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
    for (std::size_t i = 0; i < expected.outputs.size() && what.empty(); ++i) {
      const auto at = static_cast<std::uint32_t>(4 * kRegion + 2 * i);
      what = differs("outputs", i, memory.read(at) | static_cast<unsigned>(memory.read(at + 1)) << 8U,
                     low(expected.outputs[i], 16));
    }
    return what;
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
  for (const auto& [from, to] : bench.transitions())
    if (from != to && to != 1)
      EXPECT_TRUE(std::find(std::begin(kProgram), std::end(kProgram), std::pair{from, to}) != std::end(kProgram))
          << from << " > " << to;
  expect_covered(bench);
}

}  // namespace
}  // namespace orrery::rtl
