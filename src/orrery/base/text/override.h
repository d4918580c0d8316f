// `--set path=value`: what a user overrides, and where messages about it point.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

struct Override {
  std::string path, value;

  bool operator==(const Override&) const = default;
};
using Overrides = std::vector<Override>;

// The text "path=value" in a file "<--set>", and the places of its parts. `root` stands before the path where who reads
// it has taken it off: "plan.".
class OverrideText {
 public:
  explicit OverrideText(const Override& shown, std::string_view root = "")
      : file_(std::make_shared<SourceFile>(SourceFile{"<--set>", std::string(root) + shown.path + "=" + shown.value})),
        root_(static_cast<int>(root.size())),
        path_(static_cast<int>(shown.path.size())),
        value_(static_cast<int>(shown.value.size())) {}

  const std::shared_ptr<const SourceFile>& file() const { return file_; }

  // `length` characters of the path from `begin` on, which counts from 0.
  Location part(std::size_t begin, std::size_t length) const {
    return {file_, 1, root_ + static_cast<int>(begin) + 1, std::max(1, static_cast<int>(length))};
  }
  Location path() const { return part(0, static_cast<std::size_t>(path_)); }
  Location value() const { return {file_, 1, root_ + path_ + 2, std::max(1, value_)}; }

 private:
  std::shared_ptr<const SourceFile> file_;
  int root_, path_, value_;
};

// The value alone, for parsers that read it as a text of its own.
inline std::shared_ptr<SourceFile> value_text(const Override& set) {
  return std::make_shared<SourceFile>(SourceFile{"<--set " + set.path + ">", set.value});
}

}  // namespace orrery::base
