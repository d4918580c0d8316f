// Whether both sides of a fused pair have room in the storages at the same time.
//
// The sides take turns: the product makes a tile of the matrix at LEVEL, the normalisation works on it, and so on.
// LEVEL holds the larger of their tiles of the matrix throughout. Everything else that a side keeps needs room while it
// works; while the other one does, only what its next turn finds where it was, for which the cost counts no second
// fill: tiles that no loop changes up to the innermost one outside LEVEL that moves on in the matrix. A side that makes
// or takes the whole matrix in one turn is done when the other one begins. A loop outside that one which does not move
// on in the matrix comes back to tiles that have left LEVEL (sums that are not complete, a second sweep): then LEVEL
// must hold the whole matrix.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// A storage that does not hold what both sides need of it, in words of an instance.
struct Crowded {
  std::string storage;
  base::Count needed = 0, holds = 0;
  bool comes_back = false;  // `needed`: the whole matrix, in all instances
};

// Both layers have a mapping, with the matrix kept at `level`. Nothing: they have room everywhere.
std::vector<Crowded> crowded(const MappedLayer& product, const MappedLayer& normalisation, const std::string& level);

// "VMEM: 4194304 + 65536 words ..."
std::string text(const Crowded& storage);

// What a side keeps in an instance of a storage besides the matrix that is handed over at `level`.
base::Count words_beside(const MappedLayer& side, const std::string& level, const std::string& storage);

}  // namespace orrery::verbs
