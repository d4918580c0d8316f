#include "orrery/cli/inputs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "orrery/formats/yaml/node.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kTableSet = ".table.yaml";

enum class ProblemPart { kNone, kShape, kInstance };

// What a file says about the problem. Files that do not parse say nothing here: the reader reports them.
ProblemPart problem_part(const File& file) {
  if (file->text.find("problem") == std::string::npos) return ProblemPart::kNone;
  base::Diagnostics ignored;
  ProblemPart part = ProblemPart::kNone;
  try {
    for (const formats::yaml::Node& document : formats::yaml::parse(file, base::Severity::kWarning, ignored)) {
      const formats::yaml::Node* problem = document.is_map() ? document.find("problem") : nullptr;
      if (!problem) continue;
      if (problem->is_map() && problem->find("instance")) return ProblemPart::kInstance;
      part = ProblemPart::kShape;
    }
  } catch (const base::InputError&) {
    return ProblemPart::kNone;
  }
  return part;
}

// Folders replaced by the YAML files that lie in them, in the order of their names; folders below are not entered. One
// without any stays, for the reader to refuse.
std::vector<std::string> in_folders(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::vector<std::string> inside;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      fs::directory_iterator at(path, error);
      for (; !error && at != fs::directory_iterator(); at.increment(error)) {
        const fs::path& file = at->path();
        std::error_code ignored;
        if ((file.extension() == ".yaml" || file.extension() == ".yml") && at->is_regular_file(ignored))
          inside.push_back(file.string());
      }
    }
    if (inside.empty()) inside.push_back(path);
    std::sort(inside.begin(), inside.end());
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

}  // namespace

std::vector<File> read_files(const std::vector<std::string>& paths) {
  std::vector<File> files;
  std::set<std::string> seen;
  base::Diagnostics found;
  for (const std::string& path : in_folders(paths)) {
    if (!seen.insert(path).second) continue;
    if (path.ends_with(kTableSet)) {
      const std::string folder = std::filesystem::path(path).parent_path().string();
      found.error("O1262", fmt::format("`{}` describes estimation tables and no chip", path))
          .hint(fmt::format("give its folder with `--tables {}`", folder.empty() ? "." : folder));
      continue;
    }
    try {
      files.push_back(formats::yaml::read_file(path));
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics) found.error("", "") = diagnostic;
    }
  }
  found.throw_if_errors();
  return files;
}

SplitFiles split_by_problem(const std::vector<File>& files) {
  std::vector<std::pair<File, ProblemPart>> parts;
  bool any_instance = false;
  for (const File& file : files) {
    parts.emplace_back(file, problem_part(file));
    any_instance = any_instance || parts.back().second == ProblemPart::kInstance;
  }
  SplitFiles split;
  for (const auto& [file, part] : parts) {
    const bool layer = any_instance ? part == ProblemPart::kInstance : part == ProblemPart::kShape;
    (layer ? split.layers : split.shared).push_back(file);
  }
  const auto by_name = [](const File& a, const File& b) { return a->name < b->name; };
  std::sort(split.shared.begin(), split.shared.end(), by_name);
  std::sort(split.layers.begin(), split.layers.end(), by_name);
  return split;
}

formats::timeloop::ReadOptions read_options(const CommonOptions& common) {
  formats::timeloop::ReadOptions options;
  options.overrides = common.overrides;
  options.estimate = common.estimators.options();
  return options;
}

std::string stem(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

}  // namespace orrery::cli
