// Attention against the definition in fp64, every kind of mask and stride; its gradients against the analytic ones in
// fp64, which finite differences hold in turn.
#include "orrery/kernels/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/check.h"
#include "orrery/kernels/dropout.h"
#include "orrery/kernels/level_test_util.h"

namespace orrery::kernels {
namespace {

using testing::Random;
using testing::Tensor;

constexpr double kNone = -std::numeric_limits<double>::infinity();

// A tensor [batch][head][position][element] in one of the orders that layers use, with gaps.
struct Heads {
  Tensor tensor;
  Vectors at;
  Index heads, positions, size;

  Index place(Index b, Index h, Index p, Index i) const { return b * at.batch + h * at.head + p * at.position + i; }
  double operator()(Index b, Index h, Index p, Index i) const { return tensor[place(b, h, p, i)]; }
};

Heads heads_of(Type type, Index batch, Index heads, Index positions, Index size, Random& random) {
  const Index gap = random(0, 3), row = size + gap;
  Vectors at;
  if (random.one_in(2)) {  // positions outside, as a product writes them
    at.head = row, at.position = heads * row + gap, at.batch = positions * at.position;
  } else {
    at.position = row, at.head = positions * row, at.batch = heads * at.head + gap;
  }
  Heads h{Tensor(type, batch * at.batch + heads * at.head + positions * at.position + row, random), at, heads,
          positions, size};
  h.at.data = h.tensor.data();
  return h;
}

struct Case {
  Attention x;
  Heads q, k, v, out, dout, dq, dk, dv;
  std::vector<float> log_sum, bias;
  std::vector<Index> key_lengths, query_lengths;
};

// The definition, and its gradients. O and log_sum by [b][h][j], gradients by the places of the tensors.
struct Exact {
  std::vector<double> out, log_sum, dq, dk, dv;
};

double score(const Case& c, Index b, Index h, Index j, Index k) {
  const Attention& x = c.x;
  const Index at = j + x.query_offset;
  if (x.key_lengths != nullptr && k >= x.key_lengths[b]) return kNone;
  if (x.query_lengths != nullptr && j >= x.query_lengths[b]) return kNone;
  if (x.reach_back >= 0 && k < at - x.reach_back) return kNone;
  if (x.reach_ahead >= 0 && k > at + x.reach_ahead) return kNone;
  double s = 0;
  for (Index i = 0; i < x.size; ++i) s += c.q(b, h, j, i) * c.k(b, h / (x.heads / x.key_heads), k, i);
  s *= x.scale;
  if (x.bias != nullptr) s += x.bias[b * x.bias_batch + h * x.bias_head + j * x.bias_query + k];
  return s;
}

Exact exact(const Case& c, bool backwards) {
  const Attention& x = c.x;
  Exact e;
  e.dq.resize(c.dq.tensor.bytes().size());
  e.dk.resize(c.dk.tensor.bytes().size());
  e.dv.resize(c.dv.tensor.bytes().size());
  for (Index b = 0; b < x.batch; ++b) {
    for (Index h = 0; h < x.heads; ++h) {
      const Index g = h / (x.heads / x.key_heads);
      for (Index j = 0; j < x.queries; ++j) {
        std::vector<double> p(x.keys), m(x.keys, 1.0), out(x.value_size, 0.0);
        double top = kNone, sum = 0;
        for (Index k = 0; k < x.keys; ++k) top = std::max(top, p[k] = score(c, b, h, j, k));
        for (double& one : p) sum += one = top == kNone ? 0 : std::exp(one - top);
        for (Index k = 0; k < x.keys; ++k) {
          if (sum > 0) p[k] /= sum;
          const auto line = static_cast<std::uint64_t>((b * x.heads + h) * x.queries + j);
          if (x.drop.threshold != 0) m[k] = keeps(x.drop, line, static_cast<std::uint64_t>(k)) ? x.drop.scale : 0.0;
          for (Index i = 0; i < x.value_size; ++i) out[i] += p[k] * m[k] * c.v(b, g, k, i);
        }
        e.out.insert(e.out.end(), out.begin(), out.end());
        e.log_sum.push_back(sum > 0 ? top + std::log(sum) : kNone);
        if (!backwards || sum == 0) continue;
        double product = 0;
        std::vector<double> dp(x.keys, 0.0);
        for (Index k = 0; k < x.keys; ++k) {
          for (Index i = 0; i < x.value_size; ++i) {
            dp[k] += c.dout(b, h, j, i) * c.v(b, g, k, i) * m[k];
            e.dv[c.dv.place(b, g, k, i)] += p[k] * m[k] * c.dout(b, h, j, i);
          }
          product += p[k] * dp[k];
        }
        for (Index k = 0; k < x.keys; ++k) {
          const double ds = p[k] * (dp[k] - product) * x.scale;
          for (Index i = 0; i < x.size; ++i) {
            e.dq[c.dq.place(b, h, j, i)] += ds * c.k(b, g, k, i);
            e.dk[c.dk.place(b, g, k, i)] += ds * c.q(b, h, j, i);
          }
        }
      }
    }
  }
  return e;
}

Case random_case(Random& random, Index most, Type type) {
  Attention x;
  x.type = type;
  x.batch = random(1, 2);
  x.key_heads = random(1, 2);
  x.heads = x.key_heads * random(1, 2);
  const bool few = most == 0;  // heads, with many queries
  if (few) x.batch = x.key_heads = 1, x.heads = random(1, 3), most = 40;
  x.queries = few ? random(1024, 1300) : random.size(most);
  x.keys = random.one_in(2) && !few ? x.queries : random.size(most);
  x.size = random.size(few ? 20 : 70);
  x.value_size = random.one_in(2) ? x.size : random.size(few ? 20 : 70);
  x.scale = random.pick({0.125F, 0.3F});
  if (random.one_in(3)) x.query_offset = random(-5, 20);
  if (random.one_in(3)) x.reach_ahead = random.one_in(2) ? 0 : random(0, 20);
  if (random.one_in(3)) x.reach_back = random.one_in(2) ? random(0, 200) : random(0, 20);
  if (random.one_in(3)) x.drop = drop_pattern(0.2, 5, 6);
  const Index b = x.batch;
  Case c{x,
         heads_of(type, b, x.heads, x.queries, x.size, random),
         heads_of(type, b, x.key_heads, x.keys, x.size, random),
         heads_of(type, b, x.key_heads, x.keys, x.value_size, random),
         heads_of(type, b, x.heads, x.queries, x.value_size, random),
         heads_of(type, b, x.heads, x.queries, x.value_size, random),
         heads_of(type, b, x.heads, x.queries, x.size, random),
         heads_of(type, b, x.key_heads, x.keys, x.size, random),
         heads_of(type, b, x.key_heads, x.keys, x.value_size, random),
         std::vector<float>(b * x.heads * x.queries),
         {},
         {},
         {}};
  if (random.one_in(3)) {
    for (Index i = 0; i < b; ++i)
      c.key_lengths.push_back(random(0, x.keys)), c.query_lengths.push_back(random(0, x.queries));
  }
  if (random.one_in(3)) {
    c.x.bias_query = x.keys + 1, c.x.bias_head = random.one_in(2) ? 0 : x.queries * c.x.bias_query;
    c.x.bias_batch =
        random.one_in(2) ? 0 : std::max<Index>(1, c.x.bias_head == 0 ? 1 : x.heads) * x.queries * c.x.bias_query;
    const Index count = c.x.bias_batch * b + c.x.bias_head * x.heads + x.queries * c.x.bias_query;
    for (Index i = 0; i < count; ++i)
      c.bias.push_back(random.one_in(4) ? -std::numeric_limits<float>::infinity() : random.normal());
  }
  return c;
}

// Points the request at the case's own memory.
Attention request(Case& c) {
  Attention x = c.x;
  x.query = c.q.at, x.key = c.k.at, x.value = c.v.at, x.out = c.out.at, x.out_gradient = c.dout.at;
  x.query_gradient = c.dq.at, x.key_gradient = c.dk.at, x.value_gradient = c.dv.at;
  x.log_sum = c.log_sum.data();
  if (!c.bias.empty()) x.bias = c.bias.data();
  if (!c.key_lengths.empty()) x.key_lengths = c.key_lengths.data(), x.query_lengths = c.query_lengths.data();
  return c.x = x;
}

// Largest difference of a tensor from `wanted`, over the largest element there is, and that nothing else was written.
void compare(const Heads& got, const Tensor& old, Index batch, const std::vector<double>& wanted, double bound,
             const std::string& what) {
  double largest = 1;
  std::vector<bool> is_element(wanted.size(), false);
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < got.heads; ++h) {
      for (Index p = 0; p < got.positions; ++p) {
        for (Index i = 0; i < got.size; ++i) {
          const Index place = got.place(b, h, p, i);
          is_element[place] = true;
          largest = std::max(largest, std::fabs(wanted[place]));
        }
      }
    }
  }
  const Index count = static_cast<Index>(got.tensor.bytes().size()) / bytes_of(got.tensor.type()) - 4;
  for (Index i = 0; i < count; ++i) {
    if (is_element[i]) {
      ASSERT_NEAR(got.tensor[i], wanted[i], bound * largest) << what << " at " << i;
    } else {
      ASSERT_EQ(got.tensor[i], old[i]) << what << " was written beside, at " << i;
    }
  }
}

