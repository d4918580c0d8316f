// Any bytes give a system or an InputError, as a file and as the value of an override.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <source_dir.h>

#include "orrery/formats/orrery/systems.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  static const std::string catalogue = std::string(ORRERY_SOURCE_DIR) + "/catalog";
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("orrery-system-fuzz-" + std::to_string(getpid()) + ".yaml")).string();
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::ofstream(path, std::ios::binary) << text;
  try {
    formats::orrery::load_system(catalogue, path);
  } catch (const base::InputError&) {
  }
  std::filesystem::remove(path);
  try {
    formats::orrery::load_system(catalogue, "a100-selene", {{"networks.0.bandwidth", text.substr(0, 64)}});
  } catch (const base::InputError&) {
  }
  return 0;
}
