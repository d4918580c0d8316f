#include "orrery/inputs/masks/pack_array.h"

#include <charconv>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

masks::PackArray pack_array(const std::string& text) {
  base::Count sizes[3] = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, failure] = std::from_chars(at, end, sizes[i]);
    if (failure != std::errc() || (i < 2 ? next == end || *next != 'x' : next != end))
      base::fail("O1836", fmt::format("`{}` is no array", text), {},
                 "write PE rows x PEs of a row x column ports, as 64x16x64, the published one");
    at = next + 1;
  }
  const masks::PackArray array{sizes[0], sizes[1], sizes[2]};
  base::Diagnostics found;
  const auto within = [&](base::Count size, base::Count most, const char* what) {
    if (size >= 1 && size <= most) return;
    found.error("O1837", fmt::format("an array of {} {}: 1 to {} are modelled", size, what, most))
        .hint("the published array is 64x16x64: PE rows, PEs of a row, column ports");
  };
  within(array.rows, masks::kMostPackRows, "PE rows");
  within(array.pes, masks::kMostPackPes, "PEs a row");
  within(array.ports, masks::kMostPackPorts, "column ports");
  if (!found.has_errors() && array.ports < array.pes)
    found.error("O1837", fmt::format("{} PEs a row and {} column ports", array.pes, array.ports))
        .note(
            "each PE of a row takes a port of its own, also when it is idle: the delays of the output chain add up "
            "to ports - PEs")
        .hint("give at least as many ports as PEs");
  found.throw_if_errors();
  return array;
}

std::string array_text(const masks::PackArray& array) {
  return fmt::format("{}x{}x{}", array.rows, array.pes, array.ports);
}

}  // namespace orrery::verbs
