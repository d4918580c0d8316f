// Names contents: equal texts get equal names, on every machine and in every version.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace orrery::base {

// XXH3-128 of the bytes, as 32 lower-case hexadecimal digits, most significant first (`xxhsum -H2` prints the
// same). Not cryptographic: it tells inputs apart, it does not seal them.
std::string content_hash(std::string_view bytes);

// An input as every JSON document lists one, name and hash of its content: of `--set path=value`, the value's.
std::pair<std::string, std::string> setting_input(std::string_view path, std::string_view value);

}  // namespace orrery::base
