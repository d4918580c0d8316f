// Exact search without enumeration, for matrix products whose inner loops are free.
//
// With three dataspaces, each independent of exactly one of three dimensions ("blind" to it), a dataspace's traffic
// depends on the factor chain of that one dimension alone. Once the fan-outs and what is kept are fixed, the least
// energy of everything outside a level is a function of the tile below it, computed for all tiles at once on the
// lattice of divisors (lattice.cc). That turns 10^17 mappings into a few thousand table entries.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/search/gap.h"
#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// As optimize(), on one thread, without certificate.space, gap and seconds. Nothing where the formulation
// does not apply (it wants three dataspaces, each blind to one dimension of its own; above the innermost
// level that loops or keeps, temporal factors free or fixed to 1 and no loop order prescribed; no
// exceptions to reuse; no least utilisation): search.cc takes over.
std::optional<Optimum> optimize_on_lattice(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                           const SearchRules& limits, const base::Budget& budget,
                                           GapWatch* watch = nullptr);

}  // namespace orrery::nest
