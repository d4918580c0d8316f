// Types of the values of a config.json that no getter asks for: names, lists of names, probabilities, and what is known
// but not used. Sizes and switches are checked where they are read.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {

// Finds O0903, values of a wrong type in `object`, where none is said yet; `read` are keys that a family knows. Keys in
// `ignored` pass, and null always does.
void check_value_types(const json::Node& object, const std::set<std::string, std::less<>>& read,
                       const std::vector<std::string>& ignored, base::Diagnostics& found);

// Probabilities of dropout: of what passes between blocks, and of attention's scores. Fused attention draws the
// latter's masks on chip, so that they matter where scores go through memory.
const std::vector<std::string_view>& hidden_dropouts();
const std::vector<std::string_view>& attention_dropouts();

}  // namespace orrery::formats::huggingface
