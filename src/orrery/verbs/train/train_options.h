// What `orrery train` was asked: a run of Orrery's model, or of AMPeD's equations.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/shared_options.h"
#include "orrery/verbs/train/amped/run.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

struct TrainOptions : OutputFolder {
  TrainRequest request;  // what to train, on what, spread how
  Settings overrides;    // --set
  std::string trace;     // Perfetto trace of one iteration; empty: none
  std::string plans;     // a file of plans to evaluate, "-" for the standard input; empty: none
  std::string svg;       // picture of the best times of tp x pp; empty: none
  // AMPeD's own interface.
  bool amped = false;                       // --equations amped
  base::Reproduced<amped::Defects> compat;  // --compat amped
  std::vector<std::string> files;           // config.json
  std::string config_flat;                  // the flat parameters instead; empty: none
  std::string lookup_tables;                // --tables
  bool gemm = false;                        // gemm_breakdown.txt
  bool compute_graph = false;               // compute_graph.txt
  bool mat_dims = false;                    // mat_dims.txt
  bool search = false;                      // all permutations of batch size and degrees
};

}  // namespace orrery::verbs
