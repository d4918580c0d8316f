// Matrices for the accelerator to run, what array::simulate makes of them, and the memory that they lie in.
#pragma once

#include <algorithm>
#include <cmath>

#include "orrery/array/driver.h"
#include "orrery/array/tile_arithmetic.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
using base::Count;
constexpr Count kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kDepth = RTL_DEPTH, kKeys = RTL_KEYS;
constexpr Count kStream = RTL_STREAM;
constexpr std::uint32_t kRegion = 1U << 24;  // of the memory, for each of the five kinds

inline array::Instance instance_of(Count latency) {
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

// What follows from the work: numbers in the memory, the driver's constants, the model's answer.
inline void settle(Job& job) {
  EXPECT_FALSE(array::faults(job.instance, array::sizes_of(job.work)).has_errors());
  if (const auto& p = job.work.prediction) {
    base::Diagnostics found;
    job.constants = array::prediction_constants(job.instance, array::sizes_of(job.work), p->normalise, *p->query_clip,
                                                *p->key_clip, p->threshold, found);
    EXPECT_FALSE(found.has_errors());
  }
  job.fixed = array::fixed_inputs(job.instance, job.work, 1);
  array::SimulateOptions options;
  options.compare = false;
  job.expected = array::simulate(job.instance, job.work, options);
}

inline std::unique_ptr<Job> job_of(std::uint64_t seed, Count queries, Count keys) {
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
  } else {
    job->mask = sparse::Mask(work.shape);
    job->mask.causal = work.causal;
    const std::uint64_t percent = random() % 60;
    for (Count r = 0; r < queries; ++r)
      for (Count c = 0; c < keys; ++c)
        if (random() % 100 < percent) job->mask.keep(0, 0, r, c);
    work.mask = &job->mask;
  }
  settle(*job);
  return job;
}

class Memory {
 public:
  explicit Memory(const Job& job)
      : regions_(array::driver_run(job.instance, job.work, job.fixed, job.constants, job.expected, kStream, kRegion)
                     .memory) {
    regions_[static_cast<std::size_t>(array::Region::kOutputs)].clear();
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
  std::array<std::vector<std::uint8_t>, array::kRegions> regions_;
};

// The memory's side of the port: a request's words after a latency, at full speed or with gaps.
class MemoryPort {
 public:
  MemoryPort(Memory& memory, Count latency, bool gaps, std::uint64_t seed)
      : memory_(memory), latency_(latency), gaps_(gaps), random_(seed) {}

  // Before the clock's edge, with the request of this cycle on the pins; what is wrong with it, or nothing.
  std::string step(Vdut& dut) {
    dut.in_valid = dut.out_ready = dut.out_done = 0;
    dut.clk = 0;
    dut.eval();
    if (dut.request != 0) {
      if (active_) return "a request before the last one has ended";
      active_ = true, writes_ = dut.request_write != 0, address_ = dut.request_address, beats_ = dut.request_beats;
      if (beats_ == 0) return "a request of nothing";
      wait_ = latency_;
    }
    const bool gap = gaps_ && random_() % 3 == 0;
    if (active_ && !writes_) {
      if (wait_ > 0) {
        --wait_;
      } else if (!gap) {
        dut.in_valid = 1;
        for (Count i = 0; i < kStream; ++i) drive(dut.in_data, memory_.read(address_++), 8, static_cast<int>(i));
        active_ = --beats_ > 0;
      }
    } else if (active_) {
      take(dut, gap);
    }
    dut.eval();
    return {};
  }

  std::uint32_t beats() const { return beats_; }

 private:
  void take(Vdut& dut, bool gap) {
    dut.out_ready = gap ? 0 : 1;
    dut.eval();
    if (beats_ > 0 && dut.out_ready != 0 && dut.out_valid != 0) {
      for (Count i = 0; i < kStream; ++i)
        memory_.write(address_++, static_cast<std::uint8_t>(pins(dut.out_data, 8, static_cast<int>(i))));
      if (--beats_ == 0 && wait_ == 0) dut.out_done = 1, active_ = false;
    } else if (beats_ == 0 && --wait_ == 0) {
      dut.out_done = 1, active_ = false;
    }
  }

  Memory& memory_;
  Count latency_, wait_ = 0;
  bool gaps_, active_ = false, writes_ = false;
  Random random_;
  std::uint32_t address_ = 0, beats_ = 0;
};

// How outputs in the memory differ from the model's, if they do.
inline std::string outputs_differ(const Job& job, const Memory& memory) {
  std::string what;
  const std::vector<std::int32_t>& outputs = job.expected.outputs;
  for (std::size_t i = 0; i < outputs.size() && what.empty(); ++i) {
    const auto at = static_cast<std::uint32_t>(4 * kRegion + 2 * i);
    what =
        differs("outputs", i, memory.read(at) | static_cast<unsigned>(memory.read(at + 1)) << 8U, low(outputs[i], 16));
  }
  return what;
}

}  // namespace orrery::rtl
