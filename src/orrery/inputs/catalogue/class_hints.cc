// A look at the text is enough for a hint: a line `name: CLASS` in a file of `compound_components` or `components`.
// Cost: only where a run fails, a read of the YAML files one folder below, at most 200 of them, and a look into as many
// folders around for tables.
#include "orrery/inputs/catalogue/class_hints.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 200;
constexpr std::uintmax_t kMostBytes = 1 << 20;

// "..., class `smartbuffer`" -> "smartbuffer".
std::string class_of(std::string_view message) {
  constexpr std::string_view kBefore = "class `";
  const std::size_t begin = message.rfind(kBefore);
  if (begin == std::string_view::npos || message.back() != '`') return {};
  return std::string(message.substr(begin + kBefore.size(), message.size() - begin - kBefore.size() - 1));
}

std::vector<fs::path> yaml_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code inner;
    if (!at->is_directory(inner)) continue;
    for (fs::directory_iterator file(at->path(), inner); !inner && file != fs::directory_iterator();
         file.increment(inner)) {
      std::error_code ignored;
      const bool yaml = file->path().extension() == ".yaml" || file->path().extension() == ".yml";
      if (yaml && file->is_regular_file(ignored) && file->file_size(ignored) <= kMostBytes && files.size() < kMostFiles)
        files.push_back(file->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool describes(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.find("components") == std::string::npos) return false;
  const std::string wanted = "name: " + name;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    if (end == text.size() || std::string_view(" \t\r\n,}#").find(text[end]) != std::string_view::npos) return true;
  }
  return false;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && out.size() < kMostFiles) out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool holds_set(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    if (at->path().filename().string().ends_with(".table.yaml")) return true;
  return false;
}

bool is_set_of(const fs::path& folder, const std::string& name) {
  if (!holds_set(folder)) return false;
  const std::vector<fs::path> data = folders_in(folder);
  return std::any_of(data.begin(), data.end(), [&](const fs::path& one) {
    std::error_code ignored;
    return fs::is_regular_file(one / (name + ".csv"), ignored);
  });
}

// A folder with a set of tables, one of which is called as the class: below `folder`, beside it, or in a neighbour of
// the folder that it is in.
fs::path tables_of(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> around = {folder, folder / ".."};
  for (fs::path& neighbour : folders_in(folder / ".." / "..")) around.push_back(std::move(neighbour));
  std::size_t looked_at = 0;
  for (const fs::path& one : around)
    for (const fs::path& set : folders_in(one)) {
      if (++looked_at > kMostFiles) return {};
      if (is_set_of(set, name)) return set.lexically_normal();
    }
  return {};
}

}  // namespace

std::vector<base::Diagnostic> with_class_hints(std::vector<base::Diagnostic> found) {
  for (base::Diagnostic& one : found) {
    if (one.code != "O1201" || !one.primary.where.file) continue;
    const std::string name = class_of(one.message);
    if (name.empty()) continue;
    const fs::path folder = fs::path(one.primary.where.file->name).parent_path();
    if (const fs::path set = tables_of(folder.empty() ? fs::path(".") : folder, name); !set.empty())
      one.hints.insert(one.hints.begin(),
                       fmt::format("`{}` has a table of class `{}`: `--tables {}`", set.string(), name, set.string()));
    for (const fs::path& file : yaml_files_below(folder.empty() ? fs::path(".") : folder)) {
      if (!describes(file, name)) continue;
      const std::string shown = folder.empty() ? file.lexically_normal().string() : file.string();
      one.hints.insert(one.hints.begin(),
                       fmt::format("`{}` describes class `{}`: give it, too, or its folder; folders below the one that "
                                   "is given are not read",
                                   shown, name));
      break;
    }
  }
  return found;
}

}  // namespace orrery::verbs
