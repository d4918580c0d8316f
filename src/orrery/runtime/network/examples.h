// What is learned from: tokenised texts with their labels, in batches.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/runtime/network/network.h"

namespace orrery::network {

struct Example {
  std::vector<std::int32_t> words, types;  // no types: zeros
  std::int32_t label = 0;                  // a class
  float value = 0;                         // of regression
  std::int32_t begin = -1, end = -1;       // of a span, in tokens; -1: none
  std::vector<std::int32_t> hidden;        // of masked words: what stood at each token, kNoLabel: it stands there;
                                           // empty: some are masked at random
};

// How a batch is made of examples for a model.
struct BatchRules {
  std::int32_t pad = 0;
  std::int32_t decoder_begin = 0;  // a decoder reads its words one place later, behind this one
  // Masked words (BERT): a share of the words is to be found again, of which 80 % are masked and 10 % replaced by
  // others.
  std::int32_t mask = 0;
  double masked_share = 0.15;
  std::vector<std::int32_t> special;  // words that are never masked
};

bool may_be_masked(std::int32_t word, const BatchRules& rules);

struct LabelledBatch {
  Batch batch;
  Labels labels;
};

// `chosen`: of the examples; at least one. The masks are a function of `seed`.
LabelledBatch batch_of(const std::vector<Example>& examples, const std::vector<std::size_t>& chosen,
                       const Description& description, const BatchRules& rules, std::uint64_t seed);

// The examples that step `step` of training takes: each once in an epoch, in an order that only the seed and the epoch
// decide. The last batch of an epoch may be smaller.
std::vector<std::size_t> chosen_examples(std::size_t count, std::size_t batch, std::int64_t step, std::uint64_t seed);
std::int64_t batches_in_epoch(std::size_t count, std::size_t batch);

}  // namespace orrery::network
