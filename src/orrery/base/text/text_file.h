// All input texts are read here: files, pipes, /dev/stdin. Their size is limited, and files that are not text are
// rejected, once for every format.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

// The largest description seen so far is below a megabyte. A device or a pipe may never end.
inline constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

// Reads a text. Throws InputError: O0100 where there is no such file or it cannot be read, O0103 where there are more
// than kMostFileBytes, O0104 where the bytes are not text.
std::shared_ptr<const SourceFile> read_file(const std::string& path);

// The first bytes of a file, at most `most`; nothing where it cannot be read. For outputs of programs and for
// recognising a file; not for pipes and devices, whose bytes can be read only once.
std::optional<std::string> first_bytes(const std::string& path, std::size_t most);

// Offset of the first byte that cannot occur in a text, if any: control characters other than tabs and line ends, and
// sequences that are not UTF-8.
std::optional<std::size_t> first_bad_byte(std::string_view text);

}  // namespace orrery::base
