#include "orrery/formats/dfmodel/text_writer.h"

#include <fmt/format.h>

#include <limits>

namespace orrery::formats::dfmodel {

void TextWriter::line(std::string_view field, std::string_view value) {
  out_.append(2 * depth_, ' ');
  out_ += field;
  out_ += ": ";
  out_ += value;
  out_ += '\n';
}

void TextWriter::open(std::string_view block) {
  out_.append(2 * depth_++, ' ');
  out_ += block;
  out_ += " {\n";
}

void TextWriter::close() {
  out_.append(2 * --depth_, ' ');
  out_ += "}\n";
}

void TextWriter::count(std::string_view field, base::Count value) {
  line(field, fmt::format("{}", value));
}

void TextWriter::real(std::string_view field, double value) {
  // Beyond the range of 32 bits a conversion would be undefined.
  constexpr double kMost = std::numeric_limits<float>::max();
  const float narrow = value >= -kMost && value <= kMost ? static_cast<float>(value) : 0.0f;
  line(field, static_cast<double>(narrow) == value ? fmt::format("{}", narrow) : fmt::format("{}", value));
}

void TextWriter::flag(std::string_view field, bool value) {
  line(field, value ? "true" : "false");
}

void TextWriter::text(std::string_view field, std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  line(field, quoted + "\"");
}

void TextWriter::name(std::string_view field, std::string_view value) {
  line(field, value);
}

void TextWriter::stated_count(std::string_view field, base::Count value) {
  if (value != 0) count(field, value);
}
void TextWriter::stated_real(std::string_view field, double value) {
  if (value != 0) real(field, value);
}
void TextWriter::stated_wide(std::string_view field, double value) {
  if (value != 0) line(field, fmt::format("{}", value));
}
void TextWriter::stated_flag(std::string_view field, bool value) {
  if (value) flag(field, value);
}
void TextWriter::stated_name(std::string_view field, std::string_view value) {
  if (!value.empty()) name(field, value);
}

}  // namespace orrery::formats::dfmodel
