// Where Orrery's default differs from a code it replaces, and the switches that bring the difference
// back (`--compat timeloop`). docs/compatibility.md lists each with its effect in figures.
#pragma once

namespace orrery::nest {

struct ModelOptions {
  bool omit_compute_leakage = false;       // the compute units' own leakage is left out of the total
  bool charge_pass_through = false;        // fan-outs without a store leak what their table entry says
  bool missing_multicast_is_free = false;  // a multicast to more destinations than the table has costs 0
  bool drain_latency_is_fill = false;      // the network's drain latency repeats its fill latency
  bool throttle_in_doubles = false;        // cycles = ceil(cc / min(1, R / sum(reads / cc))) in doubles; default: exact

  bool count_drain_reads = false;   // a keeper of outputs is read once more for each value it sends up
  bool fractional_blocks = false;   // part of a block costs that part of its energy
  bool no_network_latency = false;  // fill and drain latencies are left out

  static ModelOptions timeloop() { return {true, true, true, true, true}; }
  // FactorFlow's model (Ronzani and Silvano, ASP-DAC 2025). Its stalls propagate outwards from level to level,
  // which over the whole run comes to the same as the slowest level's cycles.
  static ModelOptions factorflow() {
    ModelOptions options;
    options.omit_compute_leakage = options.count_drain_reads = options.fractional_blocks = options.no_network_latency =
        true;
    return options;
  }
};

}  // namespace orrery::nest
