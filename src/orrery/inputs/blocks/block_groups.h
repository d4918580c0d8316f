// Which operators of a chain run as one group, whose results stay on the chip, and in how many tiles of columns.
//
// A group's parts are priced and have room as block_cost.h says. Each is mapped as `map` maps it: the same search, on
// one turn, with the matrices kept where they are handed on. The core of an attention may run online besides
// (online_softmax.h). Where a constraint says in which storage a matrix is handed on, only groups that do so are
// joined.
//
// Operators by themselves are those of `map`, so that no answer is worse than its. Energies and cycles of the steps add
// up; all pairs of sums that no other pair beats are kept along the chain, and the best one at its end is taken. For
// EDP all is mapped for the least cycles, too: an operator that gives up cycles for its own EDP may cost the whole
// more.
//
// Bound, with t a matrix that does not leave the chip: a mapping of an operator that hands t on in X is one of `map`
// that keeps t in X, too, less what moving t once between X and the outside takes, so that
//
//   energy >= least, over the X in which t may be handed on, of
//             least energy of `map` with t kept in X - what moving t takes
//   cycles >= work / units, words that do move / rate
//
// and the whole takes at least the least sums of these over all ways to make groups. A softmax in a core that may run
// online takes no less than its one sweep. Side by side, cycles are bounded by each resource on its own, and energies
// are without leakage.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/limits/certificate.h"
#include "orrery/engines/fused/search/optimize.h"
#include "orrery/inputs/blocks/online_softmax.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// Where what a link of the chain makes is handed on: in one of its storages inside, or outside.
struct HandedOn {
  std::size_t place = 0;
  std::string storage;  // empty: outside
};

struct GroupOptions {
  fused::Goal goal = fused::Goal::kEdp;
  bool fuse = true;      // false: every operator by itself
  bool tiles = true;     // false: whole matrices only
  bool overlap = false;  // operators of a group may run side by side (block_overlap.h)
  bool thrifty = false;  // of turns with the same value, that of least energy
  Softmax softmax = Softmax::kAuto;
  std::vector<HandedOn> handed_on;  // what is demanded
};

// The groups that can be had of the operators from `first` to before `behind`.
struct Choice {
  std::size_t first = 0, behind = 0;
  Group group;
};

struct GroupedChain {
  Chain chain;  // with the links of online softmaxes
  std::vector<Choice> choices;
  std::vector<Group> best, unfused;  // no groups: an operator has no mapping, or nothing does what is demanded
  std::vector<std::string> unmapped;
  base::Certificate certificate;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// An answer without the best of every tile is one that a limit cut short.
GroupedChain group_chain(Chain chain, const GroupOptions& how, const MapOptions& options);

// The choices of another goal besides, of the same chain.
void include(GroupedChain& of, const GroupOptions& how, const GroupedChain& more);

// The best way through the chain with these choices; all that no other one beats in energy and cycles, by energy.
std::vector<Group> best_way(const GroupedChain& of, const GroupOptions& how);
std::vector<std::vector<Group>> best_trades(const GroupedChain& of, const GroupOptions& how);

}  // namespace orrery::verbs
