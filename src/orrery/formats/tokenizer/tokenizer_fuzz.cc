// Any bytes, as tokenizer.json, as vocab.txt and as a text, give a tokenizer and ids or an InputError. Places lie
// within the text; byte pairs decode to what they were made of.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/tokenizer/tokenizer_test_util.h"

namespace {

using namespace orrery;
namespace tokenizer = formats::tokenizer;

std::vector<tokenizer::Id> ids_of(const tokenizer::Tokenizer& with, std::string_view text) {
  std::vector<tokenizer::Id> ids;
  for (const tokenizer::Token& token : with.encode(text)) {
    if (token.begin > token.end || token.end > text.size()) std::abort();
    ids.push_back(token.id);
  }
  return ids;
}

template <class Action>
void attempt(const Action& action) {
  try {
    action();
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.code.empty() || said.message.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tokenizer::Tokenizer words = tokenizer::words(), pairs = tokenizer::pairs();
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] { ids_of(words, text); });
  attempt([&] {
    const auto ids = ids_of(pairs, text);
    if (text.find("<mask>") == std::string::npos && text.find("s>") == std::string::npos && pairs.decode(ids) != text)
      std::abort();
  });
  base::Diagnostics warnings;
  const auto file = base::source(text, "fuzz");
  attempt([&] { ids_of(tokenizer::read_tokenizer_json(file, nullptr, warnings), "Hello the f\u00f6x, [MASK] 12"); });
  attempt([&] { ids_of(tokenizer::read_word_piece(file, nullptr, warnings), "Hello the f\u00f6x, [MASK] 12"); });
  return 0;
}
