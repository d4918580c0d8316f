// Fitting the constants of a system to measured runs, and how well they predict runs that took no part: the check that
// a system's file says what the fit finds.
//
// Idea: the constants enter the time almost linearly, so a few damped Gauss-Newton steps on their logarithms suffice;
// outliers (unusual meshes, whose causes the model does not have) count linearly, not squared, by Huber's weights.
//
//   minimise sum w rho(r), r = log(predicted / measured), rho(r) = r^2/2 for |r| < 0.05, else 0.05 (|r| - 0.025)
//
// Source: Levenberg 1944, Marquardt 1963; Huber 1964. Cost: (constants + 1) evaluations of each run a step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/verbs/validate/run.h"

namespace orrery::verbs::testing {

// The constants that are fitted, as systems write them.
inline constexpr std::array<std::string_view, 6> kFittedConstants = {
    "accelerator.matrix_efficiency", "accelerator.fill_depth", "accelerator.host_time_per_operator",
    "calibration.collective_time",   "calibration.jitter",     "calibration.loss_bytes_per_logit"};
using FittedConstants = std::array<double, kFittedConstants.size()>;  // in base units, in that order

inline FittedConstants fitted_constants(const cluster::System& system) {
  const machine::Accelerator& chip = system.accelerator;
  const cluster::Calibration& software = system.calibration;
  return {chip.matrix_efficiency,   chip.fill_depth,
          chip.host_seconds_per_op, system.fabric.levels[0].collective_s,
          software.jitter_seconds,  software.loss_bytes_per_logit};
}

inline cluster::System with_constants(cluster::System system, const FittedConstants& constants) {
  system.accelerator.matrix_efficiency = constants[0];
  system.accelerator.fill_depth = constants[1];
  system.accelerator.host_seconds_per_op = constants[2];
  for (collective::Network& network : system.fabric.levels) network.collective_s = constants[3];
  system.fabric.levels[0].message_s = constants[3];
  system.calibration.jitter_seconds = constants[4];
  system.calibration.loss_bytes_per_logit = constants[5];
  return system;
}

// A run to fit to; `weight` of its squared error.
struct WeightedRun {
  const MeasuredRun* run = nullptr;
  double weight = 1;
};

inline constexpr std::size_t kCount = kFittedConstants.size();
inline constexpr double kThreshold = 0.05;
inline constexpr double kNudge = 1e-4;     // of a logarithm, for derivatives
inline constexpr double kLongestStep = 1;  // of a logarithm
inline constexpr double kLeast = 1e-12;    // where a constant stands for zero

using Vector = std::array<double, kCount>;
using Matrix = std::array<Vector, kCount>;

inline FittedConstants exponential(const Vector& logarithms) {
  FittedConstants result;
  for (std::size_t i = 0; i < kCount; ++i) result[i] = std::exp(logarithms[i]);
  result[0] = std::min(result[0], 1.0);
  return result;
}

inline double predicted_seconds(const MeasuredRun& run, const cluster::System& system,
                                const machine::OperatorModel& model) {
  return cluster::evaluate(run.model, system, run.plan, model).iteration_s;
}

inline std::vector<double> residuals(const cluster::System& system, const std::vector<WeightedRun>& runs,
                                     const Vector& logarithms) {
  const cluster::System changed = with_constants(system, exponential(logarithms));
  const machine::Roofline roofline(changed.accelerator);
  std::vector<double> result;
  result.reserve(runs.size());
  for (const WeightedRun& run : runs)
    result.push_back(std::log(predicted_seconds(*run.run, changed, roofline) / run.run->value));
  return result;
}

inline double loss(const std::vector<WeightedRun>& runs, const std::vector<double>& errors) {
  double sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double size = std::abs(errors[i]);
    sum += runs[i].weight * (size < kThreshold ? size * size / 2 : kThreshold * (size - kThreshold / 2));
  }
  return sum;
}

