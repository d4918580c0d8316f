// `orrery sparse rtl`: an instance of the accelerator as SystemVerilog, with all that is needed to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/inputs/output_file.h"
#include "orrery/verbs/accelerator/accelerator_run.h"

namespace orrery::verbs {

struct SparseRtlRequest {
  // As `sparse simulate` has it; what the hardware does not have is refused.
  ArrayChoice choice;
  // The largest head size, keys that fit, sequences of a START, bits of codes; bytes of the memory's word.
  std::optional<base::Count> depth, keys, sequences, bits;
  base::Count word = 16;
  // The vectors: the first matrices of what is given; else predicted ones of so many tokens with random numbers. So are
  // the numbers of a mask alone.
  bool given = false;
  ArrayCasesRequest input;
  base::Count matrices = 1;
  std::optional<base::Count> tokens;
  std::uint64_t seed = 1;
};

struct SparseRtl {
  std::vector<OutputFile> files;  // names with folders
  accelerator::Instance instance;
  std::vector<std::pair<std::string, base::Count>> parameters;  // of module accelerator
  base::Count cycles = 0, blocks = 0;                           // of the vectors
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: O1970 (sizes that rtl/ is not written for), O1971 (vectors that do not fit), O1972 (what the model
// has and the hardware has not), those of accelerator::faults(), of quantisers and of read_array_cases().
SparseRtl write_rtl(const SparseRtlRequest& request);

// The files of rtl/, as they were when this was built.
std::vector<OutputFile> rtl_sources();

}  // namespace orrery::verbs
