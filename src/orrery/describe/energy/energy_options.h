// Switches of the energy model.
#pragma once

#include <string>

#include "orrery/base/diagnostics/defect.h"

namespace orrery::energy {

// What Accelergy 0.4 with its plug-ins does otherwise; all false: Orrery's own. docs/compatibility.md lists each with
// its effect in figures.
struct Defects {
  bool drop_shares = false;
  bool forget_found_rows = false;
  bool charge_fan_outs = false;
  bool published_last = false;

  bool operator==(const Defects&) const = default;
};

inline constexpr base::Defect<Defects> kDefects[] = {
    {"drop_shares", &Defects::drop_shares, "accelergy-0.4",
     "`action_share` and `area_share` of old descriptions are dropped instead of multiplied"},
    {"forget_found_rows", &Defects::forget_found_rows, "accelergy-0.4",
     "a table set without a matching row takes away what a less accurate set has found"},
    {"charge_fan_outs", &Defects::charge_fan_outs, "accelergy-0.4",
     "fan-outs made for containers, and all of technology -1, cost 1 pJ an action and 1 um^2 each"},
    {"published_last", &Defects::published_last, "accelergy-0.4",
     "figures of published circuits answer only where nothing else does"},
};

struct EstimateOptions {
  Defects defects;

  // Name of an estimator that the user asked for, and the option that did: if another one answers, O1256 warns.
  std::string insisted_on;
  std::string insisted_as;

  static EstimateOptions accelergy() { return {base::defects_of(kDefects, "accelergy-0.4"), {}, {}}; }
};

}  // namespace orrery::energy
