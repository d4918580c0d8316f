// Small models of each family, with random weights, and batches for them.
#pragma once

#include <random>
#include <vector>

#include "orrery/runtime/network/network.h"

namespace orrery::network {

struct TestModel {
  Description description;
  Batch batch;
  Labels labels;
  Network::Size size;
};

inline layer::Shape test_layer(layer::Place norms, bool causal, bool cross) {
  layer::Shape shape;
  shape.width = 16, shape.heads = 2, shape.hidden = 24;
  shape.norms = norms, shape.causal = causal, shape.cross = cross;
  return shape;
}

inline Tokens test_tokens(std::mt19937& random, Index sequences, Index length, Index words, Index types, bool padded) {
  Tokens tokens;
  tokens.sequences = sequences, tokens.length = length;
  for (Index i = 0; i < sequences * length; ++i) {
    tokens.words.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(words)));
    if (types > 0) tokens.types.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(types)));
  }
  if (padded)
    for (Index s = 0; s < sequences; ++s) tokens.lengths.push_back(1 + s % length + (length > 3 ? 2 : 0));
  return tokens;
}

// "bert", "gpt2" or "bart" with a head of this kind.
inline TestModel test_model(const std::string& family, HeadKind kind, unsigned seed = 1, bool padded = true) {
  std::mt19937 random(seed);
  TestModel made;
  Description& d = made.description;
  d.width = 16;
  d.embedding = {29,
                 12,
                 family == "bert" ? Index{2} : Index{0},
                 family == "bart" ? Index{2} : Index{0},
                 family == "bart" ? 4.0F : 1.0F,
                 family != "gpt2"};
  d.encoder = {test_layer(family == "gpt2" ? layer::Place::kPre : layer::Place::kPost, family == "gpt2", false), 2,
               family == "gpt2"};
  if (family == "bart") {
    d.later = d.embedding;
    d.decoder = {test_layer(layer::Place::kPost, true, true), 2, false};
  }
  d.head.kind = kind;
  const bool one = kind == HeadKind::kClassification || kind == HeadKind::kRegression;
  d.head.outputs = kind == HeadKind::kClassification ? 3
                   : kind == HeadKind::kRegression   ? 1
                   : kind == HeadKind::kSpans        ? 2
                                                     : 29;
  d.head.pick = !one ? Pick::kAll : family == "bert" ? Pick::kFirst : Pick::kLast;
  d.head.dense = (one && family != "gpt2") || kind == HeadKind::kMaskedWords;
  d.head.squash = one ? Squash::kTanh : Squash::kGelu;
  d.head.norm = kind == HeadKind::kMaskedWords;
  d.head.tied = kind == HeadKind::kMaskedWords || kind == HeadKind::kNextWord;
  d.head.bias = family != "gpt2";
  d.head.drop_first = family == "bart";

  constexpr Index kSequences = 4, kLength = 7, kTargets = 6;
  made.size = {kSequences, kLength, kTargets};
  made.batch.tokens = test_tokens(random, kSequences, kLength, 29, d.embedding.types, padded);
  if (family == "bart") made.batch.targets = test_tokens(random, kSequences, kTargets, 29, 0, padded);
  const Tokens& last = family == "bart" ? made.batch.targets : made.batch.tokens;
  for (Index s = 0; s < kSequences; ++s) {
    made.labels.classes.push_back(static_cast<std::int32_t>(random() % 3));
    made.labels.values.push_back(static_cast<float>(random() % 100) * 0.03F);
    made.labels.begins.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(last.length_of(s))));
    made.labels.ends.push_back(s == 2 ? 99
                                      : static_cast<std::int32_t>(random() % static_cast<unsigned>(last.length_of(s))));
    for (Index i = 0; i < last.length; ++i)
      made.labels.words.push_back(random() % 3 == 0 ? kNoLabel : static_cast<std::int32_t>(random() % 29));
  }
  return made;
}

// Weights that are far from where training begins, so that no gradient is nearly zero.
inline Parameters test_parameters(const Description& description, unsigned seed = 7) {
  Parameters parameters(description);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.3F);
  for (const Parameter& parameter : list(parameters, description))
    for (float& value : *parameter.values) value += normal(random);
  return parameters;
}

}  // namespace orrery::network
