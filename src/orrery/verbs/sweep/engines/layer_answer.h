// One layer on one chip: what its search comes to, and what no search can undercut.
#pragma once

#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/padding.h"
#include "orrery/inputs/layers/layer_question.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::sweep {

struct LayerSearch {
  nest::ModelOptions model;
  std::vector<nest::Metric> objective;  // in place of the question's own; empty: that, or edp
  nest::Factors factors = nest::Factors::kPerfect;
  nest::SearchLimits limits;
};

// Figures of one instance. Questions that cannot be counted are an answer with the status kError.
store::Outcome answer_layer(const verbs::LayerQuestion& question, const LayerSearch& search);

// What a search costs, relative to others: tiles of all dimensions, at every level.
double search_effort(const verbs::LayerQuestion& question);

// Energy, cycles and the two products that no mapping is below: every operation computed once on as many units as
// constraints let work at once, every dataspace moved once where everything comes from.
store::Figures layer_floor(const verbs::LayerQuestion& question, const LayerSearch& search);

// What no mapping is below, searched for: energy in pJ, cycles, or their product in J * cycles. 0 where nothing is
// found.
double layer_least(const verbs::LayerQuestion& question, const LayerSearch& search, nest::Metric metric);

}  // namespace orrery::sweep
