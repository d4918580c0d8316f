// Where the tables of the original tokenizers differ from libutf8proc's.
#pragma once

#include <cstdint>

namespace orrery::formats::tokenizer {

// Each answers as the original does; `is` and `lower` are libutf8proc's answers.
bool changed_punctuation(std::uint32_t code, bool is);
bool changed_mark(std::uint32_t code, bool is);
bool changed_other(std::uint32_t code, bool is);
bool changed_letter(std::uint32_t code, bool is);
bool changed_number(std::uint32_t code, bool is);
int changed_combining_class(std::uint32_t code, int is);
bool changed_decomposition(std::uint32_t code);  // whether there is one, where libutf8proc has one
std::uint32_t changed_lower_case(std::uint32_t code, std::uint32_t lower);

}  // namespace orrery::formats::tokenizer
