// How the answer of AMPeD's equations looks: a bar chart of an iteration, the best splits, and the JSON document.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/present/answer.h"
#include "orrery/verbs/train/amped/run.h"

namespace orrery::verbs {

// An iteration by the terms that every training run is told in: seconds that sum to the iteration. Gathering of sharded
// weights counts as data-parallel communication.
struct AmpedIteration {
  double forward = 0, backward = 0, tp = 0, pp = 0, dp = 0, ep = 0, bubble = 0;
};
AmpedIteration amped_iteration(const amped::Quantities& quantities, const amped::Times& times);

// Schema "orrery.train/1" with `result.amped` {`derived`, `outputs`} and, after a search, `result.search` and
// `certificate`. All but `timing` is a pure function of the input.
Document<AmpedRun> amped_document();

// What the terminal shows.
std::string amped_table(const AmpedRun& run);

// Every valid split, best first, as CSV.
std::string amped_search_csv(const amped::Search& search);

}  // namespace orrery::verbs
