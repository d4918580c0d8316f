// The operators of a block in the order in which they run, and which of them hand a matrix to the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

struct ChainLink {
  LayerQuestion question;  // with `instances` of its own
  bool hands_on = false;   // the next one takes what this one makes, column by column
  bool also_out = false;   // what it makes is read later, too: it goes out besides
  std::string takes;       // tensor that the one before makes; empty: it takes nothing of a neighbour
  std::string makes;
  // What in the exchange level is the tile of another operator, and what lasts there from turn to turn: bits of
  // dataspaces. Of the parts of an online softmax (online_softmax.h).
  std::uint32_t in_place = 0, lasts = 0;
  std::optional<std::size_t> one_sweep_of;  // the place of the softmax that it may run instead of
};

// The first `length` links run one after the other; behind them stand operators that may run in place of some.
struct Chain {
  std::vector<ChainLink> links;
  std::size_t length = 0;

  const ChainLink& operator[](std::size_t i) const { return links[i]; }
};

// A row of norms that stands for several is put behind the products whose result it takes; what is left of it comes
// last.
Chain chain_of(const std::vector<LayerQuestion>& questions);

// The storage in which einsums may hand tensors on: the outermost one inside the outermost, if it stands outside of all
// fan-outs; else -1.
int exchange_level(const machine::Chip& chip);

// Whether the chips of the links from `first` to `last` allow what they hand on to stay in their common exchange level.
bool may_group(const Chain& chain, std::size_t first, std::size_t last);

// The size of a dimension; 0: there is none of that name.
base::Count bound_of(const LayerQuestion& question, const char* dimension);

// Words of a dataspace of the whole operator.
base::Count words_of(const LayerQuestion& question, int dataspace);

}  // namespace orrery::verbs
