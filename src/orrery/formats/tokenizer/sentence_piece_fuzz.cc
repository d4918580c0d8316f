// Any bytes, as a model of SentencePiece, give a tokenizer and ids or an InputError; places lie within the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/tokenizer/tokenizer_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  base::Diagnostics warnings;
  const std::string text = "Hello the f\u00f6x, [MASK]  12\u00bd\u3000x";
  try {
    const auto tokenizer = formats::tokenizer::read_sentence_piece(
        "fuzz", std::string_view(reinterpret_cast<const char*>(data), size), nullptr, warnings);
    std::vector<formats::tokenizer::Id> ids;
    for (const formats::tokenizer::Token& token : tokenizer.encode(text)) {
      if (token.begin > token.end || token.end > text.size()) std::abort();
      ids.push_back(token.id);
    }
    tokenizer.decode(ids);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.code.empty() || said.message.empty()) std::abort();
  }
  return 0;
}
