// The names of activations.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {

// Finds activations that nobody knows (O0925): a slip in the name would pass unnoticed, since it costs nothing.
void check_activations(const json::Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found);

}  // namespace orrery::formats::huggingface
