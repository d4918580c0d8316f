// One einsum's accesses, written as a text or as a list.
#pragma once

#include "orrery/formats/accelforge/workload_reader.h"

namespace orrery::formats::accelforge {

// "Z[m, n] = A[m, k] * B[K: k, n]", the output last. Throws InputError (O2109).
std::vector<AccessSpec> accesses_of_text(const yaml::Node& text);
// `tensor_accesses`. Throws InputError (O2103, O2109).
std::vector<AccessSpec> accesses_of_list(const yaml::Node& list, base::Diagnostics& found);
// What `tensor_accesses` beside a text adds: bits_per_value, persistent.
void add_to_accesses(std::vector<AccessSpec>& accesses, const yaml::Node& list, base::Diagnostics& found);

}  // namespace orrery::formats::accelforge
