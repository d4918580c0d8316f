#include "orrery/base/text/search_path.h"

#include <cstdlib>
#include <sstream>

#include <unistd.h>

namespace orrery::base {

namespace fs = std::filesystem;

bool runs(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0;
}

std::vector<fs::path> find_programs(const std::string& name) {
  std::vector<fs::path> found;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (!fs::path(folder).is_absolute()) continue;
    const fs::path program = fs::canonical(fs::path(folder) / name, error);
    if (!error && runs(program)) found.push_back(program);
  }
  return found;
}

}  // namespace orrery::base
