// Greedy generation: one word of each sequence at a time, the most likely one. Keys and values of earlier words are
// kept in caches, so that a word costs one pass over one row.
#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/network/network.h"

namespace orrery::network {

std::vector<Continuation> Network::generate(const Tokens& tokens, const std::vector<std::int32_t>& begin,
                                            std::int32_t end, Index most) {
  const Description& d = description_;
  ORRERY_CHECK(d.head.kind == HeadKind::kNextWord, "a model that predicts the next word");
  ORRERY_CHECK(d.has_decoder() ? !begin.empty() : tokens.lengths.empty(), "what generation begins with");
  const auto count = static_cast<std::size_t>(tokens.sequences);
  const Index given = d.has_decoder() ? static_cast<Index>(begin.size()) : tokens.length;
  Stack& stack = d.has_decoder() ? *decoder_ : *encoder_;
  Embedding& embedding = d.has_decoder() ? *later_ : *embedding_;
  const EmbeddingWeights& table = d.has_decoder() ? parameters_.later : parameters_.embedding;
  const StackWeights& weights = d.has_decoder() ? parameters_.decoder : parameters_.encoder;
  const EmbeddingShape& shape = d.has_decoder() ? *d.later : d.embedding;
  const Index room =
      std::min(d.has_decoder() ? size_.target_length : size_.length, shape.positions - shape.first_position);

  layer::Input input;
  if (d.has_decoder()) {
    Batch batch{tokens, {}};
    checked(tokens, d.embedding).throw_if_errors();
    embedding_->forward(context_, tokens, parameters_.embedding, parameters_.embedding.words, {}, encoder_->input(),
                        d.encoder.layer.type);
    layer::Input first;
    first.batch = tokens.sequences, first.length = tokens.length, first.lengths = tokens.given_lengths();
    encoder_->infer(first, parameters_.encoder);
    input.memory = encoder_->typed_output();
    input.memory_length = tokens.length, input.memory_lengths = tokens.given_lengths();
  }
  std::vector<layer::Cache> caches;
  for (Index i = 0; i < stack.layers(); ++i) {
    layer::Shape kept = stack.layer(i).shape();
    kept.batch = tokens.sequences;
    caches.emplace_back(kept, room);
  }

  Tokens next;
  next.sequences = tokens.sequences, next.length = given;
  if (d.has_decoder()) {
    for (std::size_t s = 0; s < count; ++s) next.words.insert(next.words.end(), begin.begin(), begin.end());
  } else {
    next.words = tokens.words;
  }
  std::vector<Continuation> out(count);
  std::vector<bool> done(count, false);
  std::vector<float> logits(count * static_cast<std::size_t>(d.head.outputs));
  for (Index made = 0; made < most && next.first + next.length <= room; ++made) {
    checked(next, shape).throw_if_errors();
    embedding.forward(context_, next, table, parameters_.embedding.words, {}, stack.input(), d.last().layer.type);
    input.batch = next.sequences, input.length = next.length;
    const float* const hidden = stack.infer(input, weights, caches);
    std::vector<Index> rows;
    for (Index s = 0; s < next.sequences; ++s) rows.push_back((s + 1) * next.length - 1);
    gather(hidden, rows);
    head_.logits(context_, parameters_.head, picked_.data(), next.sequences, logits.data());
    next.first += next.length, next.length = 1;
    next.words.resize(count);
    for (std::size_t s = 0; s < count; ++s) {
      const float* const row = logits.data() + s * static_cast<std::size_t>(d.head.outputs);
      const auto best = static_cast<std::int32_t>(std::max_element(row, row + d.head.outputs) - row);
      next.words[s] = best;  // of a sequence that has ended nothing is read
      if (done[s]) continue;
      out[s].words.push_back(best);
      double sum = 0;  // of exponentials, relative to the largest's
      for (Index i = 0; i < d.head.outputs; ++i) sum += std::exp(double{row[i]} - row[best]);
      out[s].log_probabilities.push_back(static_cast<float>(-std::log(sum)));
      done[s] = best == end;
    }
    if (std::find(done.begin(), done.end(), false) == done.end()) break;
  }
  return out;
}

}  // namespace orrery::network