// Gaussian elimination with pivots; a singular direction is left alone.
inline Vector solve(Matrix a, Vector b) {
  for (std::size_t column = 0; column < kCount; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < kCount; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    std::swap(a[column], a[pivot]);
    std::swap(b[column], b[pivot]);
    if (std::abs(a[column][column]) < 1e-300) continue;
    for (std::size_t row = column + 1; row < kCount; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (std::size_t k = column; k < kCount; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  Vector x{};
  for (std::size_t row = kCount; row-- > 0;) {
    double sum = b[row];
    for (std::size_t k = row + 1; k < kCount; ++k) sum -= a[row][k] * x[k];
    x[row] = std::abs(a[row][row]) < 1e-300 ? 0 : sum / a[row][row];
  }
  return x;
}

// Every set gets the same weight in all, shared evenly among its runs of use `use`.
inline std::vector<WeightedRun> weighted(const std::vector<MeasuredSet>& sets, Use use) {
  std::vector<WeightedRun> result;
  for (const MeasuredSet& set : sets) {
    const auto count = std::count_if(set.runs.begin(), set.runs.end(), [&](const auto& run) { return run.use == use; });
    for (const MeasuredRun& run : set.runs)
      if (run.use == use) result.push_back({&run, 1.0 / static_cast<double>(count)});
  }
  return result;
}

// The constants that minimise the sum of weight x Huber(log(predicted / measured)), threshold 0.05, found from `start`
// by Levenberg-Marquardt on their logarithms. Deterministic. At most `steps` steps of 8 evaluations of every run. All
// runs measure iteration_s.
inline FittedConstants fit(const cluster::System& system, const std::vector<WeightedRun>& runs,
                           const FittedConstants& start, int steps = 60) {
  Vector at;
  for (std::size_t i = 0; i < kCount; ++i) at[i] = std::log(std::max(kLeast, start[i]));
  std::vector<double> errors = residuals(system, runs, at);
  double best = loss(runs, errors);
  double damping = 1e-3;
  for (int step = 0; step < steps && damping < 1e9; ++step) {
    std::array<std::vector<double>, kCount> slopes;
    for (std::size_t j = 0; j < kCount; ++j) {
      Vector nudged = at;
      nudged[j] += kNudge;
      slopes[j] = residuals(system, runs, nudged);
      for (std::size_t i = 0; i < runs.size(); ++i) slopes[j][i] = (slopes[j][i] - errors[i]) / kNudge;
    }
    Matrix normal{};
    Vector gradient{};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double weight = runs[i].weight * std::min(1.0, kThreshold / std::max(1e-300, std::abs(errors[i])));
      for (std::size_t j = 0; j < kCount; ++j) {
        gradient[j] -= weight * slopes[j][i] * errors[i];
        for (std::size_t k = 0; k < kCount; ++k) normal[j][k] += weight * slopes[j][i] * slopes[k][i];
      }
    }
    Matrix damped = normal;
    for (std::size_t j = 0; j < kCount; ++j) damped[j][j] += damping * (normal[j][j] + 1e-9);
    const Vector move = solve(damped, gradient);
    Vector there = at;
    for (std::size_t j = 0; j < kCount; ++j) there[j] += std::clamp(move[j], -kLongestStep, kLongestStep);
    there[0] = std::min(there[0], 0.0);
    const std::vector<double> tried = residuals(system, runs, there);
    const double value = loss(runs, tried);
    if (value < best) {
      const bool done = best - value < 1e-10 * best;
      at = there;
      errors = tried;
      best = value;
      damping = std::max(1e-9, damping / 4);
      if (done) break;
    } else {
      damping *= 4;
    }
  }
  return exponential(at);
}

// Relative error of a run under the system's constants.
inline double error_of(const MeasuredRun& run, const cluster::System& system) {
  return predicted_seconds(run, system, machine::Roofline(system.accelerator)) / run.value - 1;
}

}  // namespace orrery::verbs::testing
