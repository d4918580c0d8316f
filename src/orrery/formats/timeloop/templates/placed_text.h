// A text put together from parts of others, each character with the place that it came from: what a template renders
// to is parsed as YAML, and messages about it must point into what the user wrote.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::timeloop::jinja {

class PlacedText {
 public:
  // Text that stands so in a file, from `where` on.
  void append_copy(const base::Location& where, std::string_view text);
  // Text that an expression at `where` made.
  void append_made(const base::Location& where, std::string_view text);
  void append(const PlacedText& other);

  const std::string& text() const { return text_; }
  // Where the character at a line and a column of this text, both counted from 1, came from.
  base::Location origin(int line, int column) const;

 private:
  struct Piece {
    std::size_t begin = 0;  // in text_
    base::Location where;   // of its first character
    bool copied = false;    // the characters after it stand after it there, too
  };

  void add(std::string_view text, const base::Location& where, bool copied);

  std::string text_;
  std::vector<Piece> pieces_;  // none of a copied piece's characters but the last ends a line
  std::vector<std::size_t> lines_{0};
};

}  // namespace orrery::formats::timeloop::jinja
