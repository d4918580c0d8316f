// A transformer as the catalogue or a config.json tells it, as a training run sees it.
#pragma once

#include "orrery/base/override.h"
#include "orrery/cluster/model.h"
#include "orrery/workload/transformer.h"

namespace orrery::scenario {

// Sizes that are the default of others stay defaults (a feed-forward network of 4 hidden, heads of hidden / heads), so
// that an override of one carries the others along. `seq` is the training sequence, else the longest the model takes,
// else 2048. Attention is materialised for models with learned positions, whose code is of that time, and flash for
// others.
// Throws InputError O0915 for what a training run's model cannot express: recurrences, encoders beside decoders, ...
cluster::Model training_model(const workload::Transformer& transformer);

// `training_model` with some of `cluster::fields(model)` set: {"layers", "30"}, {"attention", "flash"},
// {"experts.count", "8"}. Sizes that cannot be are left to cluster::check. Throws InputError: O1361 no such field, with
// the nearest; O1362 a value that the field cannot take.
cluster::Model training_model(const workload::Transformer& transformer, const base::Overrides& overrides);

}  // namespace orrery::scenario
