// Types of the values of a config.json that are no sizes: names, lists of names, probabilities. Sizes and switches are
// checked where they are read.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"
#include "orrery/formats/json/document.h"

namespace orrery::formats::huggingface {

// Finds O0903, values of a wrong type in `object`; keys in `ignored` pass, and null always does.
void check_value_types(const json::Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found);

// Finds O0922: keys that tell of more or fewer layers than the `layers` that the key `layers_key` counts.
void check_layer_counts(const json::Node& object, const std::string& layers_key, base::Count layers,
                        const std::vector<std::string>& ignored, base::Diagnostics& found);

}  // namespace orrery::formats::huggingface
