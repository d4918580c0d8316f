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
  std::vector<std::string> levels;  // storages in which what it makes may be handed on, outermost first
  std::vector<std::string> narrow;  // those in which it might, but not even a column of it has room
  // What in the exchange level is the tile of another operator, and what lasts there from turn to turn: bits of
  // dataspaces. Of the parts of an online softmax (online_softmax.h).
  std::uint32_t in_place = 0, lasts = 0;
  std::optional<std::size_t> one_sweep_of;  // the place of the softmax that it may run instead of
  // Weights that stay on the chip (resident_weights.h): the storage, whether this one's do, and the words there of the
  // others', which its chip has not.
  std::optional<std::size_t> stay_in;
  bool weights_stay = false;
  base::Count others_stay = 0;
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

// Whether what each of the links from `first` to before `last` makes may stay on the chip.
bool may_group(const Chain& chain, std::size_t first, std::size_t last);

// All ways to hand on what the links from `first` to before `last` make: a storage for each.
std::vector<std::vector<std::string>> ways_to_hand_on(const Chain& chain, std::size_t first, std::size_t last);

// How columns are spread over the fan-outs outside a storage: of each fan-out, in the order of Chip::storages, how many
// of its instances have columns of their own. The outermost one comes first: it takes the largest divisor of what is
// left that one side of it has room for. Only columns are spread there, so that each instance makes and takes the same
// ones in all operators.
std::vector<base::Count> spread_of(const machine::Chip& chip, std::size_t level, base::Count columns);

// The instances of a storage that have columns of their own.
base::Count spread_over(const machine::Chip& chip, std::size_t level, base::Count columns);

// The size of a dimension; 0: there is none of that name.
base::Count bound_of(const LayerQuestion& question, const char* dimension);

// Words of a dataspace of the whole operator.
base::Count words_of(const LayerQuestion& question, int dataspace);

}  // namespace orrery::verbs
