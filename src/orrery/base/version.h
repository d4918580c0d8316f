// The version of Orrery, which answers, stores and `--version` carry.
#pragma once

namespace orrery::base {

// The same as project(VERSION) in CMakeLists.txt, which a test compares.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace orrery::base
