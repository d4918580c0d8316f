#include "orrery/formats/timeloop/documents/template_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 10'000;

// `*` is any characters, `?` one.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_pattern(const std::string& name) {
  return name.find_first_of("*?") != std::string::npos;
}

}  // namespace

TemplatePaths::TemplatePaths(const std::vector<std::string>& roots, const std::string& top) {
  std::vector<std::string> all = roots;
  std::error_code error;
  if (fs::is_regular_file(top, error)) all.push_back(fs::path(top).parent_path().string());
  for (const std::string& root : all) {
    const fs::path real = fs::weakly_canonical(root.empty() ? fs::path(".") : fs::path(root), error);
    if (!error) roots_.push_back(real);
  }
}

bool TemplatePaths::inside(const fs::path& path) const {
  std::error_code error;
  // From the root: of a relative path of which nothing exists weakly_canonical makes no other.
  const fs::path real = fs::weakly_canonical(fs::absolute(path.empty() ? fs::path(".") : path, error), error);
  if (error) return false;
  return std::any_of(roots_.begin(), roots_.end(), [&](const fs::path& root) {
    return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
  });
}

std::string TemplatePaths::absolute(const fs::path& path) const {
  std::error_code error;
  const fs::path whole = fs::absolute(path.empty() ? fs::path(".") : path, error).lexically_normal();
  std::string text = (error ? path : whole).string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  if (text.ends_with("/.")) text.resize(text.size() - 2);
  return text;
}

std::string TemplatePaths::shown(const fs::path& path) {
  const fs::path plain = path.lexically_normal();
  if (plain.is_relative()) return plain.string();
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path relative = error ? plain : plain.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? plain.string() : relative.string();
}

std::vector<std::string> TemplatePaths::candidates(const std::string& name, const fs::path& home, const Folders& added,
                                                   const base::Location& where) const {
  std::vector<fs::path> folders{home};
  if (fs::path(name).is_relative()) folders.insert(folders.end(), added.begin(), added.end());
  std::vector<std::string> found, real;
  fs::path outside;
  for (const fs::path& folder : folders) {
    const fs::path path = folder / name;
    const fs::path parent = path.parent_path();
    if (!inside(is_pattern(path.filename().string()) ? parent : path)) {
      if (outside.empty()) outside = path;
      continue;
    }
    std::vector<std::string> here;
    std::error_code error;
    if (!is_pattern(path.filename().string())) {
      if (fs::exists(path, error)) here.push_back(path.string());
    } else {
      std::size_t entries = 0;
      fs::directory_iterator at(parent.empty() ? fs::path(".") : parent, error);
      for (; !error && at != fs::directory_iterator() && ++entries <= kMostEntries; at.increment(error)) {
        const std::string file = at->path().filename().string();
        if (matches(file, path.filename().string()) && inside(at->path())) here.push_back((parent / file).string());
      }
      std::sort(here.begin(), here.end());
    }
    for (const std::string& one : here) {
      const std::string canonical = fs::weakly_canonical(one, error).string();
      if (std::find(real.begin(), real.end(), canonical) != real.end()) continue;
      real.push_back(canonical);
      found.push_back(shown(one));
    }
  }
  if (found.empty() && !outside.empty())
    base::fail("O2025", fmt::format("`{}` lies outside the folders that were given", shown(outside)), where,
               fmt::format("to let templates read there, add `--include {}`",
                           outside.has_parent_path() ? shown(outside.parent_path()) : "."));
  return found;
}

std::vector<std::string> TemplatePaths::all(const std::string& name, const fs::path& home, const Folders& added,
                                            const base::Location& where) const {
  std::vector<std::string> files = candidates(name, home, added, where);
  std::error_code error;
  files.erase(std::remove_if(files.begin(), files.end(),
                             [&](const std::string& one) { return !fs::is_regular_file(one, error); }),
              files.end());
  if (files.empty())
    base::fail("O0100", fmt::format("there is no file `{}`", shown(home / name)), where,
               added.empty() ? "" : "it is looked for in the template's folder and in those of `add_to_path`");
  return files;
}

std::string TemplatePaths::one(const std::string& name, const fs::path& home, const Folders& added,
                               const base::Location& where) const {
  const std::vector<std::string> files = all(name, home, added, where);
  if (files.size() > 1)
    base::fail("O0113", fmt::format("`{}` means several files, `{}` and `{}` among them", name, files[0], files[1]),
               where, "`include_all` takes several");
  return files.front();
}

std::string TemplatePaths::any(const std::string& name, const fs::path& home, const Folders& added,
                               const base::Location& where) const {
  std::error_code error;
  const std::vector<std::string> found = candidates(name, home, added, where);
  return found.size() == 1 && fs::is_directory(found[0], error) ? found[0] : one(name, home, added, where);
}

bool TemplatePaths::exists(const std::string& name, const fs::path& home, const Folders& added,
                           const base::Location& where) const {
  return !candidates(name, home, added, where).empty();
}

std::string TemplatePaths::folder(const std::string& name, const fs::path& home, const Folders& added,
                                  const base::Location& where) const {
  std::error_code error;
  for (const std::string& one : candidates(name, home, added, where))
    if (fs::is_directory(one, error)) return one;
  base::fail("O0100", fmt::format("there is no folder `{}`", shown(home / name)), where);
}

}  // namespace orrery::formats::timeloop
