#include "orrery/formats/orrery/catalogue_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "orrery/base/edit_distance.h"

namespace orrery::formats::orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSuggested = 4;  // the list of all names stands beside

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> longer;
  std::copy_if(known.begin(), known.end(), std::back_inserter(longer),
               [&](const std::string& candidate) { return candidate.starts_with(name); });
  if (longer.size() == 1) return base::did_you_mean(longer[0]);
  if (longer.size() > 1 && longer.size() <= kMostSuggested)
    return fmt::format("did you mean one of `{}`?", fmt::join(longer, "`, `"));
  return base::did_you_mean(name, known);
}

}  // namespace

std::vector<std::string> catalogue_names(const std::string& directory, const CatalogueKind& kind) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(directory) / kind.folder, ignored))
    if (entry.path().extension() == kind.suffix) found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

bool has_entry(const std::string& directory, const CatalogueKind& kind, const std::string& name) {
  const std::vector<std::string> known = catalogue_names(directory, kind);
  return std::binary_search(known.begin(), known.end(), name);
}

std::string entry_path(const std::string& directory, const CatalogueKind& kind, const std::string& name) {
  return (fs::path(directory) / kind.folder / (name + kind.suffix)).string();
}

void fail_unknown(const std::string& directory, const CatalogueKind& kind, const std::string& name,
                  base::Location where) {
  const std::vector<std::string> known = catalogue_names(directory, kind);
  base::Diagnostics found;
  base::Diagnostic& unknown =
      found.error(kind.code, fmt::format("the catalogue has no {} `{}`", kind.what, name), std::move(where));
  unknown.note(fmt::format("it has: {}", fmt::join(known, ", ")));
  for (const CatalogueKind& other : {kChip, kModel, kSystem})
    if (has_entry(directory, other, name))
      unknown.hint(fmt::format("`{}` is a {}: give it with `{}`", name, other.what, other.option));
  unknown.hint(suggestion(name, known));
  unknown.hint(fmt::format("a file of your own is given by its path: `{} ./{}{}`", kind.option, name, kind.suffix));
  throw base::InputError(found.all());
}

}  // namespace orrery::formats::orrery
