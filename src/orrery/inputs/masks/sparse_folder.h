// The masks that a path stands for.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/masks/sparse_arrays.h"

namespace orrery::verbs {

struct MaskFiles {
  std::vector<std::string> masks;  // at least one
  std::string valid;               // of the tokens that are there, beside them; empty: none
};

// A file stands for itself. A folder that has mask_packed_le.npy or mask.npy stands for that one, whatever else is in
// it; another for each of its .npy files, by name. attn_valid.npy of a folder is no mask: it says which tokens are
// there. Throws InputError O1816 of a folder without masks.
MaskFiles mask_files(const std::string& path);

// Which tokens of one of these masks are there: what `given` says; else attn_valid.npy; else the files of the mask's
// name in the folders valid and valid_queries beside it, as `sparse run --save-masks` writes them.
inline constexpr const char* kValidFolder = "valid";
inline constexpr const char* kValidQueriesFolder = "valid_queries";
SparseArrayFiles with_valid(SparseArrayFiles given, const MaskFiles& files, const std::string& mask);

}  // namespace orrery::verbs
