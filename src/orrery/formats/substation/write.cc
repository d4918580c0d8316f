#include "orrery/formats/substation/write.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "orrery/formats/substation/columns.h"
#include "orrery/formats/substation/decimal_time.h"

namespace orrery::formats::substation {
namespace {

// In kernels' files the width of a token is N.
std::string shown(std::string text) {
  for (char& c : text) c = c == 'i' ? 'N' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string kernel_text(const tuning::Measured& table, const tuning::Graph& graph, const tuning::Sizes& sizes) {
  const std::vector<Expected> all = expected_files(graph);
  const auto expected =
      std::find_if(all.begin(), all.end(), [&](const Expected& e) { return e.benchmark == table.benchmark; });
  std::string head, letters;
  for (const Expected::Layout& one : expected->layouts)
    for (const char c : one.dims)
      if (letters.find(c) == std::string::npos) letters += c;
  for (const char c : std::string("phbjkiu"))
    if (letters.find(c) != std::string::npos) head += fmt::format("{} = {} ", shown(std::string(1, c)), sizes[c]);
  std::string out;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    out += head;
    for (std::size_t i = 0; i < table.specials.size(); ++i)
      out += fmt::format("{} = {} ", expected->specials[i].column,
                         shown(table.specials[i].values[table.chosen[r * table.specials.size() + i]]));
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out += fmt::format("{} = {} ", upper(table.columns[i].name),
                         shown(table.columns[i].values[table.layouts[r * table.columns.size() + i]]));
    out += fmt::format("time = {} s\n", decimal_text(table.times[r], 15));
  }
  return out;
}

}  // namespace orrery::formats::substation
