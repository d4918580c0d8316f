// What `sparse rtl` answers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/accelerator/instance.h"
#include "orrery/inputs/output_file.h"

namespace orrery::verbs {

struct SparseRtl {
  std::vector<OutputFile> files;  // names with folders
  accelerator::Instance instance;
  std::vector<std::pair<std::string, base::Count>> parameters;  // of module accelerator
  base::Count cycles = 0, blocks = 0;                           // of the vectors
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
