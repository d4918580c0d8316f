// Charts of plans of training runs: the pipeline in time, a rule of thumb's plan beside the best, the best by degrees.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {

// "tp 4, pp 4, dp 16, micro-batch 1".
std::string plan_text(const Node& plan);
// "pipeline bubble" of `bubble`.
std::string cause_text(const std::string& cause);
// A plan's fields by their paths, its overlap's and stack's, too.
void plan_fields(const Node& plan, const std::string& prefix, std::vector<Fact>& out);

// Of `result`; without marks where it has nothing of the kind.
Chart pipeline_timeline(const Node& result);
Chart usual_beside_best(const Node& result);
Chart best_by_degrees(const Node& result);

}  // namespace orrery::verbs
