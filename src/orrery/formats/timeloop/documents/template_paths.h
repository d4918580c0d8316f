// Where a template's files are found, and that they lie in folders which the user gave.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::timeloop {

class TemplatePaths {
 public:
  using Folders = std::vector<std::string>;  // that a template added

  // What lies in `roots`, or below them, may be read. `top`: the file that was given.
  TemplatePaths(const std::vector<std::string>& roots, const std::string& top);

  // The files that a name, or a pattern with `*` and `?` in its last part, means: in the template's folder and in those
  // added, in the order of their names, each once. Throws InputError: O0100 where there is none, O2025 outside.
  std::vector<std::string> all(const std::string& name, const std::filesystem::path& home, const Folders& added,
                               const base::Location& where) const;
  // The same, demanding one.
  std::string one(const std::string& name, const std::filesystem::path& home, const Folders& added,
                  const base::Location& where) const;
  // One, file or folder.
  std::string any(const std::string& name, const std::filesystem::path& home, const Folders& added,
                  const base::Location& where) const;
  bool exists(const std::string& name, const std::filesystem::path& home, const Folders& added,
              const base::Location& where) const;
  std::string folder(const std::string& name, const std::filesystem::path& home, const Folders& added,
                     const base::Location& where) const;

  // As `cwd()` tells it: from the root of the file system.
  std::string absolute(const std::filesystem::path& path) const;

 private:
  // Those that there are, files and folders.
  std::vector<std::string> candidates(const std::string& name, const std::filesystem::path& home, const Folders& added,
                                      const base::Location& where) const;
  bool inside(const std::filesystem::path& path) const;
  // A path below the working directory as the user would write it.
  static std::string shown(const std::filesystem::path& path);

  std::vector<std::filesystem::path> roots_;  // without links
};

}  // namespace orrery::formats::timeloop
