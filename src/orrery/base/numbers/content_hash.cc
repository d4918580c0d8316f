#include "orrery/base/numbers/content_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace orrery::base {

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Input file_input(const SourceFile& file) {
  return {file.name, content_hash(file.text)};
}

Input setting_input(std::string_view path, std::string_view value) {
  return {fmt::format("--set {}={}", path, value), content_hash(value)};
}

}  // namespace orrery::base
