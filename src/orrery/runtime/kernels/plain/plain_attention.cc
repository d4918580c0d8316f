// Attention by its definition, a row of scores at a time; backwards a head of keys with all queries that look at it, in
// order. Cost: 4 J K d operations forwards, 10 backwards, J K exponentials each; a row of scores of scratch.
#include <algorithm>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/plain/plain.h"
#include "orrery/runtime/kernels/plain/plain_numbers.h"

namespace orrery::kernels::plain {
namespace {

// One sequence of the request.
template <class Real>
struct Sequence {
  const Attention& x;
  Index batch;
  Index queries, keys;  // valid

  Sequence(const Attention& request, Index b)
      : x(request),
        batch(b),
        queries(x.query_lengths == nullptr ? x.queries : x.query_lengths[b]),
        keys(x.key_lengths == nullptr ? x.keys : x.key_lengths[b]) {}

  // Where a vector begins, in elements.
  Index at(const Vectors& v, const Index* starts, Index head, Index position) const {
    const Index begin = starts == nullptr ? batch * v.batch : starts[batch] * v.position;
    return begin + head * v.head + position * v.position;
  }
  Index of_query(const Vectors& v, Index head, Index j) const { return at(v, x.query_starts, head, j); }
  Index of_key(const Vectors& v, Index head, Index k) const { return at(v, x.key_starts, head, k); }
  Index key_head(Index head) const { return head / (x.heads / x.key_heads); }
  Index line(Index head, Index j) const { return (batch * x.heads + head) * x.queries + j; }

  Real product(const Vectors& a, Index a_at, const Vectors& b, Index b_at, Index size) const {
    Real sum = 0;
    for (Index i = 0; i < size; ++i) sum += load<Real>(a.data, x.type, a_at + i) * load<Real>(b.data, x.type, b_at + i);
    return sum;
  }

  // Keys [begin, end) that query j sees, the bias apart.
  Index begin(Index j) const {
    return x.reach_back < 0 ? 0 : std::clamp<Index>(j + x.query_offset - x.reach_back, 0, keys);
  }
  Index end(Index j) const {
    return x.reach_ahead < 0 ? keys : std::clamp<Index>(j + x.query_offset + x.reach_ahead + 1, 0, keys);
  }

  // The scores of keys [begin, end).
  void scores(Index head, Index j, Real* row) const {
    const Index query = of_query(x.query, head, j);
    for (Index k = begin(j); k < end(j); ++k) {
      row[k] = product(x.query, query, x.key, of_key(x.key, key_head(head), k), x.size) * static_cast<Real>(x.scale);
      if (x.bias != nullptr) row[k] += x.bias[batch * x.bias_batch + head * x.bias_head + j * x.bias_query + k];
      if (x.kept != nullptr && !keeps(*x.kept, head, j, k)) row[k] = -std::numeric_limits<Real>::infinity();
    }
  }

