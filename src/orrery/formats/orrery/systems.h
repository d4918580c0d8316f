// Systems that Orrery knows by name, and users' own: YAML files into cluster::System.
//
// The format is our own, so unknown and duplicate keys are errors. docs/model/cluster.md lists the keys. A figure is a
// quantity with its unit ("300 GB/s") or a map {value, and one of: source, fitted_on, assumption}; in the catalogue it
// is such a map, and a source is one of the file's `sources`. `like: NAME` takes over everything that the file does not
// say. `accelerator: {chip: NAME}` leaves to a chip what that says; who reads the chip completes the accelerator
// (inputs/systems/system_reading.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/formats/orrery/entry.h"

namespace orrery::formats::orrery {

// The chip that `accelerator.chip` names.
struct ChipReference {
  std::string name;  // of the catalogue, or a path
  base::Location where;
  base::Location memory_where;  // of `memory` beside it, which is for chips that state none
};

struct SystemFile {
  Entry entry;
  std::shared_ptr<const base::SourceFile> file;
  cluster::System system;
  std::optional<ChipReference> chip;  // `system.accelerator` lacks what it says
  std::vector<std::string> accuracy;  // what is known of the error of the constants, a line each
  base::Diagnostics diagnostics;      // warnings
};

// Every entry, sorted by name. Throws InputError when an entry is broken.
std::vector<Entry> list_systems(const std::string& directory);

// `overrides` are fields to change before reading: {"networks.0.bandwidth", "25 GB/s"}; a network also goes by its
// name. By catalogue name, or by path when the text names a file (it has a `/` or a suffix .yaml, .yml). Throws
// InputError: O1350 unknown name; O1351 unknown keys; O1352 missing keys; O1353 what is no such quantity, or out of
// range; O1354 figures without a source; O1355 a `like` or `chip` that leads nowhere; O1356 sizes that contradict each
// other; O1357 overrides of what is not there; O1393 what a chip says, said again; O0100 to O0102 for files that cannot
// be read.
SystemFile load_system(const std::string& directory, const std::string& name_or_path,
                       const base::Overrides& overrides = {});

// The same from a text that is no file.
SystemFile read_system(const std::string& directory, const std::shared_ptr<const base::SourceFile>& text,
                       const base::Overrides& overrides = {});

}  // namespace orrery::formats::orrery
