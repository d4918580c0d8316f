// How many bits a config.json's weights have, and the names of activations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/formats/json/document.h"

namespace orrery::formats::huggingface {

// Of most weights: as `quantization_config` says, else `dtype` (or `torch_dtype`); nothing where neither does.
std::optional<int> weight_bits(const json::Node& object);

// As `quantization_config` says; nothing where there is none, or one that is not understood.
std::optional<int> quantised_bits(const json::Node& object);

// Finds activations that nobody knows (O0925): a slip in the name would pass unnoticed, since it costs nothing.
void check_activations(const json::Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found);

}  // namespace orrery::formats::huggingface
