#include "orrery/verbs/sparse/rtl/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "orrery/engines/accelerator/driver.h"
#include "orrery/verbs/sparse/rtl/rtl_vectors.h"

namespace orrery::verbs {
namespace {

using base::Count;

bool power_of_two(Count n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

// What `sparse simulate` models and the hardware does not have.
void check_built(const SparseRtlRequest& r, base::Diagnostics& found) {
  const accelerator::Instance& one = r.choice.instance;
  const auto refuse = [&](bool asked, const std::string& what, const char* why, const char* way_out) {
    if (asked) found.error("O1972", fmt::format("the hardware has no {}", what)).note(why).hint(way_out);
  };
  refuse(r.choice.packing != "pack", "blocks packed beforehand",
         "its packer makes the blocks, a column of the mask a cycle; none are loaded",
         "leave out `--packing`; `orrery sparse simulate` models them");
  const Count keys = r.keys.value_or(0);
  refuse(r.choice.key_tokens && *r.choice.key_tokens != keys, "key memory of a size of its own",
         "all keys and values of a matrix stay in its memories; blocks do not fetch theirs",
         "give `--keys`, how many a matrix may have, in its place");
  refuse(r.choice.score_keys && *r.choice.score_keys != keys, "score memory of a size of its own",
         "scores, codes, keys and values have room for as many keys", "give `--keys` in its place");
  refuse(r.choice.query_rows && *r.choice.query_rows != one.array.rows, "query memory larger than the array",
         "a tile has a query for each row: more are used only by blocks packed beforehand", "leave out `--query-rows`");
  const accelerator::Numbers& n = one.numbers;
  refuse(n.query.bits != 16, fmt::format("numbers of {} bits in the memory", n.query.bits),
         "they are 16 bits, two bytes each", "give `--format` 16 bits, as 16.12");
  refuse(n.sum.bits != 32 || n.sum.point != 16, fmt::format("sums of {}.{}", n.sum.bits, n.sum.point),
         "its array is tested with the published 32.16 alone", "leave out `--sums`");
  refuse(r.choice.dram != "HBM2" || r.choice.technology != "45nm", "price",
         "`--dram` and `--technology` belong to energies and areas", "ask `orrery sparse simulate` for them");
}

void check(const SparseRtlRequest& r, const accelerator::Instance& one, Count depth, base::Diagnostics& found) {
  const auto demand = [&](bool holds, const std::string& what, const std::string& arithmetic, const char* way_out) {
    if (!holds) found.error("O1970", what).note(arithmetic).hint(way_out);
  };
  const auto multiple = [&](const char* what, Count n, const char* of, Count m) {
    demand(m > 0 && n % m == 0, fmt::format("{} is no multiple of {}", what, of),
           fmt::format("{} = {} x {} + {}", n, m > 0 ? n / m : 0, m, m > 0 ? n % m : n), "give sizes that divide");
  };
  demand(power_of_two(one.prediction_width), fmt::format("a prediction array of {} columns", one.prediction_width),
         "the key's number is cut into a pass and a column: a power of two", "give `--prediction-width` 16, 32 or 64");
  demand(power_of_two(r.word), fmt::format("a memory whose words have {} bytes", r.word), "a power of two",
         "give `--word` 8, 16, 32 or 64");
  multiple("a token's 2 x `--depth` bytes", 2 * one.depth, "`--word`", r.word);
  if (depth != one.depth) multiple("a token's 2 x head size bytes", 2 * depth, "`--word`", r.word);
  multiple("`--depth`", one.depth, "`--quantiser-lanes`", one.quantiser_lanes);
  multiple("`--depth`", one.depth, "`--merge-lanes`", one.merge_lanes);
  multiple("`--keys`", one.score_keys, "`--prediction-width`", one.prediction_width);
  const Count column = base::ceil_divide(one.array.rows, Count{8});
  demand(power_of_two(column) && column <= r.word, fmt::format("masks of {} rows", one.array.rows),
         fmt::format("a column has {} bytes: a power of two, at most the memory's word of {}", column, r.word),
         "give `--rows` 8, 16, 32 or 64");
}

// As many lanes as divide the head size, 16 at most.
Count lanes_of(Count depth) {
  Count lanes = std::min<Count>(16, depth);
  while (depth % lanes != 0) --lanes;
  return lanes;
}

accelerator::Instance instance_of(const SparseRtlRequest& r, Count depth, Count code_bits) {
  accelerator::Instance one = r.choice.instance;
  one.depth = r.depth.value_or(std::max<Count>(depth, 1));
  one.code_bits = static_cast<int>(r.bits.value_or(code_bits));
  one.prediction_width = r.choice.prediction_width.value_or(64);
  one.quantiser_lanes = r.choice.quantiser_lanes.value_or(lanes_of(one.depth));
  one.merge_lanes = r.choice.merge_lanes.value_or(lanes_of(one.depth));
  one.query_rows = one.array.rows, one.key_tokens = one.score_keys = r.keys.value_or(512);
  one.block_slots = r.choice.block_slots.value_or(16), one.overlap = !r.choice.one_after_another;
  one.bandwidth = static_cast<double>(r.word) * one.frequency, one.latency = r.choice.latency.value_or(100);
  return one;
}

std::vector<std::pair<std::string, Count>> parameters_of(const SparseRtlRequest& r, const accelerator::Instance& one) {
  const accelerator::Numbers& n = one.numbers;
  return {{"ROWS", one.array.rows},
          {"PES", one.array.pes},
          {"PORTS", one.array.ports},
          {"DEPTH", one.depth},
          {"KEYS", one.score_keys},
          {"SLOTS", one.block_slots},
          {"SEQUENCES", r.sequences.value_or(16)},
          {"WIDTH", one.prediction_width},
          {"CODE_BITS", one.code_bits},
          {"QUANTISER_LANES", one.quantiser_lanes},
          {"MERGE_LANES", one.merge_lanes},
          {"NORM_BITS", accelerator::widths(one).norm},
          {"IN_POINT", n.query.point},
          {"BITS", n.sum.bits},
          {"POINT", n.sum.point},
          {"SCORE_BITS", n.score.bits},
          {"SCORE_POINT", n.score.point},
          {"OUT_POINT", n.output.point},
          {"SUM_BITS", n.accumulator_bits},
          {"TABLE_BITS", one.exponential.table_bits},
          {"LONG", one.exponential.long_log2 ? 1 : 0},
          {"STREAM", r.word}};
}

std::string vectors_text(const accelerator::DriverRun& run, const accelerator::Instance& instance) {
  std::string text = fmt::format("latency {}\ncycles {}\nblocks {}\n", instance.latency, run.cycles, run.blocks);
  for (std::size_t region = 0; region < run.memory.size(); ++region) {
    const auto& bytes = run.memory[region];
    const bool expected = region == static_cast<std::size_t>(accelerator::Region::kOutputs);
    for (std::size_t at = 0; at < bytes.size(); at += 64) {
      text += fmt::format("{} {:x} ", expected ? "expect" : "memory", run.bases[region] + at);
      for (std::size_t i = at; i < std::min(at + 64, bytes.size()); ++i) text += fmt::format("{:02x}", bytes[i]);
      text += "\n";
    }
  }
  for (const accelerator::RegisterWord& word : run.words)
    text += fmt::format("write {:x} {:x}\n", word.address, word.value);
  return text;
}

std::string register_page(const accelerator::Instance& instance, Count sequences) {
  const accelerator::RegisterFile reset(instance);
  std::string text =
      "# Registers\n\n32-bit words at byte addresses (hexadecimal). R: of the machine; RW: written while it is not "
      "BUSY; W1C: bits "
      "written as 1 become 0. What is not allowed changes nothing and sets ERROR; so does a START with "
      "more sequences than LENGTH words, more keys than KEYS_MOST, a head size beyond DEPTH_MOST or of which a token "
      "fills no whole words, addresses beyond 32 bits, or given blocks.\n\n"
      "| address | name | bits | | reset | |\n|---|---|---|---|---|---|\n";
  constexpr const char* kAccess[] = {"R", "RW", "W1C"};
  for (const accelerator::RegisterInfo& r : accelerator::registers())
    text += fmt::format("| {:03x} | {} | {} | {} | {:x} | {} |\n", r.address, r.name, r.bits,
                        kAccess[static_cast<std::size_t>(r.access)], reset.read(r.address), r.meaning);
  return text +
         fmt::format(
             "| {:03x} + 4 i | LENGTH i | 32 | RW | 0 | of sequence i < {}: queries up to the last valid one in the "
             "low half, keys in the high one |\n",
             accelerator::kLengths, sequences);
}

std::string register_header(Count sequences) {
  std::string text =
      "/* The accelerator's registers, by byte address, and their bits: registers.md. */\n#ifndef ORRERY_REGISTERS_H\n"
      "#define ORRERY_REGISTERS_H\n\n";
  for (const accelerator::RegisterInfo& r : accelerator::registers())
    text += fmt::format("#define ORRERY_{} 0x{:03x}u\n", r.name, r.address);
  text += fmt::format("#define ORRERY_LENGTH 0x{:03x}u /* of sequence i at 4 i behind it, i below ORRERY_LENGTHS */\n",
                      accelerator::kLengths);
  text += fmt::format("#define ORRERY_LENGTHS {}u\n\n", sequences);
  constexpr std::pair<const char*, std::uint32_t> kBits[] = {
      {"CONTROL_START", accelerator::kStart},     {"CONTROL_INTERRUPT", accelerator::kInterrupts},
      {"CONTROL_PREDICT", accelerator::kPredict}, {"CONTROL_NORMALISE", accelerator::kNormalise},
      {"CONTROL_CAUSAL", accelerator::kCausal},   {"CONTROL_OVERLAP", accelerator::kOverlap},
      {"STATUS_BUSY", accelerator::kBusy},        {"STATUS_DONE", accelerator::kDone},
      {"STATUS_ERROR", accelerator::kError}};
  for (const auto& [name, bit] : kBits) text += fmt::format("#define ORRERY_{} 0x{:02x}u\n", name, bit);
  return text + "\n#endif\n";
}

}  // namespace

SparseRtl write_rtl(const SparseRtlRequest& request) {
  base::Diagnostics found;
  check_built(request, found);
  found.throw_if_errors();
  SparseRtl out;
  // What runs says what is built, where that is left open.
  const RtlVectors vectors(request, out.inputs, out.warnings);
  accelerator::Instance& instance = out.instance;
  instance = instance_of(request, vectors.depth, vectors.code_bits);
  check(request, instance, vectors.depth, found);
  found.throw_if_errors();
  if (vectors.keys > instance.score_keys)
    base::fail("O1971", fmt::format("vectors of {} keys do not fit", vectors.keys), {},
               fmt::format("build it with `--keys` {}",
                           base::ceil_divide(vectors.keys, instance.prediction_width) * instance.prediction_width));
  const accelerator::Work& work = vectors.work;
  accelerator::faults(instance, accelerator::sizes_of(work)).throw_if_errors();
  out.parameters = parameters_of(request, instance);

  accelerator::PredictionConstants constants;
  if (const auto& p = work.prediction) {
    const auto largest = accelerator::largest_magnitudes(work, p->normalise, 1);
    constants = accelerator::prediction_constants(instance, accelerator::sizes_of(work), p->normalise,
                                                  p->query_clip.value_or(largest.first),
                                                  p->key_clip.value_or(largest.second), p->threshold, found);
    found.throw_if_errors();
  }
  accelerator::SimulateOptions options;
  options.compare = false;
  const accelerator::Simulation simulation = accelerator::simulate(instance, work, options);
  const accelerator::DriverRun run = accelerator::driver_run(
      instance, work, accelerator::fixed_inputs(instance, work, 1), constants, simulation, request.word);
  out.cycles = run.cycles, out.blocks = run.blocks;

  out.files = rtl_sources();
  std::string make = fmt::format("# The instance.\nstream = {}\nparameters =", request.word), chparams;
  for (const auto& [name, value] : out.parameters) {
    make += fmt::format(" -G{}={}", name, value);
    chparams += fmt::format(" -chparam {} {}", name, value);
  }
  out.files.push_back({"instance.mk", make + "\nchparams =" + chparams + "\n"});
  const Count sequences = request.sequences.value_or(16);
  out.files.push_back({"registers.md", register_page(instance, sequences)});
  out.files.push_back({"registers.h", register_header(sequences)});
  out.files.push_back({"vectors.txt", vectors_text(run, instance)});
  return out;
}

}  // namespace orrery::verbs
