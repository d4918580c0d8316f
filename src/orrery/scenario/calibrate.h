// Fitting the constants of a system to measured runs, and how well they predict runs that took no part.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "orrery/cluster/system.h"
#include "orrery/scenario/validate.h"

namespace orrery::scenario {

// The constants that are fitted, as systems write them.
inline constexpr std::array<std::string_view, 6> kFittedConstants = {
    "accelerator.matrix_efficiency", "accelerator.fill_depth", "accelerator.host_time_per_operator",
    "calibration.collective_time",   "calibration.jitter",     "calibration.loss_bytes_per_logit"};
using FittedConstants = std::array<double, kFittedConstants.size()>;  // in base units, in that order

FittedConstants fitted_constants(const cluster::System& system);
cluster::System with_constants(cluster::System system, const FittedConstants& constants);

// A run to fit to; `weight` of its squared error.
struct WeightedRun {
  const MeasuredRun* run = nullptr;
  double weight = 1;
};

// Every set gets the same weight in all, shared evenly among its runs of use `use`.
std::vector<WeightedRun> weighted(const std::vector<MeasuredSet>& sets, Use use);

// The constants that minimise the sum of weight x Huber(log(predicted / measured)), threshold 0.05, found from `start`
// by Levenberg-Marquardt on their logarithms. Deterministic. At most `steps` steps of 8 evaluations of every run. All
// runs measure iteration_s.
FittedConstants fit(const cluster::System& system, const std::vector<WeightedRun>& runs, const FittedConstants& start,
                    int steps = 60);

// Relative error of a run under the system's constants.
double error_of(const MeasuredRun& run, const cluster::System& system);

}  // namespace orrery::scenario
