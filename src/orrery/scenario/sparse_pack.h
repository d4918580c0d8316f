// `orrery sparse pack`: a mask packed onto an array by every scheme.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/sparse_arrays.h"
#include "orrery/sparse/array_area.h"
#include "orrery/sparse/packing.h"

namespace orrery::scenario {

struct SparsePackRequest {
  std::string mask;                    // a file or a folder (sparse_folder.h)
  std::optional<base::Count> columns;  // of packed bits
  std::string valid;
  bool causal = false;
  sparse::PackArray array;
  sparse::PackEffort effort;
  cost::Limits limits;
};

struct PackedMask {
  std::string name;  // of its file
  sparse::MaskShape shape;
  base::Count kept = 0, kept_outside = 0, pairs = 0;
  std::vector<sparse::PackedScheme> schemes;
  sparse::Packing packing;  // by `orrery`
};

struct SparsePack {
  std::vector<PackedMask> masks;           // as far as the limits allowed
  base::Count matrices = 0;                // heads of all of them
  base::Count kept = 0, kept_outside = 0;  // inside the valid tokens; elsewhere, and left out
  base::Count pairs = 0;                   // that are there
  sparse::PackArray array;
  std::vector<sparse::PackedScheme> schemes;  // all masks together
  sparse::ArrayDesign design;
  bool interrupted = false;
  std::vector<std::string> unfinished;  // what the limits left out
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// An array by its text, such as 64x16x128: PE rows, PEs of each, column ports. Throws InputError: O1836 (another text),
// O1837 (sizes that no array has, or that are not modelled).
sparse::PackArray pack_array(const std::string& text);

// Throws InputError: those of reading arrays, O1816 (a folder without a mask). Warns O1819 of what is kept outside the
// valid tokens, O1841 of what the limits left out.
SparsePack pack_sparse(const SparsePackRequest& request);

}  // namespace orrery::scenario
