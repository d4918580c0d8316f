// What `map` and `eval` do with their answers: print them, write them under -o.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/cli/console.h"
#include "orrery/cli/options.h"
#include "orrery/scenario/map_model.h"

namespace orrery::cli {

struct Results {
  std::string verb;   // "map", "eval"
  std::string title;  // printed above the table; may be empty
  scenario::MappedModel mapped;
  base::Count blocks = 0;   // of a model; 0: only layers
  std::string selected;     // the one layer of the model that --layer names
  bool close_look = false;  // loop nest and energies of each layer
  double seconds = 0;       // wall clock of the command
};

// The originals reproduced, as `--compat` names them.
std::vector<std::string> compat_names(const CommonOptions& common);

// Fails early, before a long search: throws InputError O1104 when `directory` holds results and `force` is
// not set, O1105 when it can neither be made nor be written. Makes nothing yet.
void check_directory(const CommonOptions& common);

// Prints table or JSON, writes the files, explains what cannot be mapped, and returns the exit code. Throws
// InputError O1105 when a file cannot be written.
int present(const Results& results, const CommonOptions& common, const Console& console);

}  // namespace orrery::cli
