// optimize(model, map space): the best mapping, with proof.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

struct SearchLimits : base::Limits {
  int searches = 1;            // that run beside each other and share the memory
  bool give_way = false;       // end as soon as memory leaves anything out: who asks will ask again
  bool explain = true;         // false: an empty space is said to be empty, not why
  base::Count max_cycles = 0;  // mappings that take longer are left out; 0: none are
  // Called while searching with the first metric of the best mapping so far (infinity: none yet) and a bound
  // that no mapping is below, at most once per `progress_seconds`, never by two threads at once. The best never
  // rises and the bound never falls from one call to the next.
  std::function<void(double best, double lower_bound)> progress;
  double progress_seconds = 0.2;
};

// Why a map space is empty: constraints that contradict each other, each with its position, and the arithmetic.
// Removing any one of them makes the space non-empty.
struct Conflict {
  std::string text;  // "Scratchpad holds 524288 words", "D=16 at PERows"
  base::Location where;
  // What it is: one of these is set.
  int constraint = -1;      // index into Mapspace::constraints
  int capacity_level = -1;  // the storage whose capacity it is
  int fanout_level = -1;    // the storage whose fan-out it is
};

struct Optimum {
  std::optional<Mapping> mapping;  // nothing: none found
  Evaluation evaluation;           // of `mapping`, by Model::evaluate
  base::Certificate certificate;
  bool infeasible = false;              // proven: no mapping satisfies the constraints
  std::vector<Conflict> conflicts;      // when infeasible
  std::vector<std::string> arithmetic;  // when infeasible: the arithmetic that fails
  std::vector<std::string> ways_out;    // when infeasible: beside relaxing a conflict
  bool interrupted = false;             // `stop` ended the search
  bool out_of_memory = false;           // not proven because memory ran out
};

// `objective`: compared lexicographically. Metrics that differ by rounding only are equal, and ties broken by a fixed
// order of mappings (incumbent.h), so that the answer does not depend on the number of threads. Default when empty:
// {kEdp}. A limit that ends the search, and a failed allocation, leave the best so far, with a bound that holds. Throws
// InputError (O1005) when the best mapping needs more cycles than a Count holds.
Optimum optimize(const Model& model, const Mapspace& space, std::vector<Metric> objective = {Metric::kEdp},
                 const SearchLimits& limits = {});

}  // namespace orrery::nest
