// Layouts that a tensor of a graph can have at all: its contractions are one call of BLAS in them, and those that it is
// tied to can have them, too. What remains is what is worth measuring.
#pragma once

#include <map>
#include <set>
#include <string>

#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {

// Of every variable. Each contraction, each pair of equal variables and each split or merge by itself, until nothing
// changes: an assignment of these layouts need not exist.
std::map<std::string, std::set<std::string>> possible_layouts(const Graph& graph);

}  // namespace orrery::tuning
