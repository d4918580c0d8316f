// A transformer as the catalogue or a config.json tells it, as a training run sees it.
#pragma once

#include "orrery/base/text/override.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/model.h"

namespace orrery::verbs {

// What a training run takes a model for. The training sequence is the one the description states, else
// workload::default_sequence. Attention is materialised for models with learned positions, whose code is of that time,
// and flash for others. Sizes that are the default of others stay defaults (a feed-forward network of 4 hidden, heads
// of hidden / heads), so that an override of one carries the others along.
//
// `overrides` set fields of `cluster::fields(description)`: {"layers", "30"}, {"attention", "flash"},
// {"experts.count", "8"}. Throws InputError: O1361 no such field, with the nearest; O1362 a value that the field cannot
// take; O1363 a field that this model does not have.
cluster::Description training_description(const workload::Transformer& transformer,
                                          const base::Overrides& overrides = {});

struct TrainingModel {
  workload::Transformer transformer;  // of the sizes of the description
  cluster::Description description;   // completed
  cluster::Model prepared;
};

// Throws InputError: O0915 for what the engine cannot express, O1300 for more layers than there can be. Other sizes
// that cannot be are left to cluster::check.
TrainingModel training_model(const workload::Transformer& transformer, cluster::Description description);
TrainingModel training_model(const workload::Transformer& transformer, const base::Overrides& overrides = {});

// Tells which sequence a run takes where nothing says it and the model can take longer ones, or none is known: O1382.
void warn_of_default_sequence(const workload::Transformer& transformer, base::Diagnostics& warnings);

}  // namespace orrery::verbs
