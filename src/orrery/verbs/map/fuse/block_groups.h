// Which operators of a chain run as one group, whose results stay on the chip, and in how many tiles of columns.
//
// A group hands the matrices inside of it on in the exchange level X (block_chain.h). It runs tile by tile: the one
// loop outside X walks over the columns L that all of its operators have, and each of them makes its part of a tile
// before the next one begins. One tile: the whole matrix stays in X. Inside, each operator is mapped as `map` maps it:
// the same search, on one tile, with the matrices kept in X; what comes from it is priced by nest::evaluate with all
// tiles, the matrices not kept outside of X. Where tiles take turns, what an operator keeps from turn to turn needs
// room beside what the others keep and use (fits).
//
// Operators by themselves are those of `map`, so that no answer is worse than its. Energies and cycles of the steps add
// up; all pairs of sums that no other pair beats are kept along the chain, and the best one at its end is taken.
//
// Bound, with t a matrix that does not leave the chip: a mapping of an operator with t in X is one of `map` less what
// moving t once between X and the outside takes, so that
//
//   energy >= least energy of `map` - what moving t takes      cycles >= work / units, words that do move / rate
//
// and the whole takes at least the least sums of these over all ways to make groups.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/base/limits/certificate.h"
#include "orrery/engines/fused/search/optimize.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/fuse/block_chain.h"

namespace orrery::verbs {

struct GroupPart {
  std::size_t place = 0;  // in the chain
  bool takes = false, hands_on = false;
  nest::Mapping mapping;
  nest::Evaluation cost;            // of one instance, all tiles
  std::vector<base::Count> beside;  // words of each storage that others of the group keep while it works; empty: none
};

struct Group {
  base::Count tiles = 1;
  std::vector<GroupPart> parts;
  double energy_pj = 0, cycles = 0;  // all instances
};

struct GroupedChain {
  std::vector<Group> best, unfused;  // no groups: an operator has no mapping
  std::vector<std::string> unmapped;
  base::Certificate certificate;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

struct GroupOptions {
  fused::Goal goal = fused::Goal::kEdp;
  bool fuse = true;   // false: every operator by itself
  bool tiles = true;  // false: whole matrices only
  bool all = false;   // an answer without the best of every tile is one that a limit cut short
};

GroupedChain group_chain(const std::vector<ChainLink>& chain, const GroupOptions& how, const MapOptions& options);

double energy_of(const std::vector<Group>& groups);
double cycles_of(const std::vector<Group>& groups);

}  // namespace orrery::verbs
