// Masks that do not look at scores: their patterns, by name or from Sanger's file, and masks as files. This folder
// reads what pruned attention is computed of: arrays (sparse_arrays.h), folders of masks (sparse_folder.h), and what
// limits leave out (sparse_limits.h).
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/masks/static_mask.h"

namespace orrery::verbs {

struct MaskPattern {
  masks::Pattern pattern;
  base::Location where;  // in its file; unknown: it was named
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

std::vector<std::string> sparse_mask_kinds();

// `kind`: one of sparse_mask_kinds(), or Sanger's JSON file. Throws InputError: O1813 (another name), O1809 to O1812.
MaskPattern read_mask_pattern(const std::string& kind);

// The bits that the mask takes, whole words. Throws InputError: O1803 (too large), O1809 to O1814.
double check_mask_pattern(const MaskPattern& read, base::Count tokens, base::Count heads);

// As a .npy file, a byte for each bit: [heads, rows, columns] of one sequence, else [batch, heads, rows, columns].
std::string mask_file(const masks::Mask& mask, bool flat_batch);

}  // namespace orrery::verbs
