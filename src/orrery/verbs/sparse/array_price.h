// What the parts of an array cost: each is asked of `energy/`'s estimators, so that every figure has its origin.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/estimator.h"
#include "orrery/inputs/layers/estimators.h"

namespace orrery::verbs {

// Equal circuits: what they are to an estimator, how many there are and how often all of them together do what.
struct ArrayPart {
  std::string name;  // "PEs: multipliers"
  std::string class_name;
  energy::Attributes attributes;  // without technology and cycle
  double instances = 0;
  std::vector<std::pair<std::string, double>> uses;  // an action and its number
  bool outside = false;                              // of the chip, as DRAM: neither area nor leakage
};

struct PricedPart {
  std::string name;
  double instances = 0, uses = 0;
  double energy_pj = 0, leakage_pj = 0;  // of the uses; of all cycles
  double area_um2 = 0;
  std::vector<std::string> basis;    // "published", "extrapolated", ...
  std::vector<std::string> sources;  // of its figures, and how they were brought to these sizes
};

struct ArrayPrice {
  std::vector<PricedPart> parts;
  double energy_pj = 0, leakage_pj = 0, area_um2 = 0;  // energy_pj with leakage
};

// `cycles` of `hertz` at `technology` ("45nm"). Throws InputError O1201 where no estimator answers, O1202 where a
// figure leaves the range.
ArrayPrice price_parts(const std::vector<ArrayPart>& parts, const std::string& technology, double hertz, double cycles,
                       Estimators& estimators);

}  // namespace orrery::verbs
