// Recognises binary files by their first bytes: "an ONNX model".
#pragma once

#include <string>
#include <string_view>

namespace orrery::base {

// A kind of file, with its article, and what the user can do with such a file.
struct FileKind {
  std::string name;
  std::string way_out;
};

// The kind that the first bytes of a file indicate; an empty name if they indicate none. Some kinds begin with plain
// letters (`PAR1`), so ask only about files that contain bytes other than text. The first 300 bytes suffice.
FileKind file_kind(std::string_view first);

// For a text that should be YAML: the format it looks like ("libconfig, ...") and what to do about it; else empty.
std::string other_text_format(std::string_view text);

}  // namespace orrery::base
