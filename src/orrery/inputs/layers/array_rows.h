// The attention of a model that `map` has a simulated array do beside the chip.
//
// Scores, softmax and weighted values of a head are one row: the array works on them at the same time. A row takes
//
//   seconds = seconds per score x queries x keys        cycles = seconds / the chip's cycle, rounded up
//
// of the document (attention_array.h). Array and chip may have different clocks, and seconds are what adds up; so the
// array's are counted in the chip's cycles, in which all other rows are. Chip and array work one after the other.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/inputs/layers/attention_array.h"

namespace orrery::verbs {

struct LayerQuestion;

// Of one head; `instances` of them run one after the other.
struct ArrayRow {
  std::string name;  // "attention", "cross-attention"
  base::Count instances = 1, queries = 0, keys = 0;
  std::size_t before = 0;  // the layer (by index) of those left to the chip that it precedes
  double seconds = 0, energy_pj = 0;
  base::Count cycles = 0;   // of the chip
  double edp_j_cycles = 0;  // pJ * cycles / 1e12
};

struct ArrayAttention {
  AttentionArray array;
  double cycle_seconds = 0;    // of the chip
  std::vector<ArrayRow> rows;  // empty: the chip does everything
};

// Takes the core of every attention out of `operators`; the rows have no price yet. Throws InputError: O1905 for heads
// of other sizes than the array's, O2010 where there is no attention in `model`.
std::vector<ArrayRow> take_attention(const std::string& model, const AttentionArray& array,
                                     std::vector<workload::Operator>& operators);

// Of one clock that all chips share. Throws InputError O2012 where they do not.
double common_cycle_seconds(const std::vector<LayerQuestion>& questions);

// Seconds, energy and cycles of the rows. Throws InputError O1004 for cycles beyond 64 bits.
void price(ArrayAttention& attention);

// O2011: what the figures of such a run mean.
void warn_of_array(const ArrayAttention& attention, base::Diagnostics& warnings);

}  // namespace orrery::verbs
