// A mask packed onto Sanger's array: which kept entries are computed together.
//
// The array has `rows` rows of `pes` processing elements (PEs) and `ports` column ports. A block is one configuration
// of it: up to `ports` keys, shared by all rows, and in each PE row one query with up to `pes` of its kept entries
// whose keys are among these. A query may stand in several blocks, and in several PE rows of one: its parts are added
// outside of the array. Every kept entry is computed once. Heads have queries and keys of their own: a block never
// mixes them.
//
// What counts is inside the valid tokens (inside_valid()); the functions here take the mask as it is, with nothing
// kept outside. Where the budget ends them before every entry has a place, they throw Unfinished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::masks {

struct PackArray {
  Count rows = 64, pes = 16, ports = 64;  // as published
  Count slots() const { return rows * pes; }
  bool operator==(const PackArray&) const = default;
};

// Larger arrays are refused (O1837).
inline constexpr Count kMostPackRows = 1024, kMostPackPes = 64, kMostPackPorts = 512;

// A PE row of a block: the query it serves and which ports its entries stand on, ascending.
struct PackedRow {
  std::int32_t query = 0;
  std::vector<std::int32_t> ports;
  bool operator==(const PackedRow&) const = default;
};

struct PackedBlock {
  Count matrix = 0;                // batch * heads + head
  std::vector<std::int32_t> keys;  // on port 0, 1, ...
  std::vector<PackedRow> rows;     // PE row 0, 1, ...
  bool operator==(const PackedBlock&) const = default;
};

struct Packing {
  PackArray array;
  std::vector<PackedBlock> blocks;  // by matrix
  bool operator==(const Packing&) const = default;
};

// What a way to pack comes to.
struct PackedScheme {
  std::string name;
  bool fits = false;   // the array computes it as it is counted
  std::string counts;  // what `utilization` divides by
  Count kept = 0;
  Count blocks = 0;                // 0: the scheme has none
  Count sub_rows = 0;              // PE rows that compute something
  double utilization = 0;          // as the scheme's source counts it; 1 of an empty mask
  std::optional<double> on_array;  // kept / (blocks x rows x pes), where its blocks fit
  double bound = 0;                // no packing that is counted like this exceeds this utilisation
  double seconds = 0;
  // What utilization, on_array and bound divide by.
  Count slots = 0, array_slots = 0, fewest_slots = 0;
};

// The same scheme on several masks, counted together.
PackedScheme sum_of(const std::vector<PackedScheme>& same);

// How long `orrery` looks for fewer blocks; a budget that is spent ends the search with the best so far.
struct PackEffort {
  Count swaps = 100;  // of keys between sets, for each column and group of queries
  Count rounds = 20;  // of improvement, for each matrix
  int threads = 1;
  bool all_the_time = false;  // until the time is up instead, where the budget has a limit of time
};

// Left to right over tiles of `array.rows` queries, as Sanger's Pack unit: empty columns are skipped; a block closes
// when a row would exceed `pes` entries or `ports` columns are in. Without `window`, the latter does not close it.
Packing pack_as_sanger(const Mask& mask, const PackArray& array, bool window = true, const base::Budget& budget = {});

// Of tiles of `tile` queries, columns that are empty dropped and the rest cut every `ports` columns: PE rows needed.
Count compacted_sub_rows(const Mask& mask, const PackArray& array, Count tile, const base::Budget& budget = {});

// The same as blocks, with tiles of `array.rows`.
Packing pack_compacted(const Mask& mask, const PackArray& array, const base::Budget& budget = {});

// ceil(entries of a row / pes), summed: what no packing undercuts.
Count row_chunks(const Mask& mask, const PackArray& array, const base::Budget& budget = {});

// A packing counted by blocks; `name` as given. It fits. Without a budget: it takes no longer than packing did.
PackedScheme counted(std::string name, const Mask& mask, const Packing& packing);

// pack, pack_nowin, compact64, compact16, row_chunks, orrery.
std::vector<std::string> packing_names();

// The scheme of a name. Nothing is kept outside of the valid tokens. `packing`: where its blocks go, if it has any that
// fit.
PackedScheme pack_by(const std::string& name, const Mask& mask, const PackArray& array, const base::Budget& budget,
                     const PackEffort& effort = {}, Packing* packing = nullptr);

// All of them, in this order.
std::vector<PackedScheme> pack_all(const Mask& mask, const PackArray& array, const base::Budget& budget,
                                   const PackEffort& effort = {});

// Whether every kept entry of the mask is computed once and every block fits; if not, what is wrong, in words.
std::optional<std::string> packing_fault(const Mask& mask, const Packing& packing);

}  // namespace orrery::masks
