// "512KB" where words are counted: what the writer may have meant, worked out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::formats::timeloop {

struct UnitMistake {
  std::vector<std::string> readings;  // "512 KiB = 512 x 1024 = 524288 bytes"
  std::string hint;
};

// Nothing unless `text` is a number followed by a unit. `what` is the attribute's name; it decides what
// the number counts (words, bits, words per cycle, instances).
std::optional<UnitMistake> unit_mistake(std::string_view text, std::string_view what);

}  // namespace orrery::formats::timeloop
