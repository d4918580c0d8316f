// Plain English text to ids, by one thread; bytes_per_second is the figure.
#include <benchmark/benchmark.h>

#include "orrery/formats/tokenizer/tokenizer_test_util.h"

namespace {

using namespace orrery::formats::tokenizer;

void encode(benchmark::State& state, const Tokenizer& tokenizer) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "the quick brown fox jumps over the lazy dog, hello world. ";
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void words_of_english(benchmark::State& state) {
  encode(state, words());
}
void pairs_of_english(benchmark::State& state) {
  encode(state, pairs());
}
BENCHMARK(words_of_english);
BENCHMARK(pairs_of_english);

}  // namespace
