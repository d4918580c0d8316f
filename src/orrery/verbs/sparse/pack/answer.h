// What `sparse pack` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/engines/masks/packing/array_area.h"
#include "orrery/engines/masks/packing/packing.h"

namespace orrery::verbs {

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

}  // namespace orrery::verbs
