// Tiles of different operators of a group side by side: `map --fuse --overlap`.
//
// A group is cut into stages of operators that follow each other. In a step, every stage works on a round (a turn of an
// equal copy) of its own, each one behind the stage before it. Stages are dealt out to threads, which run side by side:
// the operators of a thread run one after the other, so that two products that need the same registers can take turns
// while a softmax runs beside them. A step ends when all threads are done, so that n rounds of s stages take n + s - 1
// steps, of which n - s + 1 are alike.
//
// Resources are the compute units and the ports of each storage. An operator that runs alone takes d cycles a round, of
// which resource r works c_r <= d. What runs side by side shares resources: of threads with w_t of such cycles left,
// each proceeds at the speed k w_t, where
//
//   k = 1 / max(max_t w_t, max_r sum_t w_t c_tr / d_t)
//
// until an operator ends, so that nothing runs faster than alone, no resource does more than it can, and threads end
// together if they can. As c_r <= d, sum_t k w_t >= 1: no step takes longer than its operators one after the other; of
// threads of one operator each it takes the cycles of the busiest resource.
//
// Example: scores take 8 cycles of the array, 2 of a memory a round, the softmax 1 and 6: a step takes 9, not 14.
//
// Side by side, threads have room beside each other: the most that an operator needs, added up over the threads. A
// matrix that passes from stage to stage is there twice: the tile that is made, and the one that is taken. A round
// takes its part of the operator's cycles, whatever the first and the last one bring besides. An online softmax
// rescales what the round before has summed up, so that it is cut behind its scores alone. Cost: a step is simulated
// for each number of stages that are at work.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "orrery/inputs/blocks/block_cost.h"

namespace orrery::verbs {

// Cycles that a part needs each resource, in all turns of an instance.
std::map<std::string, double> busy_of(const Chain& chain, const GroupPart& part);

// Cycles of all rounds of a group in its stages; of one stage: of its parts one after the other.
double staged_cycles(const Chain& chain, const Group& group);

// Whether a stage may begin with a part.
bool may_begin_stage(const Chain& chain, const Group& group, std::size_t part);

// Gives a group, which has room, the stages and threads with which it takes the fewest cycles and has room; of equal
// ones the first. Its energy and cycles are then those.
void choose_stages(const Chain& chain, Group& group);

}  // namespace orrery::verbs
