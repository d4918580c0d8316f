// What protobuf's parser says about a text, in the user's terms and at the right place.
//
// The parser's errors name the token it has come to; for values that it took and then refused that is one too far.
#pragma once

#include <string>

#include "orrery/formats/dfmodel/text_lines.h"

namespace orrery::formats::dfmodel {

struct ParserMessage {
  int line = 0, column = 0;  // from 0
  std::string text;
};

struct Mistake {
  std::size_t begin = 0, end = 0;  // bytes of the text
  bool is_value = false;           // a value does not fit its field; else the syntax is wrong
  std::string message, label, hint;
  std::string stand_in;  // as long as the bytes, a value that the field takes; empty: there is none
};
Mistake understand(const ParserMessage& error, const std::string& text, const TextLines& lines);

struct UnknownField {
  std::size_t begin = 0, end = 0;  // its name
  std::string block;               // type
  std::string message, label, hint;
};
UnknownField understand_warning(const ParserMessage& warning, const std::string& text, const TextLines& lines);

}  // namespace orrery::formats::dfmodel
