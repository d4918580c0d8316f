// Answers whose cycles can be counted.
//
// A search compares the cycles of mappings as doubles, whatever their size. Only the answer must have a number of
// cycles that fits a Count; otherwise an error names the port that needs so many, with its bandwidth.
#pragma once

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

// Throws InputError (O1005) where the cycles are beyond counting.
void require_countable(const Model& model, const Evaluation& evaluation);
void require_countable(const Model& model, const Optimum& optimum);

// `sum` + the latency `cycles` of a storage's network. Throws InputError (O1005).
base::Count with_latency(base::Count sum, base::Count cycles, const machine::Storage& storage);

}  // namespace orrery::nest
