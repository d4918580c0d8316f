#include "orrery/formats/pickle/pickle_bytes.h"

#include <bit>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::pickle {

void PickleBytes::broken(const std::string& why) const {
  base::fail("O1603", fmt::format("the pickle is damaged at byte {}: {}", operation_, why), whole_,
             purpose_.instead_of_damaged);
}

void PickleBytes::refused(const std::string& what) const {
  base::fail("O1604",
             fmt::format("the pickle {} (at byte {}); only {} are read, and nothing is executed", what, operation_,
                         purpose_.what),
             whole_, purpose_.instead_of_refused);
}

unsigned char PickleBytes::operation() {
  operation_ = at_;
  if (at_ >= bytes_.size()) broken("it does not end");
  return static_cast<unsigned char>(bytes_[at_++]);
}

std::string_view PickleBytes::take(std::uint64_t count) {
  if (count > bytes_.size() - at_)
    broken(fmt::format("{} more bytes should follow, and {} do", count, bytes_.size() - at_));
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

std::string_view PickleBytes::line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) broken("a line does not end");
  const std::string_view taken = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return taken;
}

std::string_view PickleBytes::quoted() {
  const std::string_view text = unescaped();
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0])
    broken("a text has no quotation marks");
  return text.substr(1, text.size() - 2);
}

std::string_view PickleBytes::unescaped() {
  const std::string_view text = line();
  if (text.find('\\') != std::string_view::npos) broken("a text has escapes, which are not read");
  return text;
}

double PickleBytes::decimal_real() {
  const std::optional<double> value = base::parse_number<double>(line());
  if (!value) broken("a number cannot be read");
  return *value;
}

double PickleBytes::binary_real() {
  std::uint64_t bits = 0;
  for (const char byte : take(sizeof(bits))) bits = bits << 8 | static_cast<unsigned char>(byte);
  return std::bit_cast<double>(bits);
}

std::int64_t PickleBytes::decimal(std::string_view text) const {
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
  const auto value = base::parse_number<std::int64_t>(text);
  if (!value) broken("an integer has no value of 64 bits");
  return *value;
}

}  // namespace orrery::formats::pickle
