// Source: the registers and codes of the published module (c1: ports, score at W, zero at W + 1; c2: ports, zero at W;
// c3: 0 clear, 1 idle, 2 self, 3 left; c5: 0 idle, 1 calc, 2 move), and its cycle counts. Linear in the PEs.
#include "orrery/engines/masks/packing/control_words.h"

#include <algorithm>
#include <bit>

#include "orrery/base/diagnostics/check.h"

namespace orrery::masks {
namespace {

// The ports of a PE row's PEs, ascending: those of its entries and, for idle PEs, the lowest that these leave free.
std::vector<std::int32_t> ports_of_pes(const std::vector<std::int32_t>& used, const PackArray& array) {
  std::vector<std::int32_t> ports = used;
  std::size_t next = 0;
  for (std::int32_t free = 0; static_cast<Count>(ports.size()) < array.pes; ++free) {
    if (next < used.size() && used[next] == free)
      ++next;
    else
      ports.push_back(free);
  }
  std::sort(ports.begin(), ports.end());
  return ports;
}

Count bits_for(Count codes) {
  return static_cast<Count>(std::bit_width(static_cast<std::uint64_t>(codes - 1)));
}

}  // namespace

std::vector<Phase> phases(const PackArray& array, Count size) {
  const Count through = size + (array.ports - 1) + (array.rows - 1) + 1;
  return {{"clear", 0, 0, 1}, {"scores", 2, 0, through}, {"idle", 1, 0, 1},
          {"exp", 1, 1, 1},   {"values", 3, 0, through}, {"drain", 1, 2, array.pes}};
}

BlockWords control_words(const PackedBlock& block, const PackArray& array) {
  ORRERY_CHECK(array.ports >= array.pes, "each PE of a row needs a port of its own");
  const auto rows = static_cast<std::size_t>(array.rows), pes = static_cast<std::size_t>(array.pes);
  BlockWords words{block.matrix, block.keys, std::vector<std::int32_t>(rows, -1),
                   std::vector<std::int32_t>(rows, static_cast<std::int32_t>(pes)), std::vector<PeWords>(rows * pes)};
  const std::vector<std::int32_t> none;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<std::int32_t>& used = r < block.rows.size() ? block.rows[r].ports : none;
    if (r < block.rows.size()) words.queries[r] = block.rows[r].query;
    words.idle[r] -= static_cast<std::int32_t>(used.size());
    const std::vector<std::int32_t> ports = ports_of_pes(used, array);
    std::size_t next = 0;
    for (std::size_t j = 0; j < pes; ++j) {
      const std::int32_t port = ports[j];
      const bool busy = next < used.size() && used[next] == port;
      if (busy) ++next;
      const std::int32_t following = j + 1 < pes ? ports[j + 1] : static_cast<std::int32_t>(array.ports);
      words.pes[r * pes + j] = {busy ? port : zero_operand(array), port, busy ? own_score(array) : zero_operand(array),
                                port, following - port - 1};
    }
  }
  return words;
}

Count busy_pes(const BlockWords& words, const PackArray& array) {
  return std::count_if(words.pes.begin(), words.pes.end(), [&](const PeWords& pe) { return pe.score_a < array.ports; });
}

ControlBits control_bits(const PackArray& array) {
  return {bits_for(array.ports + 2), bits_for(array.ports + 1), bits_for(array.ports - array.pes + 1)};
}

}  // namespace orrery::masks
