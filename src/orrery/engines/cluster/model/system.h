// The machine: accelerators, the networks that join them, and the constants that were calibrated. Plain data.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/collective/collective.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/software_stack.h"

namespace orrery::cluster {

// Software overheads, which no data sheet gives. The defaults, without calibration, are those of an ideal machine.
struct Calibration {
  double jitter_seconds = 0;              // wait of each all-reduce inside a layer, for each rank beyond the first
  double loss_bytes_per_logit = 44;       // cross-entropy's traffic, forward and backward, at 16-bit logits
  double iteration_seconds = 0;           // fixed, each iteration
  double optimizer_bytes_per_param = 30;  // the step's traffic at mixed precision
};

// The origin of a calibrated value. `name` is the field's path in the system file.
struct Constant {
  std::string name;
  double value = 0;
  std::string unit;
  std::string origin;     // "data sheet", "fitted", "set"
  std::string fitted_on;  // the data, for a fitted one
  std::string words;      // its origin in full: the source, what was assumed, "--set"; empty: the file alone
};

struct System {
  std::string name;
  machine::Accelerator accelerator;
  base::Count node_size = 1;  // accelerators that share a host
  base::Count max_gpus = 0;   // 0: no limit
  collective::Fabric fabric;  // innermost first; level 0 joins the accelerators of a node
  Calibration calibration;
  Stack stack;                      // what its runs are on where nobody says another
  std::vector<Constant> constants;  // for display: `evaluate` reads the fields above
  double price_per_gpu_hour = 0;    // 0: unknown
  double watts_per_gpu = 0;
  double pue = 1;  // power usage effectiveness: what the site draws over what its accelerators do
};

}  // namespace orrery::cluster
