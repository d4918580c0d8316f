// The one door by which texts come in from outside: files, pipes, /dev/stdin. What is read has a bound, and what is no
// text is refused here, once for every format.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/diagnostic.h"

namespace orrery::base {

// The largest description seen is below a megabyte. A device or a pipe may have no end at all.
inline constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

// Reads a text. Throws InputError: O0100 where the path leads nowhere or cannot be read, O0103 where there are more
// than kMostFileBytes, O0104 where the bytes are something else than text.
std::shared_ptr<const SourceFile> read_file(const std::string& path);

// The first bytes of a file, at most `most`; nothing where it cannot be read. For programs' outputs and for looking at
// what a file is; neither pipes nor devices should be asked, since what is taken from them is gone.
std::optional<std::string> first_bytes(const std::string& path, std::size_t most);

// Offset of the first byte that no text has, if any: control characters other than tabs and line ends, and sequences
// that are not UTF-8.
std::optional<std::size_t> first_bad_byte(std::string_view text);

}  // namespace orrery::base
