// A file is read in pieces and no further than the bound, so that a device or a pipe without an end, and a file of
// gigabytes by mistake, cost no more than the largest text that is accepted. The first piece decides whether it is a
// text at all: other files begin with bytes that identify their kind, or have a NUL early on.
#include "orrery/base/text/text_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/text/descriptor.h"
#include "orrery/base/text/file_kind.h"
#include "orrery/base/text/long_text_file.h"

namespace orrery::base {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr std::size_t kTelling = 300;  // first bytes, enough to recognise a kind of file

// "a device" or "a pipe", which may never end; nothing for files.
const char* endless_kind(fs::file_type type) {
  switch (type) {
    case fs::file_type::character:
    case fs::file_type::block:
      return "a device";
    case fs::file_type::fifo:
      return "a pipe";
    default:
      return nullptr;
  }
}

[[noreturn]] void too_large(const std::string& path, const Location& whole, fs::file_type type, std::size_t most) {
  Diagnostics found;
  Diagnostic& diagnostic =
      found.error("O0103", fmt::format("`{}` has more than {} MiB, the most that is read", path, most >> 20), whole);
  std::error_code error;
  if (const char* kind = endless_kind(type)) {
    diagnostic.note(fmt::format("it is {}, which may never end", kind));
  } else if (const auto bytes = fs::file_size(path, error); !error) {
    diagnostic.note(fmt::format("it has {} bytes", bytes));
  }
  diagnostic.hint(
      "is this the right file? descriptions are short texts, and a long one may be split into several files");
  throw InputError(found.all());
}

// Rejects files that are not text. A text has no NUL; most other files have one early on.
void check_text(const std::shared_ptr<const SourceFile>& file, const Location& whole) {
  const std::string_view text = file->text;
  if (first_bad_byte(text.substr(0, kTelling)) || text.starts_with("%PDF-")) {
    if (const FileKind kind = file_kind(text); !kind.name.empty())
      fail("O0104", fmt::format("`{}` is {}; UTF-8 text is needed", file->name, kind.name), whole, kind.way_out);
  }
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return;
  const std::string_view before = text.substr(0, nul);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  Diagnostics found;
  found.error("O0104", fmt::format("`{}` is not a text: it has a NUL character", file->name), whole)
      .note(fmt::format("byte {} of the file, in line {}", nul + 1, line))
      .hint("is this the right file? if it was damaged, fetch or export it again");
  throw InputError(found.all());
}

std::shared_ptr<const SourceFile> read(const std::string& path, std::size_t most) {
  auto file = std::make_shared<SourceFile>();
  file->name = path;
  const Location whole{file, 0, 0, 1};
  const Opened in(path, whole);
  std::size_t seen = 0;
  while (in.append(file->text, kPiece)) {
    if (file->text.find('\0', seen) != std::string::npos) check_text(file, whole);
    seen = file->text.size();
    if (seen > most) too_large(path, whole, in.type(), most);
  }
  if (errno != 0) unreadable(path, whole);
  check_text(file, whole);
  return file;
}

}  // namespace

std::shared_ptr<const SourceFile> read_file(const std::string& path) {
  return read(path, kMostFileBytes);
}

std::shared_ptr<const SourceFile> read_long_file(const std::string& path) {
  return read(path, kMostLongFileBytes);
}

std::optional<std::string> first_bytes(const std::string& path, std::size_t most) {
  const Descriptor in(path);
  if (!in.open()) return std::nullopt;
  std::string text;
  while (text.size() < most && in.append(text, std::min(kPiece, most - text.size()))) {
  }
  if (errno != 0) return std::nullopt;
  return text;
}

std::optional<std::size_t> first_bad_byte(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) return i;
      ++i;
      continue;
    }
    const int more = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return i;
    unsigned value = c & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      if ((next & 0xc0) != 0x80) return i;
      value = value << 6 | (next & 0x3fu);
    }
    if ((more == 2 && value < 0x800) || (more == 3 && (value < 0x10000 || value > 0x10ffff)) ||
        (value >= 0xd800 && value <= 0xdfff)) {
      return i;
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return std::nullopt;
}

}  // namespace orrery::base
