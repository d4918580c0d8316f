// Energy and area of components: each asks estimators for its primitives' figures, the most accurate first
// (estimator.h). Estimators are tables (estimation_table.h), published designs (library.h), SRAM by CACTI's figures
// (sram/), register files and DRAM.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/energy_options.h"
#include "orrery/describe/energy/estimator.h"

namespace orrery::energy {

// One addend of a figure: a primitive's figure, how often it counts, and where it came from.
struct Share {
  std::string primitive;  // Primitive::path
  std::string action;     // empty: area
  double weight = 1;
  Figure figure;
};

struct EstimatedAction {
  std::string name;
  Attributes arguments;
  double energy_pj = 0;         // six significant digits, so that a table read back gives the same answers
  double accuracy_percent = 0;  // of the least accurate share
  std::string source;           // of all shares, each once
  std::vector<Share> shares;
};

struct EstimatedComponent {
  std::string name;
  std::string table_name;
  std::string class_name;
  base::Count count = 1;
  double area_um2 = 0;  // of one instance; six significant digits
  double area_accuracy_percent = 0;
  std::string area_source;
  std::vector<Share> area_shares;
  std::vector<EstimatedAction> actions;
};

// Rounds to six significant digits the way Accelergy does (Python's `round`: half to even on the decimal text).
double six_digits(double value);

// Asks the estimators, most accurate first (ties: in the order given), for each primitive's figures, equal
// queries once. Attributes `plug_in` (name) and `minimum_accuracy` restrict the choice. `n_instances` of a
// primitive multiplies leakage and area. If no estimator answers, that is an error, O1201, which lists why each
// declined; all such errors are collected.
std::vector<EstimatedComponent> estimate(std::span<const Component> components,
                                         std::span<const std::unique_ptr<Estimator>> estimators,
                                         const EstimateOptions& options, base::Diagnostics& found);

}  // namespace orrery::energy
