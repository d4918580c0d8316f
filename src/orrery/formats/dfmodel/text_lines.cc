#include "orrery/formats/dfmodel/text_lines.h"

#include <algorithm>
#include <utility>

namespace orrery::formats::dfmodel {

TextLines::TextLines(std::shared_ptr<const base::SourceFile> file) : file_(std::move(file)), starts_{0} {
  const std::string_view text = file_->text;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
    starts_.push_back(end + 1);
}

std::string_view TextLines::line_text(int line) const {
  const std::size_t index = static_cast<std::size_t>(line);
  const std::size_t begin = starts_[index];
  const std::size_t end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : file_->text.size();
  return std::string_view(file_->text).substr(begin, end - begin);
}

std::size_t TextLines::offset(int line, int column) const {
  line = std::clamp(line, 0, static_cast<int>(starts_.size()) - 1);
  const std::string_view text = line_text(line);
  std::size_t byte = 0;
  for (int seen = 0; byte < text.size() && seen < column; ++byte) seen += text[byte] == '\t' ? 8 - seen % 8 : 1;
  return starts_[static_cast<std::size_t>(line)] + byte;
}

base::Location TextLines::place(int line, int column, int end_column) const {
  return place(offset(line, column), offset(line, end_column));
}

base::Location TextLines::place(std::size_t begin, std::size_t end) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
  const std::size_t start = *(after - 1);
  const std::size_t line_end = after == starts_.end() ? file_->text.size() : *after - 1;
  end = std::max(std::min(end, line_end), begin + 1);
  return {file_, static_cast<int>(after - starts_.begin()), static_cast<int>(begin - start) + 1,
          static_cast<int>(end - begin)};
}

}  // namespace orrery::formats::dfmodel
