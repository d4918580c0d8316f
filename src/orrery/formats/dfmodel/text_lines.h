// From places as protobuf's tokenizer counts them to places as everybody else does.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::dfmodel {

class TextLines {
 public:
  explicit TextLines(std::shared_ptr<const base::SourceFile> file);

  // Byte offset of a place, lines and columns from 0; a tab leads to the next multiple of 8. Clamped to the text.
  std::size_t offset(int line, int column) const;
  // The bytes from `begin` to `end` of one line, at least one.
  base::Location place(int line, int column, int end_column) const;
  base::Location place(std::size_t begin, std::size_t end) const;

 private:
  std::string_view line_text(int line) const;

  std::shared_ptr<const base::SourceFile> file_;
  std::vector<std::size_t> starts_;
};

}  // namespace orrery::formats::dfmodel
