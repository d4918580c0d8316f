// Towers that stand beside a language model.
#pragma once

#include <string_view>

#include "orrery/formats/huggingface/families/reading.h"

namespace orrery::formats::huggingface {

// The tower of `vision_config` in `whole`, which says that it is of `model_type`; false where there is none, or none
// that is understood.
bool read_vision_tower(Reading& r, const json::Node& whole, std::string_view model_type);

}  // namespace orrery::formats::huggingface
