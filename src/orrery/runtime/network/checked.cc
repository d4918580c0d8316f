// What is wrong with a description, a batch, or labels, with the arithmetic.
#include <algorithm>

#include <fmt/format.h>

#include "orrery/runtime/network/network.h"

namespace orrery::network {
namespace {

void check_tokens(const Tokens& tokens, const EmbeddingShape& shape, const char* what, base::Diagnostics& found) {
  if (tokens.sequences < 1 || tokens.length < 1 ||
      static_cast<Index>(tokens.words.size()) != tokens.sequences * tokens.length) {
    found.error("O1641", fmt::format("{}: {} sequences of {} tokens are not the {} tokens given", what,
                                     tokens.sequences, tokens.length, tokens.words.size()));
    return;
  }
  for (const Index length : tokens.lengths)
    if (length < 1 || length > tokens.length)
      found.error("O1641",
                  fmt::format("{}: a sequence has {} tokens, and must have 1 to {}", what, length, tokens.length));
  found.append(checked(tokens, shape));
}

}  // namespace

base::Diagnostics checked(const Description& d) {
  base::Diagnostics found;
  const auto wrong = [&](const std::string& why) { found.error("O1640", why); };
  if (d.width < 1) wrong("the width of the model is below 1");
  if (d.embedding.words < 1) wrong("the vocabulary of the model is empty");
  if (d.encoder.layers < 1) wrong("the model has no layers");
  if (d.has_decoder() != d.later.has_value()) wrong("a decoder and its embedding go together");
  for (const StackShape* const stack : {&d.encoder, &d.decoder})
    if (stack->layers > 0 && stack->layer.width != d.width)
      wrong(fmt::format("layers of width {} do not fit a model of width {}", stack->layer.width, d.width));
  for (const StackShape* const stack : {&d.encoder, &d.decoder}) {
    if (stack->layers < 1) continue;
    layer::Shape shape = stack->layer;
    if (shape.cross && shape.memory_length == 0) shape.memory_length = 1;  // a call's
    found.append(layer::checked(shape));
  }
  for (const EmbeddingShape* const embedding : {&d.embedding, d.later ? &*d.later : nullptr})
    if (embedding != nullptr && embedding->first_position >= embedding->positions)
      wrong(fmt::format("sequences begin at position {}, and the model has {} of them", embedding->first_position,
                        embedding->positions));
  if (d.head.kind != HeadKind::kNone && d.head.outputs < 1) wrong("the head has no outputs");
  if (d.head.tied && d.head.outputs != d.embedding.words)
    wrong(fmt::format("a tied head of {} outputs does not fit {} words", d.head.outputs, d.embedding.words));
  return found;
}

base::Diagnostics checked(const Batch& batch, const Description& d) {
  base::Diagnostics found;
  check_tokens(batch.tokens, d.embedding, "tokens", found);
  if (!d.has_decoder()) return found;
  check_tokens(batch.targets, *d.later, "targets", found);
  if (batch.targets.sequences != batch.tokens.sequences)
    found.error("O1641", fmt::format("{} sequences have {} targets", batch.tokens.sequences, batch.targets.sequences));
  return found;
}

base::Diagnostics checked(const Labels& labels, const Batch& batch, const Description& d) {
  base::Diagnostics found;
  const Tokens& tokens = d.has_decoder() ? batch.targets : batch.tokens;
  const auto size = [&](std::size_t have, Index needed, const char* what) {
    if (static_cast<Index>(have) != needed)
      found.error("O1642", fmt::format("there are {} labels for {} {}", have, needed, what));
    return static_cast<Index>(have) == needed;
  };
  const auto range = [&](const std::vector<std::int32_t>& list, bool may_lack) {
    const auto bad = std::find_if(list.begin(), list.end(), [&](std::int32_t label) {
      return !(may_lack && label == kNoLabel) && (label < 0 || label >= d.head.outputs);
    });
    if (bad != list.end())
      found.error("O1642", fmt::format("label {} does not exist: the head has {}", *bad, d.head.outputs));
  };
  switch (d.head.kind) {
    case HeadKind::kNone:
      found.error("O1642", "the model has no head, so that there is nothing to learn");
      break;
    case HeadKind::kClassification:
      if (size(labels.classes.size(), tokens.sequences, "sequences")) range(labels.classes, false);
      break;
    case HeadKind::kRegression:
      size(labels.values.size(), tokens.sequences, "sequences");
      break;
    case HeadKind::kSpans:
      size(labels.begins.size(), tokens.sequences, "sequences");
      size(labels.ends.size(), tokens.sequences, "sequences");
      break;
    default:
      if (size(labels.words.size(), tokens.sequences * tokens.length, "tokens")) range(labels.words, true);
  }
  return found;
}

}  // namespace orrery::network
