// What the answer of a verb is as a point of a study: its status, and the figures that the verb knows.
#pragma once

#include "orrery/verbs/energy/run.h"
#include "orrery/verbs/map/fuse/answer.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/serve/run.h"
#include "orrery/verbs/sparse/simulate/run.h"
#include "orrery/verbs/sweep/store/outcome.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::sweep {

// `limited`: a limit ended the search before its proof. Time is that of the run where tokens are given, else of an
// iteration; energy is of the operators on a chip, else what the system is rated.
store::Outcome outcome_of(const verbs::TrainedModel& trained, bool limited);
store::Outcome outcome_of(const verbs::BlockAnswer& fused);
store::Outcome outcome_of(const verbs::PlacedGraph& placed);
// The figures of a placement that takes `final_ns`. Its searches hold times within 1e-12 for equal, so figures have 12
// digits.
void set_placed_figures(double final_ns, double flop, const dataflow::System& system,
                        const dataflow::PlacementMoney& money, store::Outcome& out);
store::Outcome outcome_of(const verbs::EstimatedChip& chip);
// Time is that of a request, dollars of a million tokens of output, energy of one.
store::Outcome outcome_of(const verbs::ServedAnswer& served);
store::Outcome outcome_of(const verbs::SparseSimulate& simulated);
store::Outcome outcome_of(const verbs::TunedSelection& selected);

}  // namespace orrery::sweep
