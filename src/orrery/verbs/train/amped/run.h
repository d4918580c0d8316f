// A training run by AMPeD's equations: its files in, its figures and its files out.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/inputs/output_file.h"
#include "orrery/verbs/train/amped/answer.h"
#include "orrery/verbs/train/amped/request.h"

namespace orrery::verbs {

// Throws InputError: O1333 for times that no double holds, O1339 for a search too large, and what the readers of
// formats/amped say. What does not fit the memory, or a search that finds nothing valid, is an answer.
AmpedRun train_amped(const AmpedRequest& request);

// Why the answer is no (O1340); empty where it is not.
std::vector<base::Diagnostic> explain_no_amped_run(const AmpedRun& run);

// config_summary.txt and training_time_breakdown.txt.
std::vector<OutputFile> amped_files(const AmpedRun& run);

// gemm_breakdown.txt, compute_graph.txt, and mat_dims.txt for DeepFlow: those that are wanted.
std::vector<OutputFile> amped_details(const AmpedRun& run, bool gemm, bool compute_graph, bool mat_dims);

}  // namespace orrery::verbs
