// The best mapping under one layout and choice of what to keep, where a bandwidth binds: labels on the lattice.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/goal.h"
#include "orrery/engines/nest/search/lattice/lattice_boundary.h"
#include "orrery/engines/nest/search/lattice/lattice_mapping.h"
#include "orrery/engines/nest/search/lattice/lattice_table.h"

namespace orrery::nest::lattice {

// One layout and choice of what to keep, its tables and what every mapping of it costs beside them.
struct LabelProblem {
  Boundaries& boundaries;
  const Keeps& keeps;
  const Table& table;         // energy
  const Table* together;      // energy plus mu per cycle of the mean of all resources by `traded`, or null
  const Table* scarce;        // the mean by `slow`, where there is `together`
  Loads slow{}, traded{};     // weights
  double slow_compute = 0;    // what the compute units add to each mean
  double traded_compute = 0;  // likewise
  double mu = 0;              // 0: `together` is of no use
  double base_pj = 0;         // computes and innermost reads
  Loads innermost{};
  double least_cycles = 0;
  bool dominance = true;
  std::size_t most_labels = 0;
  std::size_t most_beside = 0;  // ways on that a depth-first step sorts at once
};

// Calls `leaf` with the path of every mapping that may beat `goal`, cheapest bound first; `leaf` is to evaluate
// it and improve the goal. `stop` is asked now and then. Returns false if it stopped the search.
bool search_labels(const LabelProblem& problem, const Goal& goal, const std::function<void(const Path&)>& leaf,
                   const std::function<bool()>& stop, Tally& tally);

}  // namespace orrery::nest::lattice
