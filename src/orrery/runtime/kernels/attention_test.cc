// Attention against the definition in fp64, every kind of mask and stride; its gradients against the analytic ones in
// fp64, which finite differences hold in turn.
#include "orrery/runtime/kernels/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/attention_case_test_util.h"

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

TEST(Attention, AndItsGradientsAgreeWithFp64ForEveryKindOfMask) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
      check_case(*context, seed, seed % 10 == 0 ? 150 : 40);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Attention, OfSeveralTilesAgreesWithFp64) {
  for (const auto& context : testing::contexts(3)) {
    for (std::uint32_t seed = 1000; seed < 1012; ++seed) {
      check_case(*context, seed, 600);
      if (HasFatalFailure()) return;
    }
  }
}

// Few heads of keys: their queries are shared by several parts, whose sums are added.
TEST(Attention, OfFewHeadsAgreesWithFp64) {
  for (const auto& context : testing::contexts(3)) {
    for (std::uint32_t seed = 2000; seed < 2004; ++seed) {
      check_case(*context, seed, 0);
      if (HasFatalFailure()) return;
    }
  }
}

// Sequences behind one another, as those with padding between them; nothing is written beyond them.
TEST(Attention, OfSequencesWithoutPaddingIsThatOfPaddedOnes) {
  for (const auto& context : testing::contexts()) {
    for (const Index group : {1, 2}) {
      Random random(3);
      const Index batch = 3, length = 40, size = 12, heads = 2 * group;
      const std::vector<Index> lengths = {17, 0, 40}, starts = {0, 17, 17};
      const auto filled = [&](Index all) { return Tensor(Type::kF32, batch * length * all * size, random); };
      Tensor q = filled(heads), k = filled(2), v = filled(2), dout = filled(heads);
      Tensor out = q, dq = q, dk = k, dv = v;
      const auto packed = [&](const Tensor& from, Index all) {
        Tensor to = from;
        for (Index b = 0; b < batch; ++b) {
          for (Index i = 0; i < lengths[b] * all * size; ++i)
            to.set(starts[b] * all * size + i, static_cast<float>(from[b * length * all * size + i]));
        }
        return to;
      };
      Tensor pq = packed(q, heads), pk = packed(k, 2), pv = packed(v, 2), pdout = packed(dout, heads);
      Tensor pout = pq, pdq = pq, pdk = pk, pdv = pv;
      std::vector<float> log_sum(batch * heads * length);
      const auto run = [&](bool close, std::initializer_list<Tensor*> t) {
        Attention x;
        x.batch = batch, x.heads = heads, x.key_heads = 2, x.queries = x.keys = length, x.size = x.value_size = size;
        x.key_lengths = x.query_lengths = lengths.data(), x.log_sum = log_sum.data(), x.reach_ahead = 0;
        if (close) x.key_starts = x.query_starts = starts.data();
        const auto at = [&](Tensor* tensor, Index all) {
          return Vectors{tensor->data(), length * all * size, size, all * size};
        };
        Tensor* const* p = t.begin();
        x.query = at(p[0], heads), x.key = at(p[1], 2), x.value = at(p[2], 2), x.out = at(p[3], heads);
        x.out_gradient = at(p[4], heads), x.query_gradient = at(p[5], heads);
        x.key_gradient = at(p[6], 2), x.value_gradient = at(p[7], 2);
        attend(*context, x);
        attend_back(*context, x);
      };
      run(false, {&q, &k, &v, &out, &dout, &dq, &dk, &dv});
      run(true, {&pq, &pk, &pv, &pout, &pdout, &pdq, &pdk, &pdv});
      const auto same = [&](const Tensor& with, const Tensor& without, const Tensor& before, Index all) {
        for (Index b = 0; b < batch; ++b) {
          for (Index i = 0; i < lengths[b] * all * size; ++i)
            ASSERT_EQ(with[b * length * all * size + i], without[starts[b] * all * size + i]) << b;
        }
        for (Index i = 57 * all * size; i < batch * length * all * size; ++i) ASSERT_EQ(without[i], before[i]);
      };
      same(out, pout, pq, heads);
      same(dq, pdq, pq, heads);
      same(dk, pdk, pk, 2);
      same(dv, pdv, pv, 2);
    }
  }
}

TEST(Attention, HasTheGradientsThatFiniteDifferencesGive) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Case c = random_case(random, 7, Type::kF32);
    check_gradients(c, random, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  for (const Level level : levels()) {
    std::vector<std::vector<unsigned char>> results[4];
    for (const int threads : {1, 2, 5}) {
      Random random(11);
      Case c = long_case(random);
      Context context(threads, level);
      const Attention x = request(c);
      attend(context, x);
      attend_back(context, x);
      int i = 0;
      for (const Heads* h : {&c.out, &c.dq, &c.dk, &c.dv}) results[i++].push_back(h->tensor.bytes());
    }
    for (const auto& each : results) {
      for (const auto& one : each) EXPECT_TRUE(one == each.front()) << name_of(level);
    }
  }
}

TEST(Attention, CarriesNaNsToTheQueriesThatSeeThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Index n = 70, size = 8;
  for (const auto& context : testing::contexts()) {
    std::vector<float> q(n * size, 0.5F), k(n * size, 0.25F), v(n * size, 1.0F), out(n * size);
    q[3 * size] = nan;
    k[60 * size + 2] = nan;
    Attention x;
    x.queries = x.keys = n, x.size = x.value_size = size, x.reach_ahead = 0;
    x.query = {q.data(), 0, 0, size}, x.key = {k.data(), 0, 0, size}, x.value = {v.data(), 0, 0, size};
    x.out = {out.data(), 0, 0, size};
    attend(*context, x);
    for (Index j = 0; j < n; ++j) {
      EXPECT_EQ(std::isnan(out[j * size]), j == 3 || j >= 60) << j;
      EXPECT_TRUE(std::isnan(out[j * size]) || std::fabs(out[j * size] - 1) < 1e-6) << j;
    }
  }
}

TEST(Attention, ThatContradictsItselfIsRefused) {
  Context context(1);
  Attention x;
  x.queries = x.keys = 1, x.size = x.value_size = 513;
  EXPECT_THROW(attend(context, x), base::InternalError);
  x.size = x.value_size = 8, x.heads = 3, x.key_heads = 2;
  EXPECT_THROW(attend(context, x), base::InternalError);
  x.heads = 2;
  const Index beyond = 2;
  x.key_lengths = &beyond;
  EXPECT_THROW(attend(context, x), base::InternalError);
  x.key_lengths = nullptr;
  EXPECT_THROW(attend_back(context, x), base::InternalError);  // nothing was saved
}

}  // namespace
}  // namespace orrery::kernels
