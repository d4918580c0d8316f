// Names contents: equal texts get equal names, on every machine and in every version.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

// XXH3-128 of the bytes, as 32 lower-case hexadecimal digits, most significant first (`xxhsum -H2` prints the
// same). Not cryptographic: it tells inputs apart, it does not seal them.
std::string content_hash(std::string_view bytes);

// An input as every JSON document lists one.
struct Input {
  std::string name;  // of a file, or the option that gave it
  std::string hash;  // of its content

  friend bool operator==(const Input& a, const Input& b) { return a.name == b.name && a.hash == b.hash; }
  friend bool operator<(const Input& a, const Input& b) { return a.name != b.name ? a.name < b.name : a.hash < b.hash; }
};
Input file_input(const SourceFile& file);
Input setting_input(std::string_view path, std::string_view value);  // of `--set path=value`

}  // namespace orrery::base
