// AMPeD's time model: how long a training takes, and how much of it is computation, communication and waiting.
// quantities.h has what its equations read, by the names of AMPeD's files; search.h tries every way of splitting a
// training over nodes.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/engines/amped/quantities.h"

namespace orrery::amped {

// Constants in AMPeD's source that users of AMPeD cannot change. `kConstants` says what they mean.
struct Constants {
  double efficiency = 0.51;
  double efficiency_exponent = 0;
  double efficiency_cap = 0.91;
  double zero_gather = 0.25;
  double unit_bits = 32;
  double oversubscription = 2;
  double exposed = 1;
};

struct Constant {
  const char* name;
  double Constants::*field;
  bool may_be_zero;
  double most;
  const char* description;
};
inline constexpr double kMostOfConstants = 1e6;
inline constexpr std::array kConstants = {
    Constant{"efficiency", &Constants::efficiency, false, 1,
             "Share of the peak that MACs reach, for a microbatch of one sequence."},
    Constant{"efficiency_exponent", &Constants::efficiency_exponent, true, kMostOfConstants,
             "p of min(cap, efficiency b^p) for a microbatch of b sequences; 0: the same for every microbatch."},
    Constant{"efficiency_cap", &Constants::efficiency_cap, false, 1, "Of that curve."},
    Constant{"zero_gather", &Constants::zero_gather, true, kMostOfConstants,
             "Further communication for gathering sharded weights (z)."},
    Constant{"unit_bits", &Constants::unit_bits, false, kMostOfConstants, "Width of a functional unit (W)."},
    Constant{"oversubscription", &Constants::oversubscription, false, kMostOfConstants,
             "Of the network between nodes."},
    Constant{"exposed", &Constants::exposed, true, 1,
             "Exposed share of the gradients' all-reduce and of the bubble (r)."},
};

struct Model {
  Constants constants;
  Defects defects;

  static Model original() { return {{}, base::defects_of(kDefects, "amped")}; }  // `--compat amped`
};

// Seconds of one pass through one layer with the whole global batch.
struct Communication {
  double tp_intra = 0, tp_inter = 0, pp = 0;
  double experts = 0;  // one of the two exchanges of a mixture
  double gather = 0;   // of sharded weights
  double total = 0;
};

struct Times {
  double mac_s = 0, nonlinear_s = 0;  // of one operation
  // Computation of one layer with the whole global batch on a single accelerator; gradients with respect to inputs and
  // to weights apart.
  double forward_s = 0, backward_s = 0, weight_gradient_s = 0;
  double gating_s = 0;  // part of the three
  Communication forward, backward;
  double dp_intra_s = 0, dp_inter_s = 0, dp_s = 0;  // all-reduce of a layer's gradients
  double bubble_s = 0;                              // waiting of a layer
  double layer_s = 0;                               // a layer's share of an iteration
  double iteration_s = 0, total_s = 0, days = 0;
};

// Pure; reads the quantities that `time_reads` names. Where these are finite and positive as their domains say,
// so are the results, overflow apart.
Times times_of(const Quantities& quantities, const Model& model);

// Names of the quantities that the time model reads.
const std::vector<std::string_view>& time_reads();

// MACs of the whole training, all accelerators.
double total_macs(const Quantities& quantities);

}  // namespace orrery::amped
