// Contradictions in a setup that no search can resolve; reported before the search starts.
#pragma once

#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/engines/dataflow/search/reason.h"

namespace orrery::dataflow {

// All of them, empty where there are none: cycles (O1446), sizes and services of the network and the batch (O1441 to
// O1443), shardings (O1440) and configurations (O1444, O1445) that pins make impossible, stated shards (O1451), tiles
// (O1452), counts beyond 64 bits (O1453).
std::vector<Reason> contradictions(const Setup& setup, const Defects& defects);

// What optimize() throws when there are any: the diagnostics, and the reasons for callers that know the file's lines.
struct Contradictions : base::InputError {
  explicit Contradictions(std::vector<Reason> found);
  std::vector<Reason> reasons;
};

// O1453.
Reason too_large_to_count(const base::OverflowError& error);

}  // namespace orrery::dataflow
