#include "orrery/inputs/catalogue/dimension_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "orrery/base/text/text.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

bool is_unknown_dimension(const base::Diagnostic& diagnostic) {
  return diagnostic.code == "O0505" && diagnostic.primary.where.known();
}

// What a message quotes first: the name that is not a dimension.
std::string quoted(const std::string& message) {
  const std::size_t open = message.find('`');
  const std::size_t close = open == std::string::npos ? open : message.find('`', open + 1);
  return close == std::string::npos ? "" : message.substr(open, close - open + 1);
}

// The catalogue's directory, or "" where there is none: an error is being explained, not looked for.
std::string directory_or_nothing() {
  try {
    return catalogue_directory();
  } catch (const base::InputError&) {
    return {};
  }
}

struct Folded {
  std::size_t place;               // of the first message, in what is returned
  std::size_t more = 0;            // messages beyond it
  std::vector<std::string> names;  // as met
};

}  // namespace

std::vector<base::Diagnostic> fold_dimension_names(const std::vector<base::Diagnostic>& found) {
  if (std::none_of(found.begin(), found.end(), is_unknown_dimension)) return found;
  const std::string directory = directory_or_nothing();
  if (directory.empty()) return found;

  std::vector<base::Diagnostic> out;
  std::map<std::string, Folded> folded;
  for (const base::Diagnostic& diagnostic : found) {
    const bool ours = is_unknown_dimension(diagnostic) && diagnostic.primary.where.file->name.rfind(directory, 0) == 0;
    if (!ours) {
      out.push_back(diagnostic);
      continue;
    }
    const auto [at, is_first] = folded.try_emplace(diagnostic.primary.where.file->name, Folded{out.size(), 0, {}});
    Folded& file = at->second;
    if (is_first)
      out.push_back(diagnostic);
    else
      ++file.more;
    const std::string name = quoted(diagnostic.message);
    if (std::find(file.names.begin(), file.names.end(), name) == file.names.end()) file.names.push_back(name);
  }
  for (const auto& [name, file] : folded) {
    base::Diagnostic& first = out[file.place];
    if (file.more > 0)
      first.note(fmt::format("{} more place{} of this file name what is no dimension of the problem", file.more,
                             base::plural(file.more)));
    first.hint(
        fmt::format("the chip's constraints are written for {}: rename the problem's dimensions, or copy the chip's "
                    "file, change its constraints and give the copy as `--chip ./copy.yaml`",
                    base::joined(file.names, ", ")));
  }
  return out;
}

}  // namespace orrery::verbs
