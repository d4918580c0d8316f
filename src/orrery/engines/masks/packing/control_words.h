// What the array is told for a block: the words c1 to c5 of Sanger's Sparse_PE_Array.
//
// A PE multiplies what two multiplexers choose. c1 chooses among the ports of its row's query registers, its own score
// and zero; c2 among the column ports. c3 and c5 are the same for the whole array and change from phase to phase; c4
// is the delay of a PE's partial sum in the output chain, which lines it up with the key of the next PE:
//
//   c4 of PE j = port of PE j+1 - port of PE j - 1;   of the last PE: ports - 1 - its port
//
// The delays of a row add up to ports - pes only if its PEs take `pes` different ports, ascending. So a PE without an
// entry takes a port that its row does not use, with zero for an operand. Its score is then exp(0) = 1, which is
// multiplied by zero again, but runs into the drained sum of the row: `idle` of a row is what to take from that sum.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/masks/packing/packing.h"

namespace orrery::masks {

struct PeWords {
  std::int32_t score_a = 0, score_b = 0;  // c1, c2 while scores are computed
  std::int32_t value_a = 0, value_b = 0;  // c1, c2 while values are
  std::int32_t delay = 0;                 // c4
  bool operator==(const PeWords&) const = default;
};

// Codes of c1 beyond the ports.
inline std::int32_t own_score(const PackArray& array) {
  return static_cast<std::int32_t>(array.ports);
}
inline std::int32_t zero_operand(const PackArray& array) {
  return static_cast<std::int32_t>(array.ports) + 1;
}

struct BlockWords {
  Count matrix = 0;
  std::vector<std::int32_t> keys;     // on the ports, as many as there are
  std::vector<std::int32_t> queries;  // of each PE row; -1: none
  std::vector<std::int32_t> idle;     // PEs of each PE row without an entry
  std::vector<PeWords> pes;           // [row][PE], of the whole array
};

// A phase of a block: c3 and c5 of the whole array, and how long.
struct Phase {
  std::string name;
  int c3 = 0, c5 = 0;
  Count cycles = 0;
};
// The phases of a block whose queries, keys and values have `size` elements.
std::vector<Phase> phases(const PackArray& array, Count size);

BlockWords control_words(const PackedBlock& block, const PackArray& array);

// PEs that compute a score.
Count busy_pes(const BlockWords& words, const PackArray& array);

// Bits of c1, c2 and c4 of a PE.
struct ControlBits {
  Count c1 = 0, c2 = 0, c4 = 0;
  Count all() const { return c1 + c2 + c4; }
};
ControlBits control_bits(const PackArray& array);

}  // namespace orrery::masks
