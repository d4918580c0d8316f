// A training run, from what the user said to its time and memory: names become a model and a system of the catalogue,
// what of the plan was not given is searched, and the accelerator's operator model joins the cluster's.
#pragma once

#include "orrery/verbs/train/answer.h"
#include "orrery/verbs/train/request.h"

namespace orrery::verbs {

// Throws InputError: O1370 where model, system or batch is missing, O1371 for overrides of a plan's fields that do
// not exist or of values they cannot take, O1372 where no degrees are possible (O1008: in time), O1378 for an
// interleaved schedule of one chunk, O1390 to O1393 for a chip that cannot stand in for an accelerator, and what the
// catalogue and cluster::check say. A plan that does not fit into memory is an answer, not an error.
TrainedModel train(const TrainRequest& request);

}  // namespace orrery::verbs