  bool keeps(const KeptPairs& kept, Index head, Index j, Index k) const {
    if (kept.bits == nullptr)
      return std::binary_search(kept.columns + kept.starts[line(head, j)],
                                kept.columns + kept.starts[line(head, j) + 1], static_cast<std::int32_t>(k));
    const Index column = k / kept.block;
    const std::uint64_t* words = kept.bits + batch * kept.batch + head * kept.head + j / kept.block * kept.row;
    return (words[column / 64] >> column % 64 & 1) != 0;
  }
};

template <class Real>
constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

template <class Real>
void attend_query(const Sequence<Real>& s, Index head, Index j, Real* row) {
  const Attention& x = s.x;
  const Index out = s.of_query(x.out, head, j), begin = s.begin(j), end = s.end(j);
  Real top = kNothing<Real>, sum = 0;
  s.scores(head, j, row);
  for (Index k = begin; k < end; ++k) top = row[k] > top || row[k] != row[k] ? row[k] : top;
  if (top != kNothing<Real>) {
    for (Index k = begin; k < end; ++k) sum += row[k] = std::exp(row[k] - top);
  }
  if (x.log_sum != nullptr) of_row<Real>(x.log_sum, s.line(head, j)) = sum == 0 ? kNothing<Real> : top + std::log(sum);
  for (Index k = begin; k < end; ++k) row[k] *= sum == 0 ? 0 : drop_factor(x.drop, s.line(head, j), k) / sum;
  for (Index i = 0; i < x.value_size; ++i) {
    Real value = 0;
    for (Index k = begin; k < end && sum != 0; ++k)
      value += row[k] * load<Real>(x.value.data, x.type, s.of_key(x.value, s.key_head(head), k) + i);
    store(x.out.data, x.type, out + i, value);
  }
}

template <class Real>
void zero(const Attention& x, const Vectors& v, Index at, Index size) {
  for (Index i = 0; i < size; ++i) store(v.data, x.type, at + i, Real{0});
}

// One query's share of all gradients; those of keys and values are added to sums[key][size + value_size].
template <class Real>
void attend_query_back(const Sequence<Real>& s, Index head, Index j, Real* row, Real* sums) {
  const Attention& x = s.x;
  const Index group = s.key_head(head), of_out = s.of_query(x.out, head, j);
  const Index given = s.of_query(x.out_gradient, head, j), wanted = s.of_query(x.query_gradient, head, j);
  const Index query = s.of_query(x.query, head, j);
  const Real log_sum = of_row<Real>(x.log_sum, s.line(head, j));
  if (log_sum == kNothing<Real>) return zero<Real>(x, x.query_gradient, wanted, x.size);
  const Real whole = s.product(x.out, of_out, x.out_gradient, given, x.value_size);
  s.scores(head, j, row);
  for (Index k = s.begin(j); k < s.end(j); ++k) {
    const Real p = std::exp(row[k] - log_sum), factor = drop_factor(x.drop, s.line(head, j), k);
    const Real slope = s.product(x.out_gradient, given, x.value, s.of_key(x.value, group, k), x.value_size) * factor;
    row[k] = p * (slope - whole) * static_cast<Real>(x.scale);
    Real* to = sums + k * (x.size + x.value_size);
    for (Index i = 0; i < x.size; ++i) to[i] += row[k] * load<Real>(x.query.data, x.type, query + i);
    for (Index i = 0; i < x.value_size; ++i)
      to[x.size + i] += p * factor * load<Real>(x.out_gradient.data, x.type, given + i);
  }
  for (Index i = 0; i < x.size; ++i) {
    Real sum = 0;
    for (Index k = s.begin(j); k < s.end(j); ++k)
      sum += row[k] * load<Real>(x.key.data, x.type, s.of_key(x.key, group, k) + i);
    store(x.query_gradient.data, x.type, wanted + i, sum);
  }
}

// Rows of padding that are to be zero: with starts there are none.
Index padded(const Index* starts, Index valid, Index all) {
  return starts == nullptr ? all : valid;
}

}  // namespace

void attend(Context& context, const Attention& x) {
  ORRERY_CHECK(takes(x.type), "plain attention is of fp64 or fp16");
  with_real(x.type, [&]<class Real>(Real) {
    context.reserve_own((x.keys + 1) * static_cast<Index>(sizeof(Real) / 4));
    context.pool().run(x.batch * x.heads, [&](Index task, int worker) {
      const Index head = task % x.heads;
      const Sequence<Real> s(x, task / x.heads);
      for (Index j = 0; j < s.queries; ++j) attend_query(s, head, j, reinterpret_cast<Real*>(context.own(worker)));
      for (Index j = s.queries; j < padded(x.query_starts, s.queries, x.queries); ++j) {
        zero<Real>(x, x.out, s.of_query(x.out, head, j), x.value_size);
        if (x.log_sum != nullptr) of_row<Real>(x.log_sum, s.line(head, j)) = kNothing<Real>;
      }
    });
  });
}

void attend_back(Context& context, const Attention& x) {
  ORRERY_CHECK(takes(x.type) && x.log_sum != nullptr, "plain attention is of fp64 or fp16, and forwards comes first");
  with_real(x.type, [&]<class Real>(Real) {
    const Index both = x.size + x.value_size, group = x.heads / x.key_heads;
    context.reserve_own((x.keys + 1) * (both + 1) * static_cast<Index>(sizeof(Real) / 4));
    context.pool().run(x.batch * x.key_heads, [&](Index task, int worker) {
      const Index key_head = task % x.key_heads;
      const Sequence<Real> s(x, task / x.key_heads);
      Real* row = reinterpret_cast<Real*>(context.own(worker));
      Real* sums = row + x.keys;
      std::fill_n(sums, x.keys * both, Real{0});
      for (Index head = key_head * group; head < (key_head + 1) * group; ++head) {
        for (Index j = 0; j < s.queries; ++j) attend_query_back(s, head, j, row, sums);
        for (Index j = s.queries; j < padded(x.query_starts, s.queries, x.queries); ++j)
          zero<Real>(x, x.query_gradient, s.of_query(x.query_gradient, head, j), x.size);
      }
      for (Index k = 0; k < padded(x.key_starts, s.keys, x.keys); ++k) {
        const Index of_key = s.of_key(x.key_gradient, key_head, k), of_value = s.of_key(x.value_gradient, key_head, k);
        for (Index i = 0; i < x.size; ++i) store(x.key_gradient.data, x.type, of_key + i, sums[k * both + i]);
        for (Index i = 0; i < x.value_size; ++i)
          store(x.value_gradient.data, x.type, of_value + i, sums[k * both + x.size + i]);
      }
    });
  });
}

}  // namespace orrery::kernels::plain
