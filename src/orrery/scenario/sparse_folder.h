// The masks that a path stands for.
#pragma once

#include <string>
#include <vector>

namespace orrery::scenario {

struct MaskFiles {
  std::vector<std::string> masks;  // at least one
  std::string valid;               // of the tokens that are there, beside them; empty: none
};

// A file stands for itself. A folder that has mask_packed_le.npy or mask.npy stands for that one, whatever else is in
// it; another for each of its .npy files, by name. attn_valid.npy of a folder is no mask: it says which tokens are
// there. Throws InputError O1816 of a folder without masks.
MaskFiles mask_files(const std::string& path);

}  // namespace orrery::scenario
