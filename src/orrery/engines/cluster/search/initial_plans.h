// Plans to begin a search with.
#pragma once

#include "orrery/base/limits/budget.h"
#include "orrery/engines/cluster/search/question.h"

namespace orrery::cluster {

// A first plan of every tp and pp, made to fit: something to beat, and an answer where time is short. Where the best
// are wanted, goes down from the best of these. False: the budget was spent.
bool initial_plans(const Question& question, const base::Budget& budget, Incumbents& incumbents, Counts& counts);

}  // namespace orrery::cluster
