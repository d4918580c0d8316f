// The points of a study, best first: branch and bound over boxes of points (point_boxes.h), in batches, each of them
// stored before the next begins.
//
// A box whose bounds are beaten by an answer is excluded with all its points: none can be the best by any objective,
// nor one of the points that none beats. The points of a small box are evaluated. Batches have the same sizes for any
// number of threads, so that the same points are excluded. Engines that know no bounds evaluate every point in order.
#pragma once

#include "orrery/verbs/sweep/run.h"

namespace orrery::sweep {

// Points that `answer` knows from its store are kept; the others are answered or excluded, until the options end it.
void branch_and_bound(const Study& study, Engine& engine, store::Store& store, const RunOptions& options,
                      SweepAnswer& answer);

}  // namespace orrery::sweep
