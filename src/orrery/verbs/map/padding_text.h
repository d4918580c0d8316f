// What other than perfect factors came to, in words.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// A line for each layer that was asked about: the sizes, the operations they add, the objective beside that of the best
// mapping without rounding or rests. Empty where only perfect factors were asked for.
std::string padding_lines(const std::vector<MappedLayer>& layers);

// Operations of the rounded sizes over those of the einsum itself.
double padded_work(const Padding& padding);

}  // namespace orrery::verbs
