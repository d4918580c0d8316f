// Lines of `stats.txt`: a name, a colon in its column, a value.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/numbers/count.h"

namespace orrery::formats::timeloop {

using Sum = __int128;  // of counts, which may exceed a count

inline std::string fixed(double value) {
  return fmt::format("{:.2f}", value);
}

// "        Size                            : 1"
inline std::string line(int indent, int width, std::string_view name, std::string_view value) {
  return fmt::format("{}{:<{}}: {}\n", std::string(indent, ' '), name, width, value);
}

inline std::string section(int indent, std::string_view title) {
  const std::string space(indent, ' ');
  return fmt::format("{}{}\n{}{}\n", space, title, space, std::string(title.size(), '-'));
}

inline std::string level_head(std::size_t number, std::string_view name) {
  return section(0, fmt::format("Level {}", number)) + fmt::format("=== {} ===\n\n", name);
}

inline std::string mesh(base::Count instances, base::Count x, base::Count y) {
  return fmt::format("{} ({}*{})", instances, x, y);
}

}  // namespace orrery::formats::timeloop
