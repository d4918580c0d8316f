// What the answer of a verb is as a point of a study: its status, and the figures that the verb knows.
#pragma once

#include "orrery/scenario/estimate_chip.h"
#include "orrery/scenario/place.h"
#include "orrery/scenario/sparse_simulate.h"
#include "orrery/scenario/train.h"
#include "orrery/scenario/tune_select.h"
#include "orrery/store/outcome.h"

namespace orrery::sweep {

// `limited`: a limit ended the search before its proof. Time is that of the run where tokens are given, else of an
// iteration; energy is of the operators on a chip, else what the system is rated.
store::Outcome outcome_of(const scenario::TrainedModel& trained, bool limited);
store::Outcome outcome_of(const scenario::PlacedGraph& placed);
// The figures of a placement that takes `final_ns`. Its searches hold times within 1e-12 for equal, so figures have 12 digits.
void set_placed_figures(double final_ns, double flop, const dataflow::System& system,
                        const dataflow::PlacementMoney& money, store::Outcome& out);
store::Outcome outcome_of(const scenario::EstimatedChip& chip);
store::Outcome outcome_of(const scenario::SparseSimulate& simulated);
store::Outcome outcome_of(const scenario::TunedSelection& selected);

}  // namespace orrery::sweep
