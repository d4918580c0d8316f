// The array that masks are packed for, as users write it.
#pragma once

#include <string>

#include "orrery/engines/masks/packing/packing.h"

namespace orrery::verbs {

// An array by its text, such as 64x16x128: PE rows, PEs of each, column ports. Throws InputError: O1836 (another text),
// O1837 (sizes that no array has, or that are not modelled).
masks::PackArray pack_array(const std::string& text);

// The text of an array: what pack_array() reads.
std::string array_text(const masks::PackArray& array);

}  // namespace orrery::verbs