void check_case(Context& context, std::uint32_t seed, Index most) {
  Random random(seed);
  const Type type = random.pick({Type::kF32, Type::kBf16});
  Case c = random_case(random, most, type);
  const Attention x = request(c);
  const std::string what = "seed " + std::to_string(seed) + " " + testing::name_of(context);
  const Tensor old_out = c.out.tensor, old_dq = c.dq.tensor, old_dk = c.dk.tensor, old_dv = c.dv.tensor;
  attend(context, x);
  const Exact e = exact(c, true);
  std::vector<double> wanted(c.out.tensor.bytes().size());
  Index n = 0, line = 0;
  const bool fine = type == Type::kF32;
  for (Index b = 0; b < x.batch; ++b) {
    for (Index h = 0; h < x.heads; ++h) {
      for (Index j = 0; j < x.queries; ++j, ++line) {
        for (Index i = 0; i < x.value_size; ++i) wanted[c.out.place(b, h, j, i)] = e.out[n++];
        ASSERT_TRUE(
            testing::near(c.log_sum[line], e.log_sum[line], (fine ? 1e-5 : 1e-2) * (1 + std::fabs(e.log_sum[line]))))
            << what << " " << c.log_sum[line] << " for " << e.log_sum[line];
      }
    }
  }
  compare(c.out, old_out, x.batch, wanted, fine ? 1e-5 : 2e-2, what + " out");
  if (::testing::Test::HasFatalFailure()) return;
  attend_back(context, x);
  compare(c.dq, old_dq, x.batch, e.dq, fine ? 4e-5 : 4e-2, what + " dq");
  compare(c.dk, old_dk, x.batch, e.dk, fine ? 4e-5 : 4e-2, what + " dk");
  compare(c.dv, old_dv, x.batch, e.dv, fine ? 4e-5 : 4e-2, what + " dv");
}

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
    request(c);
    const Exact e = exact(c, true);
    const auto loss = [&] {
      const Exact now = exact(c, false);
      double sum = 0;
      Index n = 0;
      for (Index b = 0; b < c.x.batch; ++b) {
        for (Index h = 0; h < c.x.heads; ++h) {
          for (Index j = 0; j < c.x.queries; ++j) {
            for (Index i = 0; i < c.x.value_size; ++i) sum += now.out[n++] * c.dout(b, h, j, i);
          }
        }
      }
      return sum;
    };
    const auto check = [&](Heads& input, const Heads& gradient, const std::vector<double>& wanted) {
      for (int trial = 0; trial < 10; ++trial) {
        const Index b = random(0, c.x.batch - 1), h = random(0, input.heads - 1), p = random(0, input.positions - 1),
                    i = random(0, input.size - 1);
        const Index place = input.place(b, h, p, i);
        const auto old = static_cast<float>(input.tensor[place]);
        input.tensor.set(place, old + 0x1p-10F);
        const double up = input.tensor[place], high = loss();
        input.tensor.set(place, old - 0x1p-10F);
        const double down = input.tensor[place], low = loss();
        input.tensor.set(place, old);
        ASSERT_NEAR((high - low) / (up - down), wanted[gradient.place(b, h, p, i)], 2e-5) << "seed " << seed;
      }
    };
    check(c.q, c.dq, e.dq);
    check(c.k, c.dk, e.dk);
    check(c.v, c.dv, e.dv);
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  for (const Level level : levels()) {
    std::vector<std::vector<unsigned char>> results[4];
    for (const int threads : {1, 2, 5}) {
      Random random(11);
      Case c = random_case(random, 1, Type::kF32);
      c.x.batch = 1, c.x.heads = c.x.key_heads = 1;  // few heads: queries are cut
      c.x.queries = 1500, c.x.keys = 300, c.x.size = c.x.value_size = 24;
      c.x.drop = drop_pattern(0.1, 1, 2);
      c.x.query_offset = -1200, c.x.reach_back = -1, c.x.reach_ahead = 0;
      c.key_lengths.clear(), c.bias.clear();
      for (Heads* h : {&c.q, &c.out, &c.dout, &c.dq}) *h = heads_of(Type::kF32, 1, 1, 1500, 24, random);
      for (Heads* h : {&c.k, &c.v, &c.dk, &c.dv}) *h = heads_of(Type::kF32, 1, 1, 300, 24, random);
      for (Heads* h : {&c.q, &c.out, &c.dout, &c.dq, &c.k, &c.v, &c.dk, &c.dv}) h->at.data = h->tensor.data();
      c.log_sum.resize(1500);
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
