#include "orrery/runtime/pruning/compared_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/engines/masks/pruning_error.h"

namespace orrery::pruning {
namespace {

using kernels::Index;

TEST(ComparedAttention, ErrorsAndKeptShareAreThoseOfTheDefinition) {
  kernels::Context context(2);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const Index batch = 2, heads = 3, tokens = 50, size = 8;
  const auto count = static_cast<std::size_t>(batch * heads * tokens * size);
  std::vector<float> q(count), k(count), v(count), out(count);
  for (std::vector<float>* one : {&q, &k, &v})
    for (float& x : *one) x = normal(random);
  const std::vector<Index> lengths = {50, 31};
  kernels::Attention a;
  a.batch = batch, a.heads = a.key_heads = heads, a.queries = a.keys = tokens, a.size = a.value_size = size;
  a.scale = 1 / std::sqrt(8.0);
  a.query_lengths = a.key_lengths = lengths.data();
  const auto whole = [&](std::vector<float>& of) {
    return kernels::Vectors{of.data(), heads * tokens * size, tokens * size, size};
  };
  a.query = whole(q), a.key = whole(k), a.value = whole(v), a.out = whole(out);
  masks::Pruning pruning;
  pruning.predictor.emplace();
  pruning.predictor->threshold = 0.03;
  PrunedAttention core(pruning);
  Compared seen;
  const base::Budget forever;
  ComparedAttention both(core, 2, forever, [&](const Compared& told) { seen = told; });
  both.forward(context, a);
  masks::Gathered gathered;
  masks::gather(context, a, false, gathered);
  const masks::PruningError wanted =
      masks::pruning_error(context, gathered.input, v.data(), size, core.prediction().mask);
  ASSERT_EQ(seen.heads.size(), 3U);
  EXPECT_GT(seen.dense_seconds, 0);
  for (std::size_t h = 0; h < 3; ++h) {
    // Those of a head's two sequences, joined.
    double mass = 0;
    for (std::size_t b = 0; b < 2; ++b) mass += wanted.heads[b * 3 + h].kept_mass * static_cast<double>(lengths[b]);
    EXPECT_NEAR(seen.heads[h].kept_mass, mass, 1e-3);
    EXPECT_EQ(seen.heads[h].queries, 81);
    const double relative = std::sqrt(seen.heads[h].difference / seen.heads[h].norm);
    const auto [low, high] = std::minmax(wanted.heads[h].relative, wanted.heads[3 + h].relative);
    EXPECT_GE(relative, low - 1e-5);
    EXPECT_LE(relative, high + 1e-5);
    EXPECT_GT(relative, 1e-3);
  }
}

}  // namespace
}  // namespace orrery::pruning
