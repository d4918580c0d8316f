// A model of the catalogue as a training run sees it.
#pragma once

#include "orrery/cluster/model.h"
#include "orrery/workload/transformer.h"

namespace orrery::scenario {

// `config` is complete (workload::complete). Fields that have their default's value are left 0, so that they follow
// when what they derive from is changed; cluster::completed() fills them. `seq` is the training sequence, else the
// longest that the model takes, else 0. Attention is materialised where masks of dropout are drawn (the models of
// that time, and the runs that are known of them), else flash.
cluster::Model training_model(const workload::TransformerConfig& config);

}  // namespace orrery::scenario
