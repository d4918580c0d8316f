// `orrery sparse pack`: a mask packed onto an array by every scheme.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/sparse_arrays.h"
#include "orrery/sparse/array_area.h"
#include "orrery/sparse/packing.h"

namespace orrery::scenario {

struct SparsePackRequest {
  std::string mask;                    // a file, or a folder with mask_packed_le.npy and attn_valid.npy
  std::optional<base::Count> columns;  // of packed bits
  std::string valid;
  bool causal = false;
  sparse::PackArray array;
  sparse::PackEffort effort;
  cost::Limits limits;
};

struct SparsePack {
  sparse::MaskShape shape;
  base::Count kept = 0, kept_outside = 0;  // inside the valid tokens; elsewhere, and left out
  base::Count pairs = 0;                   // that are there
  sparse::PackArray array;
  std::vector<sparse::PackedScheme> schemes;
  sparse::Packing packing;  // by `orrery`
  sparse::ArrayDesign design;
  bool interrupted = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// An array by its text, such as 64x16x128: PE rows, PEs of each, column ports. Throws InputError: O1836 (another text),
// O1837 (sizes that no array has, or that are not modelled).
sparse::PackArray pack_array(const std::string& text);

// Throws InputError: those of reading arrays, O1838 (a folder without a mask). Warns O1819 of what is kept outside the
// valid tokens.
SparsePack pack_sparse(const SparsePackRequest& request);

}  // namespace orrery::scenario
