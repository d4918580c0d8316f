// Types of the values of a config.json that are no sizes: names, lists of names, probabilities. Sizes and switches are
// checked where they are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {

// Finds O0903, values of a wrong type in `object`; keys in `ignored` pass, and null always does.
void check_value_types(const json::Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found);

// Probabilities of dropout: of what passes between blocks, and of attention's scores. Fused attention draws the
// latter's masks on chip, so that they matter where scores go through memory.
const std::vector<std::string_view>& hidden_dropouts();
const std::vector<std::string_view>& attention_dropouts();

}  // namespace orrery::formats::huggingface
