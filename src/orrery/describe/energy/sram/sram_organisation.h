// Which organisations a memory can have.
//
// CACTI tries every split of a bank whose parts are powers of two, drops those that do not come out even, and keeps
// the one of least read energy x access time^2 (that is what its setting ED^2 means). Which splits remain depends on
// the factors of the width: 88 = 8 * 11 bit has few. Integer divisions truncate, as there.
// Source: N. Muralimanohar, R. Balasubramonian, N. P. Jouppi, CACTI 6.0, HPL-2009-85; behaviour of CACTI 7.
#pragma once

#include <optional>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::energy {

struct Subarray {
  int rows = 0;
  int columns = 0;
  int active_mats = 0;   // mats (2 x 2 subarrays) that serve one access
  int address_bits = 0;  // of the row decoder: floor(log2(rows)); where it steps, energy and time step too
};

// Nothing where CACTI would drop the organisation at this point.
std::optional<Subarray> subarray(const SramOrganisation& organisation, const SramPoint& point);

}  // namespace orrery::energy
