// Matrices for the accelerator to run, what accelerator::simulate makes of them, and the memory that they lie in.
#pragma once

#include <algorithm>
#include <cmath>

#include "orrery/engines/accelerator/driver.h"
#include "orrery/engines/accelerator/tile_arithmetic.h"
#include "tests/rtl/bench.h"

namespace orrery::rtl {
using base::Count;
constexpr Count kRows = RTL_ROWS, kPes = RTL_PES, kPorts = RTL_PORTS, kDepth = RTL_DEPTH, kKeys = RTL_KEYS;
constexpr Count kStream = RTL_STREAM, kSequences = RTL_SEQUENCES;
constexpr std::uint32_t kRegion = 1U << 24;  // of the memory, for each of the five kinds

inline accelerator::Instance instance_of(Count latency) {
  accelerator::Instance one;
  one.array = {kRows, kPes, kPorts};
  one.depth = kDepth, one.code_bits = RTL_CODE_BITS, one.prediction_width = RTL_WIDTH;
  one.quantiser_lanes = RTL_QUANTISER_LANES, one.merge_lanes = RTL_MERGE_LANES;
  one.numbers.query = one.numbers.key = one.numbers.value = {16, RTL_IN_POINT};
  one.numbers.output = {16, RTL_OUT_POINT};
  one.numbers.sum = {RTL_BITS, RTL_POINT}, one.numbers.score = {RTL_SCORE_BITS, RTL_SCORE_POINT};
  one.numbers.accumulator_bits = RTL_SUM_BITS;
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  one.query_rows = kRows, one.key_tokens = one.score_keys = kKeys, one.block_slots = RTL_SLOTS;
  one.bandwidth = static_cast<double>(kStream) * one.frequency, one.latency = latency;
  return one;
}

// A matrix to run, and what the model makes of it.
struct Job {
  accelerator::Instance instance;
  accelerator::Work work;
  std::vector<float> query, key, value;
  masks::Mask mask;
  accelerator::FixedInputs fixed;
  accelerator::PredictionConstants constants;
  accelerator::Simulation expected;
};

// What follows from the work: numbers in the memory, the driver's constants, the model's answer.
inline void settle(Job& job) {
  const base::Diagnostics faults = accelerator::faults(job.instance, accelerator::sizes_of(job.work));
  for (const base::Diagnostic& fault : faults.all()) ADD_FAILURE() << fault.message;
  if (const auto& p = job.work.prediction) {
    base::Diagnostics found;
    job.constants = accelerator::prediction_constants(job.instance, accelerator::sizes_of(job.work), p->normalise, *p->query_clip,
                                                *p->key_clip, p->threshold, found);
    EXPECT_FALSE(found.has_errors());
  }
  job.fixed = accelerator::fixed_inputs(job.instance, job.work, 1);
  accelerator::SimulateOptions options;
  options.compare = false;
  job.expected = accelerator::simulate(job.instance, job.work, options);
}

// One or several matrices, of any head size, with what makes their lengths differ.
inline std::unique_ptr<Job> job_of(std::uint64_t seed, Count queries, Count keys) {
  Random random(seed);
  auto job = std::make_unique<Job>();
  accelerator::Work& work = job->work;
  job->instance = instance_of(static_cast<Count>(random() % 30));
  job->instance.overlap = random() % 4 != 0;
  const bool several = random() % 3 == 0;
  const Count batch = several ? 1 + static_cast<Count>(random() % 3) : 1,
              heads = several ? 1 + static_cast<Count>(random() % 3) : 1;
  work.shape = {batch, heads, queries, keys};
  constexpr Count kStep = std::max<Count>(kStream / 2, 1);
  work.depth = random() % 3 == 0 ? kStep * (1 + static_cast<Count>(random() % (kDepth / kStep))) : kDepth;
  work.scale = random() % 3 == 0 ? 1 : 1 / std::sqrt(static_cast<double>(kDepth));
  std::normal_distribution<float> normal(0, random() % 4 == 0 ? 3 : 1);
  const auto fill = [&](std::vector<float>& x, Count tokens) {
    x.resize(static_cast<std::size_t>(batch * heads * tokens * work.depth));
    for (float& one : x) one = normal(random);
    if (random() % 4 == 0) x[random() % x.size()] = 1000;
    return x.data();
  };
  work.query = fill(job->query, queries), work.key = fill(job->key, keys), work.value = fill(job->value, keys);
  work.causal = random() % 3 == 0;
  // Tokens that are there; of several sequences some are short, or empty, but not all.
  std::vector<std::uint8_t> rows, columns;
  if (several || random() % 2 == 0) {
    const Count full = static_cast<Count>(random() % static_cast<std::uint64_t>(batch));
    const auto tokens = [&](std::vector<std::uint8_t>& valid, Count count) {
      for (Count b = 0; b < batch; ++b) {
        const Count end = b == full ? count : static_cast<Count>(random() % static_cast<std::uint64_t>(count + 1));
        for (Count i = 0; i < count; ++i) valid.push_back(i + 1 == end || (i < end && random() % 4 != 0) ? 1 : 0);
      }
    };
    tokens(rows, queries), tokens(columns, keys);
  }
  if (random() % 4 != 0) {
    const double threshold = random() % 8 == 0 ? 0 : static_cast<double>(1 + random() % 200) / 1000;
    work.prediction = accelerator::Prediction{threshold, random() % 4 != 0, 0.5, 0.7};
    work.valid_rows = rows, work.valid_columns = columns;
  } else {
    job->mask = masks::Mask(work.shape);
    job->mask.causal = work.causal;
    job->mask.valid_rows = rows, job->mask.valid_columns = columns;
    const std::uint64_t percent = random() % 60;
    for (Count b = 0; b < batch; ++b)
      for (Count h = 0; h < heads; ++h)
        for (Count r = 0; r < queries; ++r)
          for (Count c = 0; c < keys; ++c)
            if (random() % 100 < percent) job->mask.keep(b, h, r, c);
    work.mask = &job->mask;
  }
  settle(*job);
  return job;
}

class Memory {
 public:
  explicit Memory(const Job& job)
      : driven_(accelerator::driver_run(job.instance, job.work, job.fixed, job.constants, job.expected, kStream, kRegion)),
        regions_(driven_.memory) {
    regions_[kOutputs].clear();
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
  // What the driver writes; its outputs are the model's.
  const accelerator::DriverRun& driven() const { return driven_; }

  // How outputs differ from the model's, if they do.
  std::string outputs_differ() const {
    const auto &have = regions_[kOutputs], &want = driven_.memory[kOutputs];
    std::string what = differs("bytes of outputs", 0, have.size(), want.size());
    for (std::size_t i = 0; i + 1 < want.size() && what.empty(); i += 2)
      what = differs("outputs", i / 2, have[i] | static_cast<unsigned>(have[i + 1]) << 8U,
                     want[i] | static_cast<unsigned>(want[i + 1]) << 8U);
    return what;
  }

 private:
  static constexpr auto kOutputs = static_cast<std::size_t>(accelerator::Region::kOutputs);
  accelerator::DriverRun driven_;
  std::array<std::vector<std::uint8_t>, accelerator::kRegions> regions_;
};

// The memory's side of the port: words of requests in their order, each request's after a latency, at full speed or
// with gaps in all that it takes and gives.
class MemoryPort {
 public:
  MemoryPort(Memory& memory, Count latency, bool gaps, std::uint64_t seed)
      : memory_(memory), latency_(latency), gaps_(gaps), random_(seed) {}

