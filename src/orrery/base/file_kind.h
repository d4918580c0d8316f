// What a file is that is no text: "an ONNX model", by its first bytes.
#pragma once

#include <string>
#include <string_view>

namespace orrery::base {

// A kind of file with its article, and what to do with one.
struct FileKind {
  std::string name;
  std::string way_out;
};

// The kind that the first bytes of a file tell; an empty name where they tell none. Some kinds begin with mere letters
// (`PAR1`): ask only where some byte is no text. The first 300 bytes suffice.
FileKind file_kind(std::string_view first);

}  // namespace orrery::base
