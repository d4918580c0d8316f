// Masks and orders come from Philox, a pure function of seed and place: training that is resumed sees what it would
// have seen. The order is a shuffle (R. Fisher, F. Yates, 1938).
#include "orrery/runtime/network/examples.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/dropout.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kOrderStream = 0x6f726465, kMaskStream = 0x6d61736b;

std::array<std::uint32_t, 4> random_bits(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return kernels::philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), stream, 0},
                         {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

// Below `bound`, which is less than 2^32; so evenly as 32 bits more than it needs allow.
std::uint64_t below(const std::array<std::uint32_t, 4>& bits, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{std::uint64_t{bits[0]} << 32 | bits[1]} * bound) >> 64);
}

Tokens padded(const std::vector<Example>& examples, const std::vector<std::size_t>& chosen, std::int32_t pad,
              bool types) {
  Tokens tokens;
  tokens.sequences = static_cast<Index>(chosen.size());
  for (const std::size_t i : chosen)
    tokens.length = std::max(tokens.length, static_cast<Index>(examples[i].words.size()));
  for (const std::size_t i : chosen) {
    const Example& example = examples[i];
    const auto length = static_cast<Index>(example.words.size());
    tokens.lengths.push_back(length);
    tokens.words.insert(tokens.words.end(), example.words.begin(), example.words.end());
    tokens.words.insert(tokens.words.end(), static_cast<std::size_t>(tokens.length - length), pad);
    if (!types) continue;
    tokens.types.insert(tokens.types.end(), example.types.begin(), example.types.end());
    tokens.types.insert(tokens.types.end(), static_cast<std::size_t>(tokens.length) - example.types.size(), 0);
  }
  return tokens;
}

// The words that stand in their places are the labels; some of the words are replaced. Where chance chooses none of a
// batch, the word that was nearest to it is taken: a step teaches something, and its loss is that of a word.
std::vector<std::int32_t> mask(Tokens& tokens, const BatchRules& rules, Index words, std::uint64_t seed) {
  std::vector<std::int32_t> labels(tokens.words.size(), kNoLabel);
  const auto choose = [&](std::size_t i, const std::array<std::uint32_t, 4>& bits) {
    std::int32_t& word = tokens.words[i];
    labels[i] = word;
    const double kind = bits[3] * 0x1p-32;
    if (kind < 0.8)
      word = rules.mask;
    else if (kind < 0.9)
      word = static_cast<std::int32_t>(below(bits, static_cast<std::uint64_t>(words)));
  };
  std::optional<std::size_t> nearest;
  std::uint32_t least = 0;
  bool some = false;
  for (Index s = 0; s < tokens.sequences; ++s)
    for (Index p = 0; p < tokens.length_of(s); ++p) {
      const auto i = static_cast<std::size_t>(s * tokens.length + p);
      if (!may_be_masked(tokens.words[i], rules)) continue;
      const auto bits = random_bits(seed, kMaskStream, i);
      if (!nearest || bits[2] < least) nearest = i, least = bits[2];
      if (bits[2] * 0x1p-32 >= rules.masked_share) continue;
      choose(i, bits);
      some = true;
    }
  if (!some && nearest) choose(*nearest, random_bits(seed, kMaskStream, *nearest));
  return labels;
}

// The words that the examples themselves hide.
std::vector<std::int32_t> hidden_words(const std::vector<Example>& examples, const std::vector<std::size_t>& chosen,
                                       const Tokens& tokens) {
  std::vector<std::int32_t> labels(tokens.words.size(), kNoLabel);
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    const std::vector<std::int32_t>& hidden = examples[chosen[s]].hidden;
    std::copy(hidden.begin(), hidden.end(),
              labels.begin() + static_cast<std::ptrdiff_t>(s * static_cast<std::size_t>(tokens.length)));
  }
  return labels;
}

// What should follow each word of a sequence.
std::vector<std::int32_t> next_words(const Tokens& tokens) {
  std::vector<std::int32_t> labels(tokens.words.size(), kNoLabel);
  for (Index s = 0; s < tokens.sequences; ++s)
    for (Index p = 0; p + 1 < tokens.length_of(s); ++p) {
      const auto i = static_cast<std::size_t>(s * tokens.length + p);
      labels[i] = tokens.words[i + 1];
    }
  return labels;
}

}  // namespace

bool may_be_masked(std::int32_t word, const BatchRules& rules) {
  return std::find(rules.special.begin(), rules.special.end(), word) == rules.special.end();
}

LabelledBatch batch_of(const std::vector<Example>& examples, const std::vector<std::size_t>& chosen,
                       const Description& description, const BatchRules& rules, std::uint64_t seed) {
  ORRERY_CHECK(!chosen.empty(), "a batch of examples");
  LabelledBatch out;
  out.batch.tokens = padded(examples, chosen, rules.pad, description.embedding.types > 1);
  if (description.has_decoder()) {
    // What the decoder is to say is what the encoder reads, as the classes have it; it reads that one place later.
    Tokens& targets = out.batch.targets;
    targets = out.batch.tokens;
    targets.types.clear();
    for (Index s = 0; s < targets.sequences; ++s) {
      const auto row = targets.words.begin() + s * targets.length;
      std::copy_backward(row, row + targets.length - 1, row + targets.length);
      *row = rules.decoder_begin;
    }
  }
  for (const std::size_t i : chosen) {
    out.labels.classes.push_back(examples[i].label);
    out.labels.values.push_back(examples[i].value);
    out.labels.begins.push_back(examples[i].begin);
    out.labels.ends.push_back(examples[i].end);
  }
  if (description.head.kind == HeadKind::kMaskedWords)
    out.labels.words = examples[chosen[0]].hidden.empty()
                           ? mask(out.batch.tokens, rules, description.embedding.words, seed)
                           : hidden_words(examples, chosen, out.batch.tokens);
  if (description.head.kind == HeadKind::kNextWord) {
    if (!description.has_decoder()) {
      out.labels.words = next_words(out.batch.tokens);
    } else {
      out.labels.words = out.batch.tokens.words;
      for (Index s = 0; s < out.batch.tokens.sequences; ++s)
        for (Index p = out.batch.tokens.length_of(s); p < out.batch.tokens.length; ++p)
          out.labels.words[static_cast<std::size_t>(s * out.batch.tokens.length + p)] = kNoLabel;
    }
  }
  return out;
}

std::int64_t batches_in_epoch(std::size_t count, std::size_t batch) {
  return static_cast<std::int64_t>((count + batch - 1) / batch);
}

std::vector<std::size_t> chosen_examples(std::size_t count, std::size_t batch, std::int64_t step, std::uint64_t seed) {
  const std::int64_t in_epoch = batches_in_epoch(count, batch);
  const std::int64_t epoch = step / in_epoch;
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t first = static_cast<std::uint64_t>(epoch) * count;
  for (std::size_t i = count; i-- > 1;)
    std::swap(order[i], order[below(random_bits(seed, kOrderStream, first + i), i + 1)]);
  const std::size_t begin = static_cast<std::size_t>(step % in_epoch) * batch;
  return {order.begin() + static_cast<std::ptrdiff_t>(begin),
          order.begin() + static_cast<std::ptrdiff_t>(std::min(count, begin + batch))};
}

}  // namespace orrery::network
