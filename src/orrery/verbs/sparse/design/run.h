// `orrery sparse design`: accelerators of many proportions on the same masks or attentions, and which are worth it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/inputs/grids/grid.h"
#include "orrery/verbs/sparse/accelerator_run.h"

namespace orrery::verbs {

// What is tried: every combination.
struct DesignChoices {
  std::vector<masks::PackArray> arrays;
  std::vector<base::Count> bits;  // of codes; empty: as what is run says
  std::vector<std::string> packings;
  std::vector<double> frequencies, bandwidths;  // Hz, bytes a second
  std::vector<base::Count> block_slots;

  double points() const;  // as many, without an overflow
};

struct DesignPoint {
  masks::PackArray array;
  base::Count bits = 4, block_slots = 16;
  std::string packing;
  double frequency = 1e9, bandwidth = 128e9;

  base::Count cycles = 0;
  double seconds = 0, energy_pj = 0, area_um2 = 0, utilization = 0, waiting = 0;  // the last: a share of the cycles
  std::optional<double> error;  // |array - dense| / |dense|, the worst case's; nothing without numbers
  bool pareto = false;          // no other is as good in time, energy, area and error and better in one
  bool best = false;            // by the objective, of those whose error is allowed
};

enum class DesignObjective { kTime, kEnergy, kEnergyDelay, kAreaDelay };
const std::vector<std::pair<std::string, DesignObjective>>& design_objectives();  // by name

struct DesignRequest : GridRequest {
  ArrayCasesRequest input;
  ArrayChoice choice;  // what is the same for all points
  DesignChoices choices;
  DesignObjective objective = DesignObjective::kEnergyDelay;
  std::optional<double> most_error;
  masks::PackEffort effort;
  std::string resume;  // a design.csv whose points are taken as they are; empty: none
};

// Points in the order of arrays, bits, packings, block slots, bandwidths and frequencies.
struct SparseDesign : GridAnswer<DesignPoint> {
  std::size_t resumed = 0;
  std::string objective;
  std::optional<double> most_error;
  std::string technology, rule;
  std::string question;  // what makes points of two runs comparable
  base::Diagnostics warnings;
};

// Throws InputError: as simulate_sparse(), with the faults of every point; O1904 (a design.csv of another question).
// What is done when the budget ends is kept.
SparseDesign design_sparse(const DesignRequest& request);

base::Costs design_costs(const DesignPoint& point);  // time, energy, area and error

// Marks the best.
void mark_best(std::vector<DesignPoint>& points, DesignObjective objective, const std::optional<double>& most_error);

// A line for each point, with a header; numbers that read back exactly.
std::string design_csv(const SparseDesign& design);

}  // namespace orrery::verbs
