// Attention over kept pairs against the definition in fp64, every kind of mask, form, length and stride; its gradients
// against the analytic ones, which finite differences hold in turn.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/attention_case_test_util.h"
#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::kernels {
namespace {

using testing::Case;
using testing::check_case;
using testing::Exact;
using testing::exact;
using testing::Heads;
using testing::heads_of;
using testing::Random;
using testing::random_case;
using testing::request;
using testing::Tensor;

TEST(PrunedAttention, AndItsGradientsAreThoseOfMaskedDenseAttentionInFp64) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 700; ++seed) {
      check_case(*context, seed, seed % 10 == 0 ? 150 : 40, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PrunedAttention, OfManyKeysAgreesWithFp64) {
  for (const auto& context : testing::contexts(3)) {
    for (std::uint32_t seed = 1000; seed < 1016; ++seed) {
      check_case(*context, seed, 600, true);
      if (HasFatalFailure()) return;
    }
  }
}

// Few heads of keys: their queries are shared by several parts, whose sums are added.
TEST(PrunedAttention, OfFewHeadsAgreesWithFp64) {
  for (const auto& context : testing::contexts(3)) {
    for (std::uint32_t seed = 2000; seed < 2006; ++seed) {
      check_case(*context, seed, 0, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PrunedAttention, HasTheGradientsThatFiniteDifferencesGive) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Case c = random_case(random, 7, Type::kF32);
    prune(c, random);
    check_gradients(c, random, seed);
    if (HasFatalFailure()) return;
  }
}

// The same request by plain loops in fp64, which tests of whole layers are compared with.
TEST(PrunedAttention, IsTheSameByPlainLoops) {
  Context context(2);
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Case c = random_case(random, 40, Type::kF64);
    prune(c, random);
    std::vector<double> log_sum(c.log_sum.size());
    Attention x = request(c);
    x.log_sum = reinterpret_cast<float*>(log_sum.data());
    plain::attend(context, x);
    plain::attend_back(context, x);
    const Exact e = exact(c, true);
    Index n = 0;
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.heads; ++h)
        for (Index j = 0; j < x.queries; ++j)
          for (Index i = 0; i < x.value_size; ++i) ASSERT_NEAR(c.out(b, h, j, i), e.out[n++], 1e-12) << seed;
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.key_heads; ++h)
        for (Index k = 0; k < x.keys; ++k)
          for (Index i = 0; i < x.size; ++i) ASSERT_NEAR(c.dk(b, h, k, i), e.dk[c.dk.place(b, h, k, i)], 1e-11) << seed;
  }
}

TEST(PrunedAttention, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  for (const Level level : levels()) {
    for (const Index block : {1, 16, 64}) {
      std::vector<std::vector<unsigned char>> results[4];
      for (const int threads : {1, 2, 5}) {
        Random random(11);
        Case c = long_case(random);
        c.pruned = true;
        c.form.block = block, c.form.row = (300 / block + 64) / 64;
        for (Index i = 0; i < 1500 * c.form.row; ++i)
          c.bits.push_back(static_cast<std::uint64_t>(random(0, 1000)) * 0x9e3779b97f4a7c15U &
                           static_cast<std::uint64_t>(random(0, 1000)) * 0xbf58476d1ce4e5b9U);
        Context context(threads, level);
        const Attention x = request(c);
        attend(context, x);
        attend_back(context, x);
        int i = 0;
        for (const Heads* h : {&c.out, &c.dq, &c.dk, &c.dv}) results[i++].push_back(h->tensor.bytes());
      }
      for (const auto& each : results)
        for (const auto& one : each) EXPECT_TRUE(one == each.front()) << name_of(level) << " " << block;
    }
  }
}

