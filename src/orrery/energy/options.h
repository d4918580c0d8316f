// Switches of the energy model.
#pragma once

#include <string>

namespace orrery::energy {

// Every default is right; `accelergy()` reproduces Accelergy 0.4 with its plug-ins, defects included
// (docs/compatibility.md lists each with its effect in figures).
struct EstimateOptions {
  // `action_share` and `area_share` of old descriptions multiply, as their authors meant. Accelergy 0.4
  // drops them silently.
  bool shares_count = true;
  // A table set without a matching row takes nothing away from what an earlier set found.
  bool keep_found_rows = true;
  // Fan-outs made for containers cost nothing. Accelergy charges 1 pJ an action and 1 um^2 each.
  bool fan_outs_are_free = true;

  // Name of an estimator that the user asked for, and how he wrote that: where it gives up and another answers, O1256.
  std::string insisted_on;
  std::string insisted_as;

  static EstimateOptions accelergy() {
    EstimateOptions options;
    options.shares_count = options.keep_found_rows = options.fan_outs_are_free = false;
    return options;
  }
};

}  // namespace orrery::energy
