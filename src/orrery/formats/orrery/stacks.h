// Software stacks of the catalogue: YAML files into cluster::Stack.
//
// A file says `title`, `description`, `sources`, `fields` (of a plan: `overlap.CLASS`, and those that begin with
// `stack.` without that) and `runs` (every one of cluster::features()), each a map {value, and one of: source,
// fitted_on, assumption}.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/cluster/model/software_stack.h"
#include "orrery/formats/orrery/entry.h"

namespace orrery::formats::orrery {

struct StackFile {
  Entry entry;
  cluster::Stack stack;
};

// By name. Throws InputError: O1910 for a name that the catalogue does not have; O1911 for a file that says what no
// stack has, or says it without its origin.
StackFile load_stack(const std::string& directory, const std::string& name);

// Every stack, sorted by name.
std::vector<Entry> list_stacks(const std::string& directory);

}  // namespace orrery::formats::orrery
