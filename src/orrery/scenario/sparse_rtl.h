// `orrery sparse rtl`: an instance of the accelerator as SystemVerilog, with all that is needed to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/array/instance.h"
#include "orrery/base/content_hash.h"
#include "orrery/scenario/output_file.h"

namespace orrery::scenario {

struct SparseRtlRequest {
  // Rows, PEs, ports, head size, keys that fit, bits of codes, columns of the prediction array, lanes of quantiser and
  // merger; bytes of the memory's word.
  base::Count rows = 64, pes = 16, ports = 64, depth = 64, keys = 512, bits = 4, width = 64, lanes = 16, word = 16;
  // The vectors: the first matrix of a mask, or a predicted one of so many tokens, with random numbers.
  std::string mask;
  std::optional<base::Count> columns, tokens;
  double threshold = 0.01;
  std::uint64_t seed = 1;
};

struct SparseRtl {
  std::vector<OutputFile> files;  // names with folders
  array::Instance instance;
  std::vector<std::pair<std::string, base::Count>> parameters;  // of module accelerator
  base::Count cycles = 0, blocks = 0;                           // of the vectors
  std::vector<base::Input> inputs;
};

// Throws InputError: O1970 (sizes that rtl/ is not written for), O1971 (a mask that does not fit), those of
// array::faults() and of reading masks.
SparseRtl write_rtl(const SparseRtlRequest& request);

// The files of rtl/, as they were when this was built.
std::vector<OutputFile> rtl_sources();

}  // namespace orrery::scenario
