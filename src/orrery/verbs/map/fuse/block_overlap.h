// Tiles of different operators of a group side by side: `map --fuse --overlap`.
//
// A group is cut into stages of operators that follow each other. In a step, every stage works on a round (a turn of an
// equal copy) of its own, each one behind the stage before it; the operators of a stage run one after the other. A step
// ends when all stages are done, so that n rounds of s stages take n + s - 1 steps, of which n - s + 1 are alike.
//
// Resources are the compute units and each storage. An operator that runs alone takes d cycles a round, of which
// resource r works c_r <= d. What runs side by side shares resources: of stages with w_s of such cycles left, each
// proceeds at the speed k w_s, where
//
//   k = 1 / max(max_s w_s, max_r sum_s w_s c_sr / d_s)
//
// until an operator ends, so that nothing runs faster than alone, no resource does more than it can, and stages end
// together if they can. As c_r <= d, sum_s k w_s >= 1: no step takes longer than its operators one after the other; of
// stages of one operator each it takes the cycles of the busiest resource.
//
// Example: scores take 8 cycles of the array, 2 of a memory a round, the softmax 1 and 6: a step takes 9, not 14.
//
// Side by side, stages have room beside each other: what the operators of a stage need is added up over the stages. A
// matrix that passes from stage to stage is there twice: the tile that is made, and the one that is taken. A round takes
// its part of the operator's cycles, whatever the first and the last one bring besides. An online softmax rescales what
// the round before has summed up, so that it is cut behind its scores alone. Cost: a step is simulated for each number
// of stages that are at work.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/verbs/map/fuse/block_cost.h"

namespace orrery::verbs {

// Cycles of all rounds of a group in its stages; of one stage: of its parts one after the other.
double staged_cycles(const Chain& chain, const Group& group);

// Whether a stage may begin with a part.
bool may_begin_stage(const Chain& chain, const Group& group, std::size_t part);

// Gives a group, which has room, the stages with which it takes the fewest cycles and has room; of equal ones the
// fewest. Its energy and cycles are then those.
void choose_stages(const Chain& chain, Group& group);

}  // namespace orrery::verbs
