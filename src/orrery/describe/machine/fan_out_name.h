// The storage that stands for a container with a mesh is named as in Timeloop: `inter_<container>_spatial`.
#pragma once

#include <string>
#include <string_view>

namespace orrery::machine {

// `PERows` -> `inter_PERows_spatial`.
std::string fan_out_name(std::string_view container);

// `inter_PERows_spatial` -> `PERows`; "" for a name of another form.
std::string_view container_of(std::string_view storage_name);

}  // namespace orrery::machine
