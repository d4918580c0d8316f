// What `map` and `eval` do with their answers: print them, write them under -o.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/console.h"
#include "orrery/cli/shared_options.h"
#include "orrery/verbs/map/fuse_pairs.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

struct Results : MapAnswer {
  std::vector<FusedPair> fused;  // with --fuse auto
  std::string verb;              // "map", "eval"
  bool close_look = false;       // loop nest and energies of each layer
  double seconds = 0;            // wall clock of the command
};

// The originals reproduced, as `--compat` names them.
std::vector<std::string> compat_names(const DocumentRequest& documents);

// Fails early, before a long search: throws InputError O1104 when the folder holds results and `force` is
// not set, O1105 when it can neither be made nor be written. Makes nothing yet.
void check_results_folder(const OutputFolder& output);

// Prints table or JSON, writes the files, explains what cannot be mapped, and returns the exit code. Throws
// InputError O1105 when a file cannot be written.
int present(const Results& results, const DocumentRequest& documents, const OutputFolder& output,
            const Console& console);

}  // namespace orrery::verbs
