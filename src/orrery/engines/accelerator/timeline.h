// When each unit does what: the controller's rules, as a recurrence.
//
// Every unit serves its work in a fixed order, and the DRAM's channel its requests: an operation begins as soon as its
// unit is free and everything it waits for has ended,
//
//   begin = max(end of the unit's last operation, ends of what it needs),   end = begin + its cycles
//
// where what it needs always stands earlier in one common order. So the whole run is a sequence of maxima and sums: no
// deadlock; and whatever takes less time, or more room, never makes the run longer. The rules are in
// docs/model/sparse_array.md; machine_steps.h obeys them a cycle at a time. A wait of the array is told by following,
// from what it waited for, what that waited for. Cost: constant for each block, tile and matrix.
#pragma once

#include <functional>

#include "orrery/engines/accelerator/run_plan.h"

namespace orrery::accelerator {

struct Timeline {
  Count cycles = 0;
  ArrayPhases phases;
  Stalls stalls;
  std::array<Count, kUnits> busy{};
  Bytes bytes;
};

Timeline timeline(const Instance& instance, const RunPlan& plan, Count depth,
                  const std::function<void(const Interval&)>& trace = {}, const base::Budget& budget = {});

// What requests of the DRAM move.
Count query_bytes(const Instance& instance, const TilePlan& tile, Count depth);
Count key_bytes(const Instance& instance, const MatrixPlan& matrix, Count depth);
Count value_bytes(const Instance& instance, const MatrixPlan& matrix, Count depth);
Count mask_bytes(const Instance& instance, const TilePlan& tile);
Count descriptor_bytes(const Instance& instance);
Count output_bytes(const Instance& instance, const TilePlan& tile, Count depth);
// Tokens' validity, a bit each, beside queries and keys where masks are predicted.
Count validity_bytes(const RunPlan& plan, Count tokens);
// Whether a matrix's keys and values stay in their memories; else blocks fetch theirs.
bool resident(const Instance& instance, const MatrixPlan& matrix);

}  // namespace orrery::accelerator