// Lengths at which words of bits and blocks end, from nothing kept to all of it.
TEST(PrunedAttention, KeepsToLengthsAndDensities) {
  for (const auto& context : testing::contexts()) {
    if (context->table().level == Level::kAmxEmulated) continue;  // has the vectors of portable
    for (const Index n : {1, 63, 64, 65, 512}) {
      for (const int percent : {0, 1, 12, 50, 100}) {
        Random random(static_cast<std::uint32_t>(n * 100 + percent));
        const Index size = 64, words = (n + 63) / 64;
        const Tensor q(Type::kF32, n * size, random), k(Type::kF32, n * size, random), v(Type::kF32, n * size, random);
        std::vector<std::uint64_t> bits(n * words);
        for (Index i = 0; i < n * words * 64; ++i)
          if (random(0, 99) < percent) bits[i / 64] |= std::uint64_t{1} << i % 64;
        std::vector<float> out(n * size);
        KeptPairs kept;
        kept.bits = bits.data(), kept.row = words;
        Attention x;
        x.queries = x.keys = n, x.size = x.value_size = size, x.scale = 0.125, x.kept = &kept;
        x.query = {const_cast<void*>(q.data()), 0, 0, size}, x.key = {const_cast<void*>(k.data()), 0, 0, size};
        x.value = {const_cast<void*>(v.data()), 0, 0, size}, x.out = {out.data(), 0, 0, size};
        attend(*context, x);
        for (Index j = 0; j<n; j += n> 100 ? 37 : 1) {
          std::vector<double> wanted(size), scores(n);
          double top = -1e300, sum = 0;
          for (Index c = 0; c < n; ++c) {
            if ((bits[j * words + c / 64] >> c % 64 & 1) == 0) continue;
            for (Index i = 0; i < size; ++i) scores[c] += q[j * size + i] * k[c * size + i];
            top = std::max(top, scores[c] *= 0.125);
          }
          for (Index c = 0; c < n; ++c) {
            if ((bits[j * words + c / 64] >> c % 64 & 1) == 0) continue;
            const double p = std::exp(scores[c] - top);
            sum += p;
            for (Index i = 0; i < size; ++i) wanted[i] += p * v[c * size + i];
          }
          for (Index i = 0; i < size; ++i)
            ASSERT_NEAR(out[j * size + i], sum == 0 ? 0 : wanted[i] / sum, 1e-5) << n << " " << percent;
        }
      }
    }
  }
}

TEST(PrunedAttention, DoesNotLookAtKeysThatNobodyKeeps) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Index n = 70, size = 8;
  for (const auto& context : testing::contexts()) {
    std::vector<float> q(n * size, 0.5F), k(n * size, 0.25F), v(n * size, 1.0F), out(n * size);
    for (Index i = 0; i < size; ++i) k[60 * size + i] = v[61 * size + i] = nan;
    std::vector<std::uint64_t> bits(n * 2, ~std::uint64_t{0});
    for (Index j = 0; j < n; ++j)
      if (j != 5) bits[j * 2] &= ~(std::uint64_t{3} << 60);
    KeptPairs kept;
    kept.bits = bits.data(), kept.row = 2;
    Attention x;
    x.queries = x.keys = n, x.size = x.value_size = size, x.kept = &kept;
    x.query = {q.data(), 0, 0, size}, x.key = {k.data(), 0, 0, size}, x.value = {v.data(), 0, 0, size};
    x.out = {out.data(), 0, 0, size};
    attend(*context, x);
    for (Index j = 0; j < n; ++j) EXPECT_EQ(std::isnan(out[j * size]), j == 5) << j;
  }
}

TEST(PrunedAttention, ThatContradictsItselfIsRefused) {
  Context context(1);
  std::vector<float> data(4 * 8);
  Attention x;
  x.queries = x.keys = 2, x.size = x.value_size = 8;
  x.query = x.key = x.value = x.out = {data.data(), 0, 0, 8};
  KeptPairs kept;
  x.kept = &kept;
  EXPECT_THROW(attend(context, x), base::InternalError);  // neither bits nor lists
  const std::uint64_t bits[2] = {};
  kept.bits = bits, kept.block = 8;
  EXPECT_THROW(attend(context, x), base::InternalError);
  kept.bits = nullptr, kept.block = 1;
  const Index starts[3] = {0, 1, 2};
  const std::int32_t beyond[2] = {0, 2};
  kept.starts = starts, kept.columns = beyond;
  EXPECT_THROW(attend(context, x), base::InternalError);
  const Index falling[3] = {0, 2, 2};
  const std::int32_t twice[2] = {1, 1};
  kept.starts = falling, kept.columns = twice;
  EXPECT_THROW(attend(context, x), base::InternalError);
}

}  // namespace
}  // namespace orrery::kernels
