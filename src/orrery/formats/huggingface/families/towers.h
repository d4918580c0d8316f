// Towers that stand beside a language model.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "orrery/formats/huggingface/families/config_reading.h"

namespace orrery::formats::huggingface {

// The tower of `vision_config` in `whole`, which says that it is of `model_type`: the keys that were read. Nothing
// where there is no tower, or none that is understood. Finds heads that do not divide its width (O0911), and images
// without a patch (O0910).
std::optional<std::set<std::string, std::less<>>> read_vision_tower(Reading& r, const json::Node& whole,
                                                                    std::string_view model_type);

}  // namespace orrery::formats::huggingface
