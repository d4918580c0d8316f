#include "orrery/inputs/catalogue/program_file.h"

#include <system_error>

namespace orrery::verbs {
namespace {

std::filesystem::path& known_program_file() {
  static std::filesystem::path path = [] {
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/exe", unknown);
  }();
  return path;
}

}  // namespace

std::filesystem::path program_file() {
  return known_program_file();
}

void set_program_file(const std::filesystem::path& path) {
  known_program_file() = path;
}

}  // namespace orrery::verbs
