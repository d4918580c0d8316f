#include "orrery/scenario/sparse_rtl.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "orrery/array/driver.h"
#include "orrery/scenario/sparse_arrays.h"

namespace orrery::scenario {
namespace {

using base::Count;

bool power_of_two(Count n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

void check(const SparseRtlRequest& r, base::Diagnostics& found) {
  const auto demand = [&](bool holds, const std::string& what, const std::string& arithmetic, const char* way_out) {
    if (!holds) found.error("O1970", what).note(arithmetic).hint(way_out);
  };
  const auto multiple = [&](const char* what, Count n, const char* of, Count m) {
    demand(m > 0 && n % m == 0, fmt::format("{} is no multiple of {}", what, of),
           fmt::format("{} = {} x {} + {}", n, m > 0 ? n / m : 0, m, m > 0 ? n % m : n), "give sizes that divide");
  };
  demand(power_of_two(r.width), fmt::format("a prediction array of {} columns", r.width),
         "the key's number is cut into a pass and a column: a power of two", "give `--width` 16, 32 or 64");
  demand(power_of_two(r.word), fmt::format("a memory whose words have {} bytes", r.word), "a power of two",
         "give `--word` 8, 16, 32 or 64");
  multiple("a token's 2 x `--depth` bytes", 2 * r.depth, "`--word`", r.word);
  multiple("`--depth`", r.depth, "`--lanes`", r.lanes);
  multiple("`--keys`", r.keys, "`--width`", r.width);
  const Count column = base::ceil_divide(r.rows, Count{8});
  demand(power_of_two(column) && column <= r.word, fmt::format("masks of {} rows", r.rows),
         fmt::format("a column has {} bytes: a power of two, at most the memory's word of {}", column, r.word),
         "give `--rows` 8, 16, 32 or 64");
}

array::Instance instance_of(const SparseRtlRequest& r) {
  array::Instance one;
  one.array = {r.rows, r.pes, r.ports};
  one.depth = r.depth, one.code_bits = static_cast<int>(r.bits), one.prediction_width = r.width;
  one.quantiser_lanes = one.merge_lanes = r.lanes;
  one.query_rows = r.rows, one.key_tokens = one.score_keys = r.keys;
  one.block_slots = 1, one.overlap = false;
  one.bandwidth = static_cast<double>(r.word) * one.frequency, one.latency = 20;
  return one;
}

std::vector<std::pair<std::string, Count>> parameters_of(const SparseRtlRequest& r, const array::Instance& instance) {
  const array::Numbers& n = instance.numbers;
  return {{"ROWS", r.rows},
          {"PES", r.pes},
          {"PORTS", r.ports},
          {"DEPTH", r.depth},
          {"KEYS", r.keys},
          {"WIDTH", r.width},
          {"CODE_BITS", r.bits},
          {"QUANTISER_LANES", r.lanes},
          {"MERGE_LANES", r.lanes},
          {"NORM_BITS", array::widths(instance).norm},
          {"IN_POINT", n.query.point},
          {"BITS", n.sum.bits},
          {"POINT", n.sum.point},
          {"SCORE_BITS", n.score.bits},
          {"SCORE_POINT", n.score.point},
          {"OUT_POINT", n.output.point},
          {"SUM_BITS", n.accumulator_bits},
          {"TABLE_BITS", instance.exponential.table_bits},
          {"LONG", instance.exponential.long_log2 ? 1 : 0},
          {"STREAM", r.word}};
}

// A matrix to run, with numbers of its own.
struct Vectors {
  array::Work work;
  std::vector<float> query, key, value;
  sparse::Mask mask;
};

void draw(const SparseRtlRequest& r, Vectors& v, std::vector<base::Input>& inputs) {
  std::mt19937_64 random(r.seed);
  Count queries = r.tokens.value_or(std::min(r.keys, 2 * r.rows)), keys = queries;
  if (!r.mask.empty()) {
    inputs.emplace_back();
    const sparse::Mask all = read_mask(r.mask, r.columns, &inputs.back());
    queries = all.shape().rows, keys = all.shape().columns;
    if (keys > r.keys || keys < 1 || queries < 1)
      base::fail(
          "O1971", fmt::format("`{}`, a mask of {} x {}, does not fit", r.mask, queries, keys), {},
          fmt::format("build it with `--keys` {}", base::ceil_divide(std::max<Count>(keys, 1), r.width) * r.width));
    v.mask = sparse::Mask({1, 1, queries, keys});
    v.mask.causal = all.causal;
    for (Count row = 0; row < queries; ++row)
      for (Count column = 0; column < keys; ++column)
        if (all.kept(0, 0, row, column)) v.mask.keep(0, 0, row, column);
    v.work.mask = &v.mask;
  } else {
    if (keys > r.keys)
      base::fail("O1971", fmt::format("vectors of {} tokens do not fit", keys), {},
                 fmt::format("build it with `--keys` {}", base::ceil_divide(keys, r.width) * r.width));
    v.work.prediction = array::Prediction{r.threshold, true, 0.5, 0.5};
  }
  // Uniform whole numbers, so that the same seed gives the same file with every standard library.
  const auto fill = [&](std::vector<float>& x, Count tokens, float reach) {
    x.resize(static_cast<std::size_t>(tokens * r.depth));
    for (float& one : x) one = (static_cast<float>(random() >> 44U) / 524288.0F - 1) * reach;
    return x.data();
  };
  v.work.shape = {1, 1, queries, keys}, v.work.depth = r.depth;
  v.work.scale = 1 / std::sqrt(static_cast<double>(r.depth));
  v.work.query = fill(v.query, queries, 4), v.work.key = fill(v.key, keys, 2), v.work.value = fill(v.value, keys, 2);
}

std::string vectors_text(const array::DriverRun& run, const array::Instance& instance) {
  std::string text = fmt::format("latency {}\ncycles {}\nblocks {}\n", instance.latency, run.cycles, run.blocks);
  for (std::size_t region = 0; region < run.memory.size(); ++region) {
    const auto& bytes = run.memory[region];
    const bool expected = region == static_cast<std::size_t>(array::Region::kOutputs);
    for (std::size_t at = 0; at < bytes.size(); at += 64) {
      text += fmt::format("{} {:x} ", expected ? "expect" : "memory", run.bases[region] + at);
      for (std::size_t i = at; i < std::min(at + 64, bytes.size()); ++i) text += fmt::format("{:02x}", bytes[i]);
      text += "\n";
    }
  }
  for (const array::RegisterWord& word : run.words) text += fmt::format("write {:x} {:x}\n", word.address, word.value);
  return text;
}

std::string register_page() {
  std::string text =
      "# Registers\n\n32-bit words at byte addresses (hexadecimal). R: of the machine; RW: written while it is not "
      "BUSY; W1C: bits "
      "written as 1 become 0. What is not allowed changes nothing and sets ERROR; so does a START with several "
      "sequences or heads, "
      "another head size than DEPTH_MOST, addresses beyond 32 bits, given blocks or overlap.\n\n"
      "| address | name | bits | | reset | |\n|---|---|---|---|---|---|\n";
  constexpr const char* kAccess[] = {"R", "RW", "W1C"};
  for (const array::RegisterInfo& r : array::registers())
    text += fmt::format("| {:03x} | {} | {} | {} | {:x} | {} |\n", r.address, r.name, r.bits,
                        kAccess[static_cast<std::size_t>(r.access)], r.reset, r.meaning);
  return text + fmt::format(
                    "| {:03x} | LENGTH | 32 | RW | 0 | queries up to the last valid one in the low half, keys in the "
                    "high one |\n",
                    array::kLengths);
}

std::string register_header() {
  std::string text =
      "/* Byte addresses of the accelerator's registers: registers.md. */\n#ifndef ORRERY_REGISTERS_H\n"
      "#define ORRERY_REGISTERS_H\n\n";
  for (const array::RegisterInfo& r : array::registers())
    text += fmt::format("#define ORRERY_{} 0x{:03x}u\n", r.name, r.address);
  return text + fmt::format("#define ORRERY_LENGTH 0x{:03x}u\n\n#endif\n", array::kLengths);
}

}  // namespace

SparseRtl write_rtl(const SparseRtlRequest& request) {
  base::Diagnostics found;
  check(request, found);
  found.throw_if_errors();
  SparseRtl out;
  out.instance = instance_of(request);
  Vectors vectors;
  draw(request, vectors, out.inputs);
  array::faults(out.instance, array::sizes_of(vectors.work)).throw_if_errors();
  out.parameters = parameters_of(request, out.instance);

  array::PredictionConstants constants;
  if (const auto& p = vectors.work.prediction) {
    constants = array::prediction_constants(out.instance, array::sizes_of(vectors.work), p->normalise, *p->query_clip,
                                            *p->key_clip, p->threshold, found);
    found.throw_if_errors();
  }
  array::SimulateOptions options;
  options.compare = false;
  const array::Simulation simulation = array::simulate(out.instance, vectors.work, options);
  const array::DriverRun run =
      array::driver_run(out.instance, vectors.work, array::fixed_inputs(out.instance, vectors.work, 1), constants,
                        simulation, request.word);
  out.cycles = run.cycles, out.blocks = run.blocks;

  out.files = rtl_sources();
  std::string make = fmt::format("# The instance.\nstream = {}\nparameters =", request.word), chparams;
  for (const auto& [name, value] : out.parameters) {
    make += fmt::format(" -G{}={}", name, value);
    chparams += fmt::format(" -chparam {} {}", name, value);
  }
  out.files.push_back({"instance.mk", make + "\nchparams =" + chparams + "\n"});
  out.files.push_back({"registers.md", register_page()});
  out.files.push_back({"registers.h", register_header()});
  out.files.push_back({"vectors.txt", vectors_text(run, out.instance)});
  return out;
}

}  // namespace orrery::scenario
