// What hardware does about zeros: how storages represent tensors, and which accesses they save. Plain data, beside a
// chip and an einsum.
//
// Gating leaves an access out and spends its time; skipping saves the time, too. Both act on a *target* where the
// tiles of its *leaders* that it would meet are empty. Source: Sparseloop (Wu et al., MICRO 2022), section 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/nest/sparse/density.h"
#include "orrery/engines/nest/sparse/rank_format.h"

namespace orrery::nest {

// Of one tensor at one storage.
struct TensorFormat {
  std::vector<RankFormat> ranks;  // innermost first
  bool inner_to_outer = false;    // loops are given to ranks from the innermost on
  base::Location where;

  // Some rank leaves empty values out.
  bool compressed() const {
    for (const RankFormat& rank : ranks)
      if (rank.compressed()) return true;
    return false;
  }
  std::string name() const {  // outermost first: "UOP CP"
    std::string all;
    for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank)
      all += (all.empty() ? "" : " ") + std::string(name_of(rank->kind));
    return all;
  }
};

// "Leave accesses to `target` out where all of `leaders`' tiles ... are empty".
struct Follower {
  int target = 0;
  std::vector<int> leaders;
};

// One unit that saves accesses. Of several options it takes the one that saves most energy.
struct AccessSaving {
  bool skips = false;  // else gates
  std::vector<Follower> options;
  base::Location where;
};

// pJ of one access. Data: a block; metadata: as many bits as the metadata storage is wide.
struct SparsePrices {
  double gated_read = 0, gated_fill = 0, gated_update = 0;
  double skipped_read = 0, skipped_fill = 0, skipped_update = 0;
  double metadata_read = 0, metadata_fill = 0, metadata_update = 0;
  double gated_metadata_read = 0, gated_metadata_fill = 0, gated_metadata_update = 0;
  double skipped_metadata_read = 0, skipped_metadata_fill = 0, skipped_metadata_update = 0;
  double compression = 0, decompression = 0;  // of a word
};

struct SparseStorage {
  std::vector<std::optional<TensorFormat>> formats;  // per dataspace
  std::vector<AccessSaving> savings;
  base::Count metadata_width_bits = 0;  // 0: metadata takes no accesses
  base::Count metadata_word_bits = 0;
  base::Count metadata_capacity_bits = 0;  // after multiple buffering; counts where the data's is limited
  bool decompresses = false;               // what comes from a compressed level above
  bool compresses = false;                 // what goes to one
  SparsePrices prices;

  const TensorFormat* format(int dataspace) const {
    const std::optional<TensorFormat>& one = formats[static_cast<std::size_t>(dataspace)];
    return one ? &*one : nullptr;
  }
  bool compressed(int dataspace) const { return format(dataspace) != nullptr && format(dataspace)->compressed(); }
};

struct SparseDesign {
  std::vector<Density> densities;       // per dataspace
  std::vector<SparseStorage> storages;  // as Chip::storages
  bool gates_compute = false;           // operations with an operand that is zero
  bool aligns_compute = false;          // operations for which an operand is missing are skipped
  double gated_compute_pj = 0, skipped_compute_pj = 0;

  // False where nothing looks at zeros, so that the dense model holds whatever the densities.
  bool acts() const {
    if (gates_compute || aligns_compute) return true;
    for (const SparseStorage& storage : storages) {
      if (!storage.savings.empty()) return true;
      for (const auto& format : storage.formats)
        if (format) return true;
    }
    return false;
  }
};

}  // namespace orrery::nest
