#include "orrery/cli/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/whole_file.h"

namespace orrery::verbs {

namespace fs = std::filesystem;

void check_folder(const std::string& directory, bool force, const std::vector<std::string>& names) {
  if (directory.empty()) return;
  std::error_code ignored;
  fs::path present = fs::absolute(directory, ignored);
  while (!fs::exists(present, ignored) && present.has_relative_path()) present = present.parent_path();
  if (!fs::is_directory(present, ignored))
    base::fail("O1105",
               fmt::format("the folder `{}` cannot be made: `{}` is a file", directory,
                           fs::relative(present, ignored).string()),
               {}, "choose another folder");
  if (::access(present.c_str(), W_OK | X_OK) != 0)
    base::fail("O1105", fmt::format("nothing can be written in `{}`: {}", present.string(), std::strerror(errno)), {},
               "choose another folder");
  if (force) return;
  for (const std::string& name : names) {
    const fs::path path = fs::path(directory) / name;
    if (fs::exists(path, ignored))
      base::fail("O1104", fmt::format("`{}` holds the results of an earlier run", path.string()), {},
                 "choose another folder, or overwrite with --force");
  }
}

void check_file(const std::string& path, bool force) {
  if (path.empty()) return;
  std::error_code ignored;
  const fs::path folder = fs::absolute(path, ignored).parent_path();
  const auto no = [&](const std::string& why, const char* hint) {
    base::fail("O1105", fmt::format("`{}` cannot be written: {}", path, why), {}, hint);
  };
  if (!fs::is_directory(folder, ignored))
    no(fmt::format("`{}` is no folder", folder.string()), "make the folder, or choose another");
  if (fs::is_directory(path, ignored)) no("it is a folder", "name a file in it");
  const bool there = fs::exists(path, ignored), stream = base::WholeFile::is_stream(path);
  if ((there && ::access(path.c_str(), W_OK) != 0) || (!stream && ::access(folder.c_str(), W_OK | X_OK) != 0))
    no(std::strerror(errno), "choose another file");
  if (there && !stream && !force)
    base::fail("O1104", fmt::format("`{}` is there already", path), {},
               "choose another file, or overwrite with --force");
}

void keep_inputs(const std::string& path, const std::vector<base::Input>& inputs) {
  for (const base::Input& input : inputs) {
    std::error_code ignored;
    if (!input.name.starts_with("-") && fs::equivalent(path, input.name, ignored))
      base::fail("O1104", fmt::format("`{}` is an input of this run, and would be overwritten", path), {},
                 "choose another file; --force does not allow it");
  }
}

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) base::fail("O1105", fmt::format("the folder `{}` cannot be made: {}", path, failure.message()));
}

void write_file(const std::string& path, const std::string& content) {
  write_file(path, [&](const Pieces& write) { write(content); });
}

void write_file(const std::string& path, const std::function<void(const Pieces& write)>& content) {
  base::WholeFile file(path);
  content([&](const std::string& piece) { file.write(piece); });
  if (const std::string why = file.commit(); !why.empty())
    base::fail("O1105", fmt::format("`{}` cannot be written: {}", path, why), {},
               "is there room, and may you write there?");
}

void write_files(const std::string& folder, const std::vector<OutputFile>& files) {
  make_folder(folder);
  for (const OutputFile& file : files) {
    const fs::path path = fs::path(folder) / file.name;
    if (path.parent_path() != fs::path(folder)) make_folder(path.parent_path().string());
    write_file(path.string(), file.text);
  }
}

}  // namespace orrery::verbs
