// Rows of predicted scores, a block of queries at a time (scores.cc).
#pragma once

#include <functional>

#include "orrery/engines/masks/attention_input.h"
#include "orrery/engines/masks/prediction/quantiser.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

// One query's. Scores of keys that are not there are -inf.
struct ScoredRow {
  Count batch = 0, head = 0, row = 0;
  float* scores = nullptr;  // room up to a multiple of 64 columns; -inf from the last one to the end of its vector
  Count visible = 0;        // of the keys, the first so many: all, or those up to the causal diagonal
  float most = 0;           // -inf where no key is there
  const kernels::Table* table = nullptr;
};

// Depths that one block of integer products takes, at every instruction set.
inline constexpr Count kMostDepth = 2048;

// visit(row) for each query, on the threads of the context, in no order; it must not throw. Throws Unfinished.
void for_each_row(kernels::Context& context, const AttentionInput& input, const Quantised& quantised,
                  const std::function<void(const ScoredRow&)>& visit, const base::Budget& budget = {});

// The same with the scores of the numbers themselves, which is what for_each_row() does without codes
// (scores_exact.cc).
void for_each_exact_row(kernels::Context& context, const AttentionInput& input,
                        const std::function<void(const ScoredRow&)>& visit, const base::Budget& budget);

// Keys that a query sees: all, or those up to the causal diagonal.
Count visible_keys(const AttentionInput& input, Count row);

// -inf for each key of each sequence that is not there, 0 for the others; empty where all are. With room for a vector
// behind the last.
std::vector<float> hidden_keys(const AttentionInput& input);

inline constexpr Count kScoreStep = 64;  // rows of scores have room up to a multiple

}  // namespace orrery::masks
