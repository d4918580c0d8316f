// Sizes of the model that is trained: within what can be counted, and where each was given.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"
#include "orrery/verbs/train/request.h"

namespace orrery::verbs {

// Throws InputError O1374 for sizes beyond which sizes that are made of sizes might not fit 64 bits.
void bound_sizes(const cluster::Description& of, const ModelFile& file, const TrainRequest& request);

// O1381. A learned table has a row for each position. A longer sequence needs another table, and that is another model.
void warn_of_longer_table(const TrainingModel& of, const ModelFile& file, const TrainRequest& request,
                          base::Diagnostics& warnings);

}  // namespace orrery::verbs
