#include "orrery/formats/substation/measurement_source.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::substation {
namespace {

constexpr std::size_t kMostShown = 2000, kMostQuoted = 60;  // bytes of a line, and of a word, in messages

}  // namespace

Source::Source(const std::string& name, std::string_view bytes, const std::atomic<bool>* stop)
    : file_(std::make_shared<base::SourceFile>()), bytes_(bytes), stop_(stop) {
  file_->name = name;
  if (bytes_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark, as some editors write it
}

Source::~Source() {
  int line = 1;
  for (const auto& [number, text] : shown_) {
    file_->text.append(static_cast<std::size_t>(number - line), '\n');
    file_->text += text;
    line = number;
  }
}

bool Source::next(std::string_view& line) {
  while (at_ < bytes_.size() && (stop_ == nullptr || !stop_->load(std::memory_order_relaxed))) {
    const char* const begin = bytes_.data() + at_;
    const void* const end = std::memchr(begin, '\n', bytes_.size() - at_);
    std::size_t length =
        end == nullptr ? bytes_.size() - at_ : static_cast<std::size_t>(static_cast<const char*>(end) - begin);
    at_ += length + 1;
    ++number_;
    while (length > 0 && (begin[length - 1] == '\r' || begin[length - 1] == ' ')) --length;
    line = {begin, length};
    if (length > 0) return true;
  }
  return false;
}

base::Location Source::place(std::string_view line, std::string_view part) {
  const std::string_view seen = line.substr(0, kMostShown);
  shown_.emplace(number_, seen);
  const bool within = part.data() >= seen.data() && part.data() <= seen.data() + seen.size();
  const std::size_t column = within ? static_cast<std::size_t>(part.data() - seen.data()) : 0;
  return {file_, number_, static_cast<int>(column) + 1,
          static_cast<int>(std::clamp<std::size_t>(part.size(), 1, seen.size() - column + 1))};
}

void Source::close(base::Diagnostics& found) const {
  if (errors_ > kMostTold)
    found.error("O1711", fmt::format("{} more problems in `{}`", errors_ - kMostTold, name()), whole());
}

std::string too_long(std::string_view line) {
  if (line.size() <= kMostLine) return {};
  return fmt::format("the line has {} bytes, more than the {} that are read", line.size(), kMostLine);
}

std::string shown(std::string_view text) {
  return text.size() <= kMostQuoted ? std::string(text) : std::string(text.substr(0, kMostQuoted)) + "...";
}

std::string dimensions(std::string_view text) {
  std::string out = base::lower(text);
  std::replace(out.begin(), out.end(), 'n', 'i');
  return out;
}

}  // namespace orrery::formats::substation
