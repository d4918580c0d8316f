#include "orrery/verbs/sweep/points/filter.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/points/values.h"

namespace orrery::sweep {
namespace {

using formats::timeloop::Expression;
using formats::timeloop::ExpressionError;
using formats::timeloop::Value;

bool of_a_path(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

// A path's letters as a name of the same length, so that columns stay what they are.
std::string plain(std::string path) {
  for (char& c : path)
    if (c == '.' || c == '-') c = '_';
  return path;
}

Value value_of(const std::string& text) {
  double number = 0;
  if (!is_number(text, number)) {
    if (text == "true" || text == "false") return text == "true";
    return text;
  }
  const auto whole = base::whole_number(number);
  if (whole && static_cast<double>(*whole) == number) return *whole;
  return number;
}

}  // namespace

void Filter::refuse(const ExpressionError& error, const std::string& more) const {
  base::Diagnostics found;
  base::Location where = where_;
  where.column += static_cast<int>(error.offset);
  where.length = std::max(1, static_cast<int>(error.length));
  auto& said = found.error("O2049", fmt::format("the filter `{}`: {}", text_, error.message), where);
  if (!more.empty()) said.hint(more);
  throw base::InputError(found.all());
}

Filter::Filter(const std::string& text, const base::Location& where, const std::vector<std::string>& paths)
    : text_(text), where_(where) {
  std::string plainly = text;
  std::vector<std::size_t> longest(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) longest[i] = i;
  std::sort(longest.begin(), longest.end(),
            [&](std::size_t a, std::size_t b) { return paths[a].size() > paths[b].size(); });
  for (const std::size_t i : longest)
    for (std::size_t at = plainly.find(paths[i]); at != std::string::npos; at = plainly.find(paths[i], at + 1)) {
      const std::size_t end = at + paths[i].size();
      if ((at > 0 && of_a_path(plainly[at - 1])) || (end < plainly.size() && of_a_path(plainly[end]))) continue;
      plainly.replace(at, paths[i].size(), plain(paths[i]));
    }
  try {
    expression_ = Expression::parse(plainly);
  } catch (const ExpressionError& error) {
    refuse(error, "write it as `arch.PERows.meshY * arch.PECols.meshX <= 1024`");
  }
  for (const std::string& name : expression_.names()) {
    std::vector<std::size_t> meant;
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (plain(paths[i]) == name) meant = {i};
    if (meant.empty())
      for (std::size_t i = 0; i < paths.size(); ++i)
        if (last_name(paths[i]) == name) meant.push_back(i);
    if (meant.size() != 1) {
      std::vector<std::string> known = paths;
      for (const std::string& path : paths) known.push_back(last_name(path));
      const std::size_t at = plainly.find(name);
      refuse({"O2049",
              meant.empty() ? fmt::format("`{}` does not vary", name) : fmt::format("several paths end in `{}`", name),
              at == std::string::npos ? 0 : at, name.size(), name},
             base::did_you_mean(name, known, fmt::format("what varies is {}", base::joined(paths, ", "))));
    }
    names_.emplace_back(name, meant.front());
  }
}

bool Filter::keeps(const base::Overrides& values) const {
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    for (const auto& [known, index] : names_)
      if (known == name) return value_of(values[index].value);
    return std::nullopt;
  };
  try {
    const Value value = expression_.evaluate(lookup);
    if (const bool* truth = std::get_if<bool>(&value)) return *truth;
    if (const base::Count* whole = std::get_if<base::Count>(&value)) return *whole != 0;
    if (const double* number = std::get_if<double>(&value)) return *number != 0;
    refuse({"O2049", "it is neither true nor false", 0, text_.size(), ""}, "compare something: `<=`, `==`, `and`");
  } catch (const ExpressionError& error) {
    refuse(error, "at the point " + values_text(values));
  }
}

}  // namespace orrery::sweep
