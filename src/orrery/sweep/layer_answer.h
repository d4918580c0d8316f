// One layer on one chip: what its search comes to, and what no search can undercut.
#pragma once

#include "orrery/nest/options.h"
#include "orrery/nest/search.h"
#include "orrery/scenario/layer_question.h"
#include "orrery/store/outcome.h"

namespace orrery::sweep {

struct LayerSearch {
  nest::ModelOptions model;
  std::vector<nest::Metric> objective;  // in place of the question's own; empty: that, or edp
  nest::SearchLimits limits;
};

// Figures of one instance. Questions that cannot be counted are an answer with the status kError.
store::Outcome answer_layer(const scenario::LayerQuestion& question, const LayerSearch& search);

// Energy, cycles and the two products that no mapping is below: every operation computed once on as many units as
// constraints let work at once, every dataspace moved once where everything comes from.
store::Figures layer_floor(const scenario::LayerQuestion& question, const LayerSearch& search);

// The same, the figures that are wanted searched for: each the least of any mapping.
store::Figures layer_least(const scenario::LayerQuestion& question, const LayerSearch& search,
                           const std::vector<store::Figure>& wanted);

}  // namespace orrery::sweep
