// What becomes of a point of a study, as it is stored: whatever the verb, the same columns.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace orrery::store {

enum class Status : std::uint8_t { kOptimal, kGap, kPruned, kInfeasible, kTimeout, kError };
inline constexpr int kStatuses = 6;
std::string_view name(Status status);

// A figure is absent where its verb does not know it: not a number, null in files.
enum class Figure : std::uint8_t {
  kEnergy,       // pJ
  kCycles,       //
  kUtilization,  // of the compute units, 0 to 1
  kEdp,          // J * cycles: the product of the sums
  kEdpSeed,      // J * cycles: the sum of the layers' products, as Timeloop-Experiments ranks
  kArea,         // um^2
  kSeconds,
  kDollars,
  kPower,  // W
};
inline constexpr int kFigures = 9;
// The name of its column, its key in JSON: "energy_pj".
std::string_view column(Figure figure);

// Of tables, what an Outcome is but for its parts: two texts, then numbers.
inline constexpr const char* kOutcomeColumns =
    "status, reason, lower_bound, gap, energy_pj, cycles, utilization, edp_j_cycles, edp_seed, area_um2, seconds, "
    "dollars, power_w";
inline constexpr int kOutcomeTexts = 2, kOutcomeNumbers = 2 + kFigures;
inline constexpr int kOutcomeAll = kOutcomeTexts + kOutcomeNumbers;

inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct Figures {
  std::array<double, kFigures> values;

  Figures() { values.fill(kAbsent); }
  double& operator[](Figure figure) { return values[static_cast<std::size_t>(figure)]; }
  double operator[](Figure figure) const { return values[static_cast<std::size_t>(figure)]; }
};

struct Outcome {
  Status status = Status::kError;
  std::string reason;            // why there are no figures, or no proof; empty: there is nothing to say
  Figures figures;               // of pruned points, none
  double lower_bound = kAbsent;  // of the first objective: no answer for the point is below it
  double gap = kAbsent;          // of the widest of the searches; 0: all proven
  std::string parts;             // results that it is made of, a line each: number, instances, name

  bool found() const { return status == Status::kOptimal || status == Status::kGap; }
};

}  // namespace orrery::store
