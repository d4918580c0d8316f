// Constraints under which a product hands its result to a normalisation, or a normalisation takes it over, at one
// storage of a chip: the seed's hand-made fusion (`run.py LAYER LEVEL`). Each side is mapped for itself; energies of
// both are added by hand.
//
//   product         storages outside LEVEL take no loops over its rows D and, unless `e` is free, its reduction E, so
//   that
//                   what leaves LEVEL is whole columns; with `whole`, none over its columns L either. The result passes
//                   them by. E, D, L are ordered so, innermost first, at the outermost storage and at LEVEL.
//   normalisation   its input passes by the storages outside LEVEL
//
// Who writes the result back: the normalisation, or (`product_writes`) the product.
//
// The scripts of Timeloop-Experiments do so at the levels of their two chips, with quirks (`as_scripts`;
// fuse_sides.cc).
#pragma once

#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

struct FuseSides {
  std::string level;            // empty: nothing is fused
  bool reduction_free = false;  // --no-e-fusion
  bool whole = false;           // --l-fusion
  bool product_writes = false;  // --pay-writeback-in-matmul
  bool as_scripts = false;      // --compat timeloop
};

// Changes the map space of a product, or of an einsum that has an input of its output's shape. Throws InputError: O2029
// for a level that the chip does not have, or that is its outermost (as the scripts: for one of neither list); O2030
// for an einsum that is neither.
void fuse_side(const FuseSides& fuse, LayerQuestion& layer);

}  // namespace orrery::verbs
