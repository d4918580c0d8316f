#include "orrery/formats/substation/write.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/substation/columns.h"
#include "orrery/formats/substation/decimal_time.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::formats::substation {
namespace {

// In kernels' files the width of a token is N.
std::string shown(std::string text) {
  for (char& c : text) c = c == 'i' ? 'N' : base::upper(c);
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
      out += fmt::format("{} = {} ", base::upper(table.columns[i].name),
                         shown(table.columns[i].values[table.layouts[r * table.columns.size() + i]]));
    out += fmt::format("time = {} s\n", decimal_text(table.times[r], 15));
  }
  return out;
}

std::string result_text(const tuning::Measured& table, const tuning::Graph& graph, const tuning::Sizes& sizes) {
  const tuning::Operator& op = *graph.find(table.benchmark);
  tuning::Sizes all = sizes;  // files of contractions alone tell none of the stack
  all['q'] = 3;
  std::map<std::string, std::string> calls;
  for (const tuning::ContractionLayout& one : tuning::contraction_space(op.einsum, all).layouts)
    calls.emplace(one.a + "," + one.b + "," + one.c, tuning::call_cells(one.call));
  std::array<std::size_t, 3> place{};  // of A, B, C among the table's columns
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    place[static_cast<std::size_t>(table.columns[i].name[0] - 'a')] = i;
  std::string out = fmt::format("A,B,C,{},Time,Implementation\n", tuning::kCallColumns);
  for (std::size_t r = 0; r < table.rows(); ++r) {
    std::vector<std::string> layouts;
    for (const std::size_t i : place)
      layouts.push_back(table.columns[i].values[table.layouts[r * table.columns.size() + i]]);
    const std::string key = base::joined(layouts, ",");
    const auto call = calls.find(key);
    out += fmt::format("{},{},{},{}\n", key, call == calls.end() ? std::string(12, ',') : call->second,
                       decimal_text(table.times[r], 12), table.specials[0].values[table.chosen[r]]);
  }
  return out;
}

}  // namespace orrery::formats::substation
