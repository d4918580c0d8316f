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

  static ModelOptions timeloop() { return {true, true, true, true, true}; }
};

}  // namespace orrery::nest
