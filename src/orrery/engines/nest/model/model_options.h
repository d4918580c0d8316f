// Where Orrery's default differs from a code it replaces, and the switches that bring the difference back
// (`--compat timeloop`). docs/compatibility.md lists each with its effect in figures.
#pragma once

#include "orrery/base/diagnostics/defect.h"

namespace orrery::nest {

// All false: Orrery's own model.
struct ModelOptions {
  bool omit_compute_leakage = false;
  bool charge_pass_through = false;
  bool missing_multicast_is_free = false;
  bool drain_latency_is_fill = false;
  bool throttle_in_doubles = false;
  bool no_area_in_summary = false;
  bool count_drain_reads = false;  // with `fractional_blocks` only: they are counted in words
  bool fractional_blocks = false;
  bool no_network_latency = false;
  bool whole_rounds = false;
  bool scale_rounded_blocks = false;
  bool link_transfers = false;

  static constexpr ModelOptions timeloop();
  // FactorFlow's model (Ronzani and Silvano, ASP-DAC 2025). Its stalls propagate outwards from level to level,
  // which over the whole run comes to the same as the slowest level's cycles.
  static constexpr ModelOptions factorflow();
};

inline constexpr base::Defect<ModelOptions> kModelDefects[] = {
    {"omit_compute_leakage", &ModelOptions::omit_compute_leakage, "timeloop factorflow",
     "the compute units' own leakage is left out of the total"},
    {"charge_pass_through", &ModelOptions::charge_pass_through, "timeloop",
     "fan-outs without a store leak what their table entry says"},
    {"missing_multicast_is_free", &ModelOptions::missing_multicast_is_free, "timeloop",
     "a multicast to more destinations than the table has costs 0"},
    {"drain_latency_is_fill", &ModelOptions::drain_latency_is_fill, "timeloop",
     "a network that is a component drains with its fill latency"},
    {"throttle_in_doubles", &ModelOptions::throttle_in_doubles, "timeloop",
     "cycles = ceil(cc / min(1, R / sum(reads / cc))) in doubles, not exactly"},
    {"no_area_in_summary", &ModelOptions::no_area_in_summary, "timeloop", "the summary of stats.txt says 0.00 mm^2"},
    {"count_drain_reads", &ModelOptions::count_drain_reads, "factorflow",
     "a level that keeps outputs is read once more for each value that it sends up; brings `fractional_blocks` along"},
    {"fractional_blocks", &ModelOptions::fractional_blocks, "factorflow",
     "part of a block costs that part of its energy"},
    {"link_transfers", &ModelOptions::link_transfers, "timeloop",
     "instances take words from neighbours on the grid that had them a step before"},
    {"whole_rounds", &ModelOptions::whole_rounds, "timeloop",
     "with imperfect factors every round of a loop takes as many cycles as the longest, and ports pass the mean of the "
     "instances"},
    {"scale_rounded_blocks", &ModelOptions::scale_rounded_blocks, "timeloop",
     "words of compressed tiles are rounded up to blocks, and these multiplied by what a tile's last block wastes; of "
     "large tiles, nothing is"},
    {"no_network_latency", &ModelOptions::no_network_latency, "factorflow", "fill and drain latencies are left out"},
};

constexpr ModelOptions ModelOptions::timeloop() {
  return base::defects_of(kModelDefects, "timeloop");
}

constexpr ModelOptions ModelOptions::factorflow() {
  return base::defects_of(kModelDefects, "factorflow");
}

}  // namespace orrery::nest
