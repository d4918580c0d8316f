// Which products hand their results to which normalisations, at which storage, and how: `--fuse auto`.
//
// A pair is a product and a normalisation of a matrix of its size. It has these choices:
//
//   not fused                          both sides as they are mapped without fusion
//   each storage that both chips have, x {reduction free} x {whole matrix} x {product writes}
//
// as `fuse_side` (fuse_sides.h) makes them, and with the matrix held at the storage by both sides: what one hands over,
// the other finds. Each side of each choice is an exact search of its own. The total of a choice is counted over both
// sides:
//
//   energy = E1 + E2     cycles = C1 + C2     EDP = (E1 + E2) (C1 + C2)
//
// since one side runs after the other; the least total wins, of equals the earlier in the list above. Where a limit
// ended the search for a side, of which no mapping costs less than b, the total is at least
//
//   energy, cycles: b1 + b2     EDP: (sqrt(b1) + sqrt(b2))^2, since (E1 + E2) (C1 + C2) is at least that (Cauchy,
//   Schwarz)
//
// Sides that are best each for itself may not have room beside each other (fuse_room.h). Of the cheapest such choices
// that come to less than what fits, one side is mapped again in what the other leaves it, or each in half; what they
// come to by themselves stays the bound.
//
// The choice is proven where both its sides are, and no other one that is not may come to less.
//
// Cost: 2 + 10 searches for each storage and pair, and 6 for each of at most three choices that have no room; equal
// ones are searched once. A limit in seconds is of all of them together (map_together.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/fuse_sides.h"

namespace orrery::verbs {

struct FusedPair {
  // One choice, and the figures of one instance of the pair.
  struct Choice {
    FuseSides fuse;       // no level: not fused
    bool found = false;   // both sides have a mapping
    bool proven = false;  // both sides are the best of their spaces and have room, or one of them has no mapping
    bool open = false;    // a limit ended the search for a side
    double energy_pj = 0;
    base::Count cycles = 0;
    double edp_j_cycles = 0;
    double lower_bound = 0;  // of what is compared, in its unit; infinity: a side has no mapping
    // Words of the matrix that all instances of the storage hold at a time, for either side; they need not agree. 0:
    // not fused.
    base::Count product_tile_words = 0, normalisation_tile_words = 0;
    std::string without;  // the side that has no mapping; empty: both have one
    std::string no_room;  // why its sides, each the best for itself, cannot be beside each other; such is never taken
  };
  std::string product, normalisation;
  base::Count instances = 1;
  nest::Metric metric = nest::Metric::kEdp;  // what was compared first
  std::vector<Choice> choices;               // the first is not fused
  std::size_t best = 0;                      // of these, where one is found
  bool found = false, proven = false;
  double lower_bound = 0;  // no choice comes to less of what is compared, in its unit

  // What is compared, of a choice that is found.
  double compared(const Choice& choice) const;
  bool cut_short() const;  // not proven, since a limit ended a search
  const Choice& chosen() const { return choices[best]; }
  const Choice& unfused() const { return choices[0]; }
};

struct FusedLayers {
  std::vector<FusedPair> pairs;
  MappedModel mapped;  // the layers as chosen; a normalisation once for each pair, and for what is left of it
};

// Throws InputError: O2034 where no product and normalisation make a pair, and what map_layers throws.
FusedLayers map_fused(const std::vector<LayerQuestion>& questions, const MapOptions& options);

}  // namespace orrery::verbs
