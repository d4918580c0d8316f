// Substation's own search, for comparison: a shortest path through a chain of operators, then a greedy binding of what
// the path did not decide.
//
// Idea. The operators of a direction, some of the backward ones taken together, form a chain; a state is the layouts of
// the tensors that pass from one to the next, a step costs the fastest row of the operators whatever their other
// tensors. Those others (residuals, saved tensors, masks, weights) are forgotten, so the path is too cheap, and its
// layouts may fit no choice of the rest. `combined` puts both directions behind each other; tensors that are split keep
// one layout along the whole chain. Then the path's tensors are bound, and of the rest: what has one layout left; what
// ties at most three operators, exhaustively; else the dearest operator gets its fastest row.
//
// Source: optimize.py of Substation (MLSys 2021), as its behaviour is described in docs/model/selection.md. The
// original iterates over sets, whose order changes from run to run; here everything has the order of the graph. The
// path is found by `minimize` on the chain's factor graph. Cost: as that; the states multiply with each split tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/runtime/tuning/selection/layout_selection.h"

namespace orrery::tuning {

enum class Mode { kForwardFirst, kBackwardFirst, kCombined };
inline const char* name(Mode mode) {
  return mode == Mode::kForwardFirst ? "fp_first" : mode == Mode::kBackwardFirst ? "bp_first" : "combined";
}

struct ModeOutcome {
  std::optional<Selection> selection;  // with every rule obeyed; nothing where the search failed
  std::string reason;                  // why it did
  bool ended = false;                  // by the budget
};

// `consistent`: the problem's factors after make_consistent. `split`: classes, of kCombined only.
ModeOutcome run_mode(const Problem& problem, const FactorGraph& consistent, Mode mode, const std::vector<int>& split,
                     const base::Budget& budget);

}  // namespace orrery::tuning
