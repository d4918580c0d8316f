// `orrery sparse pack`: a mask packed onto an array by every scheme.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/masks/packing/array_area.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/inputs/masks/sparse_arrays.h"

namespace orrery::verbs {

struct SparsePackRequest {
  std::string mask;                    // a file or a folder (sparse_folder.h)
  std::optional<base::Count> columns;  // of packed bits
  std::string valid;
  bool causal = false;
  masks::PackArray array;
  masks::PackEffort effort;
  base::Limits limits;
};

struct PackedMask {
  std::string name;  // of its file
  masks::MaskShape shape;
  base::Count kept = 0, kept_outside = 0, pairs = 0;
  std::vector<masks::PackedScheme> schemes;
  masks::Packing packing;  // by `orrery`
};

struct SparsePack {
  std::vector<PackedMask> masks;           // as far as the limits allowed
  base::Count matrices = 0;                // heads of all of them
  base::Count kept = 0, kept_outside = 0;  // inside the valid tokens; elsewhere, and left out
  base::Count pairs = 0;                   // that are there
  masks::PackArray array;
  std::vector<masks::PackedScheme> schemes;  // all masks together
  masks::ArrayDesign design;
  bool interrupted = false;
  std::vector<std::string> unfinished;  // what the limits left out
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: those of reading arrays, O1816 (a folder without a mask). Warns O1819 of what is kept outside the
// valid tokens, O1841 of what the limits left out.
SparsePack pack_sparse(const SparsePackRequest& request);

}  // namespace orrery::verbs
