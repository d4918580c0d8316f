// DFModel's setup file: a graph of kernels, a system and how the one is run on the other.
//
//   dataflow_graph { kernels { ... } connections { ... } }  system { ... }  cost { ... }  execution { ... }  gurobi {
//   ... }
//
// A text-format protocol buffer (kosho2013/DFModel, arXiv 2412.16432). Fields of all its generations are known, in any
// mixture: `miscellany` beside `execution`, `perfect_overlap` beside `overlap`. Floating-point fields pass through 32
// bits, as they do there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/formats/dfmodel/setup_overrides.h"
#include "orrery/formats/dfmodel/setup_places.h"

namespace orrery::formats::dfmodel {

struct SetupDocument {
  std::shared_ptr<const base::SourceFile> file;
  dataflow::Setup setup;
  SetupPlaces places;
  base::Diagnostics warnings;
};

// Throws InputError with everything found (O1400 to O1421). `overrides` replace fields before anything is checked.
SetupDocument read_setup(const std::shared_ptr<const base::SourceFile>& file, const base::Overrides& overrides = {});

// `path`: the file, or a folder with `user_input/setup.txt` or `setup.txt`. Throws O0100 when it cannot be read.
SetupDocument load_setup(const std::string& path, const base::Overrides& overrides = {});

// Whether the file, or what the folder holds, is meant as a setup: it opens a block that only setups have. A path that
// cannot be read is none.
bool is_setup(const std::string& path);

}  // namespace orrery::formats::dfmodel
