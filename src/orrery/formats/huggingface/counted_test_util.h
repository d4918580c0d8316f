// Small models with awkward sizes, and what their classes in transformers 5.23.0 have: parameters counted on the meta
// device, FLOP by its FlopCounterMode.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/huggingface_config.h"

namespace orrery::formats::huggingface {

struct Counts {
  base::Count parameters, embedding, active;
  base::Count cache_bytes, growing_cache_bytes;  // of a token, in 16 bit
  base::Count state;
  double flop, visible_attention;  // of a token of 512; 0: not counted
};

struct Counted {
  const char* what;
  const char* config;
  Counts counts;
};

inline void expect_near(double counted, double expected) {
  EXPECT_NEAR(counted, expected, 1e-9 * expected);
}

inline void expect_counts(const std::vector<Counted>& models) {
  constexpr base::Count kTokens = 512;
  for (const Counted& model : models) {
    SCOPED_TRACE(model.what);
    const ConfigDocument read = read_config(base::source(model.config), {.outside = Outside::kPassed});
    EXPECT_TRUE(read.diagnostics.all().empty());
    const workload::Parameters parameters = workload::parameters(read.transformer);
    const Counts& expected = model.counts;
    EXPECT_EQ(parameters.total, expected.parameters);
    EXPECT_EQ(parameters.embedding, expected.embedding);
    EXPECT_EQ(parameters.active, expected.active);
    EXPECT_EQ(2 * workload::cache_elements(read.transformer), expected.cache_bytes);
    EXPECT_EQ(2 * workload::cache_elements(read.transformer, true), expected.growing_cache_bytes);
    EXPECT_EQ(workload::state_elements(read.transformer), expected.state);
    if (expected.flop == 0) continue;
    const workload::ForwardFlop flop = workload::forward_flop(read.transformer, kTokens);
    const auto tokens = static_cast<double>(flop.tokens);
    expect_near((flop.products + flop.attention) / tokens, expected.flop);
    if (expected.visible_attention > 0) expect_near(flop.visible_attention / tokens, expected.visible_attention);
  }
}

}  // namespace orrery::formats::huggingface
