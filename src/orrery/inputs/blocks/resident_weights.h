// Weights that stay on the chip from block to block and from run to run: `map --fuse --weights-stay STORAGE`.
//
// A model that runs again and again, token by token, reads the weights of each block from outside every time. Those
// that have room in a storage outside of all fan-outs, of all blocks together, may stay there: they were read once,
// before, and no run reads them again. Of operators i with w_i words of weights in all blocks, and a storage of R
// words, those stay that make the sum of w_i largest with
//
//   sum of w_i <= (1 - 1/16) R
//
// for each word that stays is one that is not read: all subsets of a block's few products are tried. The sixteenth is
// room for what operators hold besides. Every operator then has R less what stays of others; one whose weights stay has
// them whole in the storage, reads them there, and nothing of them comes from outside.
//
// Example: gpt2-small has 81 MiB of weights in 12 blocks at 8 bits: all of them stay in 128 MiB.
//
// Only weights of dense products stay. Keys, values and states change from run to run, and which experts a token visits
// is not known before.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/inputs/blocks/block_chain.h"

namespace orrery::verbs {

struct ResidentWeights {
  std::vector<std::size_t> links;  // whose weights stay; empty: none has room
  base::Count words = 0;           // of all of them in all blocks
};

// Which weights stay in a storage, where the chain is one of `blocks` equal blocks. Throws InputError O2113 of a
// storage that no chip of the chain has, or in which none may stay.
ResidentWeights resident_weights(const Chain& chain, const std::string& storage, base::Count blocks);

// The chain whose weights stay so.
Chain with_resident(Chain chain, const ResidentWeights& which, const std::string& storage);

}  // namespace orrery::verbs
