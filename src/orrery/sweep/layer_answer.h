// One layer on one chip: what its search comes to, and what no search can undercut.
#pragma once

#include "orrery/nest/options.h"
#include "orrery/nest/padding.h"
#include "orrery/nest/search.h"
#include "orrery/scenario/layer_question.h"
#include "orrery/store/outcome.h"

namespace orrery::sweep {

struct LayerSearch {
  nest::ModelOptions model;
  std::vector<nest::Metric> objective;  // in place of the question's own; empty: that, or edp
  nest::Factors factors = nest::Factors::kPerfect;
  nest::SearchLimits limits;
};

// Figures of one instance. Questions that cannot be counted are an answer with the status kError.
store::Outcome answer_layer(const scenario::LayerQuestion& question, const LayerSearch& search);

// What a search costs, relative to others: tiles of all dimensions, at every level.
double search_effort(const scenario::LayerQuestion& question);

// Energy, cycles and the two products that no mapping is below: every operation computed once on as many units as
// constraints let work at once, every dataspace moved once where everything comes from.
store::Figures layer_floor(const scenario::LayerQuestion& question, const LayerSearch& search);

// What no mapping is below, searched for: energy in pJ, cycles, or their product in J * cycles. 0 where nothing is found.
double layer_least(const scenario::LayerQuestion& question, const LayerSearch& search, nest::Metric metric);

}  // namespace orrery::sweep
