// Figures of SRAMs that CACTI 7 gave, as plain data. Read from catalog/tables by formats/cacti/cacti_table.h.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::energy {

// A memory as CACTI is asked for it: a RAM without tags whose every access moves one word.
struct SramPoint {
  base::Count capacity_bytes = 0;  // of all banks
  int width_bits = 0;              // of a word; a multiple of 8
  int banks = 1;                   // a power of two
  int ports = 1;                   // for reading and writing
  bool operator==(const SramPoint&) const = default;
};

// Words of one bank; a fraction where the capacity is no multiple of the banks.
double words_per_bank(const SramPoint& point);

// What CACTI answers. `kAccess` decides between organisations and is no figure of ours.
enum SramFigure { kRead, kWrite, kLeak, kArea, kAccess };
inline constexpr int kSramFigures = 5;
// pJ of one read, pJ of one write, mW of all banks, mm^2 of the whole memory, ns to the word.
using SramFigures = std::array<double, kSramFigures>;

// How CACTI cut a bank into subarrays: `ndwl` parts of a wordline times `ndbl` parts of a bitline; `nspd` words
// lie side by side in a row; `mux` bitlines lead to one output bit. All powers of two. All 0: not known.
struct SramOrganisation {
  int nspd = 0;
  int ndwl = 0;
  int ndbl = 0;
  int mux = 0;
  auto operator<=>(const SramOrganisation&) const = default;
};

struct SramRow {
  SramPoint point;
  SramFigures figures{};
  SramOrganisation organisation;
};

// All rows are of one technology.
struct SramTable {
  int technology_nm = 0;
  std::vector<SramRow> rows;  // what CACTI answers at each point
  // What it would have answered with organisations that it considered there and did not choose by a narrow margin.
  std::vector<SramRow> runners_up;
};

}  // namespace orrery::energy
