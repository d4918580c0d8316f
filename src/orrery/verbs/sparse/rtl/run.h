// `orrery sparse rtl`: an instance of the accelerator as SystemVerilog, with all that is needed to run it.
#pragma once

#include <vector>

#include "orrery/inputs/output_file.h"
#include "orrery/verbs/sparse/rtl/answer.h"
#include "orrery/verbs/sparse/rtl/request.h"

namespace orrery::verbs {

// Throws InputError: O1970 (sizes that rtl/ is not written for), O1971 (vectors that do not fit), O1972 (what the model
// has and the hardware has not), those of accelerator::faults(), of quantisers and of read_array_cases().
SparseRtl write_rtl(const SparseRtlRequest& request);

// The files of rtl/, as they were when this was built.
std::vector<OutputFile> rtl_sources();

}  // namespace orrery::verbs
