// Most formats begin with bytes of their own ("magic numbers"): one table of them. For three of them the bytes that
// follow matter, too: a zip archive may be a PyTorch checkpoint or a spreadsheet, a safetensors file begins with the
// length of its JSON header, and an ONNX model is a protobuf message whose first fields have known tags:
//
//   08 vv   field 1 (ir_version), a small number
//   12 / 1a / 22 / 2a / 32 / 3a / 42   one of the fields 2 to 8 follows, with its length
//
// Source: the formats' specifications; onnx.proto for the fields. Cost: a few comparisons.
#include "orrery/base/text/file_kind.h"

#include <array>

namespace orrery::base {
namespace {

using namespace std::string_view_literals;

constexpr auto kModelWayOut =
    "Orrery needs a model's shape, not its weights: give the model's `config.json`, or its name (`orrery catalog`)";
constexpr auto kOnnxWayOut =
    "give it by itself, under a name that ends in `.onnx`: `orrery map --chip NAME model.onnx`";
constexpr auto kUnpack = "unpack it, and give the text files in it";
constexpr auto kSaveAsUtf8 = "save it as UTF-8";
constexpr auto kNameTheText = "give the text that it was made from";

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* name;
  const char* way_out;
};

constexpr std::array kMagics{
    Magic{0, "GGUF"sv, "a GGUF model", kModelWayOut},
    Magic{4, "TFL3"sv, "a TensorFlow Lite model", kModelWayOut},
    Magic{0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kModelWayOut},
    Magic{0, "\x93NUMPY"sv, "a NumPy array", kModelWayOut},
    Magic{0, "\x80\x02"sv, "a Python pickle", kModelWayOut},
    Magic{0, "\x80\x03"sv, "a Python pickle", kModelWayOut},
    Magic{0, "\x80\x04"sv, "a Python pickle", kModelWayOut},
    Magic{0, "\x80\x05"sv, "a Python pickle", kModelWayOut},
    Magic{0, "\x1f\x8b"sv, "a gzip archive", kUnpack},
    Magic{4, "1AY&SY"sv, "a bzip2 archive", kUnpack},
    Magic{0, "\xfd\x37zXZ\0"sv, "an xz archive", kUnpack},
    Magic{0, "\x28\xb5\x2f\xfd"sv, "a zstd archive", kUnpack},
    Magic{0, "7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive", kUnpack},
    Magic{257, "ustar"sv, "a tar archive", kUnpack},
    Magic{0,
          "\x7f"
          "ELF"sv,
          "an ELF program or library", kNameTheText},
    Magic{0, "\x89PNG"sv, "a PNG picture", kNameTheText},
    Magic{0, "\xff\xd8\xff"sv, "a JPEG picture", kNameTheText},
    Magic{0, "GIF8"sv, "a GIF picture", kNameTheText},
    Magic{0, "%PDF-"sv, "a PDF document", kNameTheText},
    Magic{0, "SQLite format 3\0"sv, "an SQLite database", kNameTheText},
    Magic{0, "PAR1"sv, "a Parquet table", "save the table as comma-separated values"},
    Magic{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an Office document", "save the table as comma-separated values"},
    Magic{0, "\xff\xfe\0\0"sv, "text in UTF-32", kSaveAsUtf8},
    Magic{0, "\0\0\xfe\xff"sv, "text in UTF-32", kSaveAsUtf8},
    Magic{0, "\xff\xfe"sv, "text in UTF-16", kSaveAsUtf8},
    Magic{0, "\xfe\xff"sv, "text in UTF-16", kSaveAsUtf8},
};

bool stands_at(std::string_view text, std::size_t offset, std::string_view part) {
  return text.size() >= offset && text.substr(offset, part.size()) == part;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_onnx(std::string_view first) {
  if (first.size() < 4 || first[0] != '\x08' || first[1] < 1 || first[1] > 32) return false;
  return "\x12\x1a\x22\x2a\x32\x3a\x42"sv.find(first[2]) != std::string_view::npos;
}

// A length in eight bytes, little-endian, and a JSON object of that length.
bool is_safetensors(std::string_view first) {
  return first.size() > 9 && first[5] == 0 && first[6] == 0 && first[7] == 0 && first.substr(8, 2) == "{\"";
}

// Text without a byte order mark: every second byte of letters is 0.
bool is_utf16(std::string_view first) {
  if (first.size() < 8) return false;
  for (std::size_t zero : {0u, 1u}) {
    bool all = true;
    for (std::size_t i = 0; i < 8; ++i) all = all && (first[i] == 0) == (i % 2 == zero);
    if (all) return true;
  }
  return false;
}

}  // namespace

FileKind file_kind(std::string_view first) {
  first = first.substr(0, 300);
  if (stands_at(first, 0, "PK\x03\x04"sv)) {
    if (contains(first, ".pkl") || contains(first, "archive/")) return {"a PyTorch checkpoint", kModelWayOut};
    if (contains(first, ".npy")) return {"an archive of NumPy arrays", kModelWayOut};
    if (contains(first, "[Content_Types].xml") || contains(first, "mimetypeapplication/vnd"))
      return {"an Office document", "save the table as comma-separated values"};
    return {"a zip archive", kUnpack};
  }
  for (const Magic& magic : kMagics)
    if (stands_at(first, magic.offset, magic.bytes)) return {magic.name, magic.way_out};
  if (is_safetensors(first)) return {"a safetensors file", kModelWayOut};
  if (is_onnx(first)) return {"an ONNX model", kOnnxWayOut};
  if (is_utf16(first)) return {"text in UTF-16", kSaveAsUtf8};
  return {};
}

std::string other_text_format(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  if (text[first] == '<') return "this looks like XML or HTML; a YAML file is needed";
  // libconfig: `name = { ... };` or `name : { ... };`, so a closing brace or bracket is followed by a semicolon.
  const bool closes = text.find("};") != std::string_view::npos || text.find(");") != std::string_view::npos;
  const bool opens = text.find("= {") != std::string_view::npos || text.find("={") != std::string_view::npos ||
                     text.find(": {") != std::string_view::npos || text.find(":\n{") != std::string_view::npos ||
                     text.find("= (") != std::string_view::npos || text.find("=\n{") != std::string_view::npos;
  const bool quotes_code = text.find("\n```") != std::string_view::npos;  // Markdown
  if (opens && closes && !quotes_code)
    return "this looks like libconfig, the first format of Timeloop's descriptions, which is read where the file's "
           "name "
           "ends in `.cfg`";
  return {};
}

}  // namespace orrery::base
