// For tests of attention: random requests with every kind of mask and stride, the definition in fp64 with its
// gradients, and how they are compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::kernels::testing {

inline constexpr double kNone = -std::numeric_limits<double>::infinity();

// A tensor [batch][head][position][element] in one of the orders that layers use, with gaps.
struct Heads {
  Tensor tensor;
  Vectors at;
  Index heads, positions, size;

  Index place(Index b, Index h, Index p, Index i) const { return b * at.batch + h * at.head + p * at.position + i; }
  double operator()(Index b, Index h, Index p, Index i) const { return tensor[place(b, h, p, i)]; }
};

inline Heads heads_of(Type type, Index batch, Index heads, Index positions, Index size, Random& random) {
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
  // What is kept: of each pair, then in the form that the request has.
  bool pruned = false;
  KeptPairs form;
  std::vector<bool> pairs;  // [b][h][j][k]
  std::vector<std::uint64_t> bits;
  std::vector<Index> starts;
  std::vector<std::int32_t> columns;

  bool keeps(Index b, Index h, Index j, Index key) const {
    return !pruned || pairs[((b * x.heads + h) * x.queries + j) * x.keys + key];
  }
};

// The definition, and its gradients. O and log_sum by [b][h][j], gradients by the places of the tensors.
struct Exact {
  std::vector<double> out, log_sum, dq, dk, dv;
};

inline double score(const Case& c, Index b, Index h, Index j, Index k) {
  const Attention& x = c.x;
  const Index at = j + x.query_offset;
  if (x.key_lengths != nullptr && k >= x.key_lengths[b]) return kNone;
  if (x.query_lengths != nullptr && j >= x.query_lengths[b]) return kNone;
  if (x.reach_back >= 0 && k < at - x.reach_back) return kNone;
  if (x.reach_ahead >= 0 && k > at + x.reach_ahead) return kNone;
  if (!c.keeps(b, h, j, k)) return kNone;
  double s = 0;
  for (Index i = 0; i < x.size; ++i) s += c.q(b, h, j, i) * c.k(b, h / (x.heads / x.key_heads), k, i);
  s *= x.scale;
  if (x.bias != nullptr) s += x.bias[b * x.bias_batch + h * x.bias_head + j * x.bias_query + k];
  return s;
}

inline Exact exact(const Case& c, bool backwards) {
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

inline Case random_case(Random& random, Index most, Type type) {
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
         {},
         false,
         {},
         {},
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

// One head whose 1,500 queries see 300 keys: threads cut the queries.
inline Case long_case(Random& random) {
  Case c = random_case(random, 1, Type::kF32);
  c.x.batch = 1, c.x.heads = c.x.key_heads = 1;
  c.x.queries = 1500, c.x.keys = 300, c.x.size = c.x.value_size = 24;
  c.x.drop = drop_pattern(0.1, 1, 2);
  c.x.query_offset = -1200, c.x.reach_back = -1, c.x.reach_ahead = 0;
  c.key_lengths.clear(), c.bias.clear();
  for (Heads* h : {&c.q, &c.out, &c.dout, &c.dq}) *h = heads_of(Type::kF32, 1, 1, 1500, 24, random);
  for (Heads* h : {&c.k, &c.v, &c.dk, &c.dv}) *h = heads_of(Type::kF32, 1, 1, 300, 24, random);
  for (Heads* h : {&c.q, &c.out, &c.dout, &c.dq, &c.k, &c.v, &c.dk, &c.dv}) h->at.data = h->tensor.data();
  c.log_sum.resize(1500);
  return c;
}

// A random mask of the case's pairs: bits of elements, some shared by heads, bits of blocks, or lists.
inline void prune(Case& c, Random& random) {
  const Attention& x = c.x;
  c.pruned = true;
  const bool lists = random.one_in(4);
  c.form.block = lists || random.one_in(2) ? 1 : random.pick<Index>({16, 32, 64});
  const Index block = c.form.block, rows = (x.queries + block - 1) / block, columns = (x.keys + block - 1) / block;
  c.form.row = (columns + 63) / 64 + random(0, 1);
  c.form.head = !lists && random.one_in(4) ? 0 : rows * c.form.row;
  c.form.batch = c.form.head == 0 ? random(0, 1) * rows * c.form.row : x.heads * c.form.head;
  const Index most = random.pick<Index>({0, 1, 3, 10, 30, 100, 100});  // of the bits, in a hundred
  c.bits.assign(x.batch * c.form.batch + x.heads * c.form.head + rows * c.form.row, 0);
  for (Index i = 0; i < static_cast<Index>(c.bits.size()) * 64; ++i)
    if (random(0, 99) < most) c.bits[i / 64] |= std::uint64_t{1} << i % 64;  // beyond the last column, too
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index j = 0; j < x.queries; ++j)
        for (Index k = 0; k < x.keys; ++k) {
          const Index word = b * c.form.batch + h * c.form.head + j / block * c.form.row + k / block / 64;
          c.pairs.push_back((c.bits[word] >> (k / block % 64) & 1) != 0);
        }
  if (!lists) return;
  c.bits.clear();
  c.starts.push_back(0);
  for (Index row = 0; row < x.batch * x.heads * x.queries; ++row) {
    for (Index k = 0; k < x.keys; ++k)
      if (c.pairs[row * x.keys + k]) c.columns.push_back(static_cast<std::int32_t>(k));
    c.starts.push_back(static_cast<Index>(c.columns.size()));
  }
}

// Points the request at the case's own memory.
inline Attention request(Case& c) {
  Attention x = c.x;
  x.query = c.q.at, x.key = c.k.at, x.value = c.v.at, x.out = c.out.at, x.out_gradient = c.dout.at;
  x.query_gradient = c.dq.at, x.key_gradient = c.dk.at, x.value_gradient = c.dv.at;
  x.log_sum = c.log_sum.data();
  if (!c.bias.empty()) x.bias = c.bias.data();
  if (!c.key_lengths.empty()) x.key_lengths = c.key_lengths.data(), x.query_lengths = c.query_lengths.data();
  if (c.pruned) {
    c.form.bits = c.bits.empty() ? nullptr : c.bits.data();
    c.form.starts = c.starts.data(), c.form.columns = c.columns.data();
    x.kept = &c.form;
  }
  return c.x = x;
}

// Largest difference of a tensor from `wanted`, over the largest element there is, and that nothing else was written.
inline void compare(const Heads& got, const Tensor& old, Index batch, const std::vector<double>& wanted, double bound,
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

inline void check_case(Context& context, std::uint32_t seed, Index most, bool pruned = false) {
  Random random(seed);
  const Type type = random.pick({Type::kF32, Type::kBf16});
  Case c = random_case(random, most, type);
  if (pruned) prune(c, random);
  const Attention x = request(c);
  const std::string what = "seed " + std::to_string(seed) + " " + name_of(context);
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
        ASSERT_TRUE(near(c.log_sum[line], e.log_sum[line], (fine ? 1e-5 : 1e-2) * (1 + std::fabs(e.log_sum[line]))))
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

// Gradients at random places against differences of the outputs' sum.
inline void check_gradients(Case& c, Random& random, std::uint32_t seed) {
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
}

}  // namespace orrery::kernels::testing
