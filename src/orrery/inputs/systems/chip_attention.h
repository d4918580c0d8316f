// The core of an attention on a chip as one operator: scores, softmax and weighted values in one group whose results
// stay in the exchange level (inputs/blocks/block_groups.h), as `map --fuse` maps them.
//
// Queries, keys and values come from the chip's memory and what is made goes there. Where a backward pass reads what
// the softmax makes, that is written, too, and the softmax is over whole columns: what an online one makes is not
// scaled yet. One head of one sequence: heads that share keys read them each by itself, as a run's products do.
//
//   seconds = sum over the parts of cycles x cycle time, of the group that takes the fewest cycles
//
// Its turns are mapped for the least time and, among those, the least energy.
//
// Example: 512 x 512, width 64 on `tpu-v4i`: 9,528 cycles for 12 heads, 24,264 for three operators one by one.
// Cost: some twenty searches of a turn each, 0.05 to 5 s together.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/blocks/block_cost.h"

namespace orrery::verbs {

struct AttentionShape {
  base::Count queries = 0, keys = 0, width = 0, value_width = 0;
  bool keeps_weights = false;

  auto operator<=>(const AttentionShape&) const = default;
};
AttentionShape attention_shape(const machine::Operator& attention);

// What is asked of a chip about an einsum.
using AskChip = std::function<LayerQuestion(const workload::Einsum&)>;

struct ChipAttention {
  bool joined = false;   // a group of the three has room; else nothing below is known
  bool searched = true;  // false: a limit ended the search before all was tried
  double seconds = 0, joules = 0;
  double gap = 0;  // of the seconds over their bound, as a share
  Turns turns;
  bool online = false;
  std::string storage;                     // in which the scores stay
  std::vector<machine::LevelCost> levels;  // outermost first
};

// An attention beside what its operators take one by one.
struct AskedAttention {
  AttentionShape shape;
  ChipAttention one;
  bool taken = false;             // it takes less than they do
  std::optional<double> apart_s;  // what they take for a head; nothing: not known
};

// `normalisation`: asked about the softmax. Throws InputError as `ask` does.
ChipAttention attention_on_chip(const AttentionShape& shape, const AskChip& ask, const AskChip& normalisation,
                                const nest::ModelOptions& model, const base::Limits& limits);

// Operands and result of an operator lie in the accelerator's memory: the outermost storage keeps those of `kept`,
// unless the chip's own constraints say of one that it does not (weights that stay in an array). Those of `passed` do
// not.
void lie_in_memory(LayerQuestion& question, const std::vector<std::string>& kept,
                   const std::vector<std::string>& passed = {});

// What each level of the chip does in one einsum, outermost first, compute units last.
std::vector<machine::LevelCost> levels_of(const machine::Chip& chip, const nest::Evaluation& evaluation);

}  // namespace orrery::verbs
