// The masks that a path stands for.
#pragma once

#include <optional>
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

// Which tokens of a mask are there is said by what is given; else by attn_valid.npy; else by the files of the mask's
// name in these folders beside it, as `sparse run --save-masks` writes them.
inline constexpr const char* kValidFolder = "valid";
inline constexpr const char* kValidQueriesFolder = "valid_queries";

// One of these masks with the tokens that are there; `inputs` gets the files. Throws InputError as read_mask does.
masks::Mask read_listed_mask(const std::string& path, std::optional<base::Count> columns, const SparseArrayFiles& given,
                             const MaskFiles& files, std::vector<base::Input>& inputs, const base::Budget& budget);

// O1819, where a mask keeps pairs that are not there.
void warn_of_outside(const std::string& path, base::Count outside, base::Diagnostics& warnings);

// Throws InputError O1803 where a mask belongs to other queries and keys.
void check_same_shape(const masks::MaskShape& mask, const masks::MaskShape& arrays, const std::string& path);

}  // namespace orrery::verbs