  // Before the clock's edge, with the request of this cycle on the pins; what is wrong with it, or nothing.
  std::string step(Vdut& dut) {
    dut.in_valid = dut.out_ready = dut.out_done = 0;
    dut.request_ready = gap() ? 0 : 1;
    dut.clk = 0;
    dut.eval();
    std::string what = take_request(dut);
    if (!reads_.empty() && reads_.front().from <= now_ && !gap()) give(dut);
    if (write_.beats > 0 && !gap()) take(dut);
    if (!acknowledged_.empty() && acknowledged_.front() <= now_ && !gap()) {
      dut.out_done = 1;
      acknowledged_.erase(acknowledged_.begin());
    }
    dut.eval();
    ++now_;
    return what;
  }

  // Words or an answer are on their way.
  bool owes() const { return !reads_.empty() || write_.beats > 0 || !acknowledged_.empty(); }
  // Which kinds of requests followed each other: by the regions that they read or write.
  const std::vector<int>& kinds() const { return kinds_; }

 private:
  struct Transfer {
    std::uint32_t address = 0, beats = 0;
    Count from = 0;
  };
  bool gap() { return gaps_ && random_() % 3 == 0; }

  std::string take_request(const Vdut& dut) {
    if (held_ && (dut.request == 0 || dut.request_address != asked_.address || dut.request_beats != asked_.beats))
      return "a request that changes before it is taken";
    if (dut.request == 0) return {};
    asked_ = {dut.request_address, dut.request_beats, now_ + latency_ + (gap() ? 5 : 0)};
    held_ = dut.request_ready == 0;
    if (held_) return {};
    if (asked_.beats == 0) return "a request of nothing";
    if (write_.beats > 0) return "a request while words are sent";
    kinds_.push_back(static_cast<int>(asked_.address / kRegion));
    if (dut.request_write != 0)
      write_ = asked_;
    else
      reads_.push_back(asked_);
    return reads_.size() > 8 ? "more requests than the port says" : "";
  }
  void give(Vdut& dut) {
    Transfer& read = reads_.front();
    dut.in_valid = 1;
    for (Count i = 0; i < kStream; ++i) drive(dut.in_data, memory_.read(read.address++), 8, static_cast<int>(i));
    if (--read.beats == 0) reads_.erase(reads_.begin());
  }
  void take(Vdut& dut) {
    dut.out_ready = 1;
    dut.eval();
    if (dut.out_valid == 0) return;
    for (Count i = 0; i < kStream; ++i)
      memory_.write(write_.address++, static_cast<std::uint8_t>(pins(dut.out_data, 8, static_cast<int>(i))));
    if (--write_.beats == 0) acknowledged_.push_back(now_ + latency_);
  }

  Memory& memory_;
  Count latency_, now_ = 0;
  bool gaps_, held_ = false;
  Random random_;
  Transfer asked_, write_;
  std::vector<Transfer> reads_;
  std::vector<Count> acknowledged_;
  std::vector<int> kinds_;
};

}  // namespace orrery::rtl
