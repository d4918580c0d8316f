// `--why "tp=4,recompute=full"`: choices of a plan, as limits of its space.
#pragma once

#include <string>

#include "orrery/engines/cluster/search/space.h"

namespace orrery::verbs {

// NAME=VALUE, several separated by commas, with the names and values that options have. Throws InputError O1942, all
// that is wrong at once, for a text of another form, for what is no choice of a plan, and for values that it cannot
// have.
void force(const std::string& text, const cluster::Model& model, cluster::Space& space);

}  // namespace orrery::verbs
