// Programs that are found in $PATH.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery::base {

// Whether it is a file that may be run.
bool runs(const std::filesystem::path& program);

// All of this name in the absolute folders of $PATH, in their order, links followed.
std::vector<std::filesystem::path> find_programs(const std::string& name);

}  // namespace orrery::base
