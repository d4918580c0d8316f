// The operators of a block in the order in which they run, and which of them hand a matrix to the next one.
#pragma once

#include <vector>

#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

struct ChainLink {
  LayerQuestion question;  // with `instances` of its own
  bool hands_on = false;   // the next one takes what this one makes, column by column
  bool also_out = false;   // what it makes is read later, too: it goes out besides
};

// A row of norms that stands for several is put behind the products whose result it takes; what is left of it comes
// last.
std::vector<ChainLink> chain_of(const std::vector<LayerQuestion>& questions);

// The storage in which einsums may hand tensors on: the outermost one inside the outermost, if it stands outside of all
// fan-outs; else -1.
int exchange_level(const machine::Chip& chip);

}  // namespace orrery::verbs
