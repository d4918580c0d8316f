#include "orrery/runtime/layer/operators.h"

#include <algorithm>
#include <cstring>

#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::layer {
namespace {

using kernels::Type;

double bytes_of_rows(Index rows, Index columns, Type type) {
  return static_cast<double>(rows) * static_cast<double>(columns) * bytes_of(type);
}

Cost cost_of(const kernels::Product& p) {
  const auto beside = [&](const kernels::Beside& m) {
    const Index rows = m.row_stride == 0 ? 1 : p.rows;  // one row for all
    return m.data == nullptr ? 0 : bytes_of_rows(rows, p.columns, m.type);
  };
  const Type weights = p.precision == kernels::Precision::kBf16 ? Type::kBf16 : Type::kF32;
  double bytes = bytes_of_rows(p.rows, p.depth, p.a.type) +
                 bytes_of_rows(p.depth, p.columns, p.packed_b == nullptr ? p.b.type : weights);
  for (const kernels::Beside& m : {p.c, p.before, p.slope_at, p.gate, p.residual, p.normalise.out}) bytes += beside(m);
  if (p.add) bytes += beside(p.c);
  if (p.normalise.standard != nullptr) bytes += beside(p.normalise.out);
  return {2 * static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(p.depth), bytes};
}

// Pairs of query and key that lengths and window let see each other.
double visible_pairs(const kernels::Attention& x) {
  double pairs = 0;
  const bool alike = x.query_lengths == nullptr && x.key_lengths == nullptr;  // all sequences
  for (Index b = 0; b < (alike ? std::min<Index>(1, x.batch) : x.batch); ++b) {
    const Index queries = x.query_lengths == nullptr ? x.queries : x.query_lengths[b];
    const Index keys = x.key_lengths == nullptr ? x.keys : x.key_lengths[b];
    for (Index j = 0; j < queries; ++j) {
      const Index at = j + x.query_offset;
      const Index begin = x.reach_back < 0 ? 0 : std::clamp<Index>(at - x.reach_back, 0, keys);
      const Index end = x.reach_ahead < 0 ? keys : std::clamp<Index>(at + x.reach_ahead + 1, 0, keys);
      pairs += static_cast<double>(std::max<Index>(0, end - begin));
    }
  }
  return pairs * static_cast<double>(alike ? x.heads * x.batch : x.heads);
}

// Forwards Q, K, V and O pass, backwards O, dO and the three gradients, too.
Cost cost_of(const kernels::Attention& x, bool back) {
  const double pairs = visible_pairs(x);
  const auto size = static_cast<double>(x.size), value = static_cast<double>(x.value_size);
  double queries = 0, keys = 0;
  for (Index b = 0; b < x.batch; ++b) {
    queries += static_cast<double>(x.query_lengths == nullptr ? x.queries : x.query_lengths[b]);
    keys += static_cast<double>(x.key_lengths == nullptr ? x.keys : x.key_lengths[b]);
  }
  const double of_queries = queries * static_cast<double>(x.heads), of_keys = keys * static_cast<double>(x.key_heads);
  const double once = (of_queries + of_keys) * (size + value) * bytes_of(x.type);
  if (!back) return {2 * pairs * (size + value), once};
  return {2 * pairs * (3 * size + 2 * value), 2 * once + of_queries * value * bytes_of(x.type)};
}

}  // namespace

template <class Count, class Run>
void Operators::run(std::string_view name, Count cost, Run work) {
  if (context == nullptr) {
    arena_.step();
    const Cost c = cost();
    if (planned != nullptr) planned->push_back({name, backward, 0, 0, c.operations, c.bytes});
    return;
  }
  if (profile == nullptr) return work();
  const double start = profile->now();
  work();
  const Cost c = cost();
  profile->add({name, backward, start, 0, c.operations, c.bytes});
}

void Operators::multiply(std::string_view name, const kernels::Product& p) {
  run(
      name, [&] { return cost_of(p); },
      [&] { kernels::plain::takes(type_) ? kernels::plain::multiply(*context, p) : kernels::multiply(*context, p); });
}

void Operators::finish(std::string_view name, const kernels::Finish& f) {
  const auto cost = [&] {
    double bytes = bytes_of_rows(f.rows, f.columns, f.in_type) + bytes_of_rows(f.rows, f.columns, f.out_type);
    if (f.gate != nullptr && f.gate_stride != 0) bytes += bytes_of_rows(f.rows, f.columns, f.gate_type);
    if (f.residual != nullptr && f.residual_stride != 0) bytes += bytes_of_rows(f.rows, f.columns, f.residual_type);
    if (f.slope_at != nullptr) bytes += bytes_of_rows(f.rows, f.columns, f.slope_type);
    return Cost{0, bytes};
  };
  run(name, cost,
      [&] { kernels::plain::takes(type_) ? kernels::plain::finish(*context, f) : kernels::finish(*context, f); });
}

void Operators::normalise(std::string_view name, const kernels::Normalise& n) {
  const auto cost = [&] {
    const double out = bytes_of_rows(n.rows, n.columns, n.out_type);
    return Cost{0, bytes_of_rows(n.rows, n.columns, n.in_type) + (n.standard == nullptr ? out : 2 * out)};
  };
  run(name, cost,
      [&] { kernels::plain::takes(type_) ? kernels::plain::normalise(*context, n) : kernels::normalise(*context, n); });
}

void Operators::normalise_back(std::string_view name, const kernels::NormaliseBack& n) {
  const auto cost = [&] { return Cost{0, (n.residual == nullptr ? 3 : 4) * bytes_of_rows(n.rows, n.columns, n.type)}; };
  run(name, cost, [&] {
    kernels::plain::takes(type_) ? kernels::plain::normalise_back(*context, n) : kernels::normalise_back(*context, n);
  });
}

void Operators::rotate(std::string_view name, const kernels::Rotate& r, double base) {
  run(
      name,
      [&] {
        return Cost{0, 2 * bytes_of_rows(r.rows, r.heads * r.turned, r.type)};
      },
      [&] { kernels::plain::takes(type_) ? kernels::plain::rotate(*context, r, base) : kernels::rotate(*context, r); });
}

void Operators::attend(std::string_view name, const kernels::Attention& x, AttentionCore* core) {
  run(
      name, [&] { return cost_of(x, false); },
      [&] {
        if (core != nullptr) return core->forward(*context, x);
        kernels::plain::takes(type_) ? kernels::plain::attend(*context, x) : kernels::attend(*context, x);
      });
}

void Operators::attend_back(std::string_view name, const kernels::Attention& x, AttentionCore* core) {
  run(
      name, [&] { return cost_of(x, true); },
      [&] {
        if (core != nullptr) return core->backward(*context, x);
        kernels::plain::takes(type_) ? kernels::plain::attend_back(*context, x) : kernels::attend_back(*context, x);
      });
}

void Operators::gather(std::string_view name, const Tokens& tokens, const void* padded, void* rows, Index columns) {
  if (context == nullptr) return arena_.step();  // a plan is of sequences without padding
  const auto bytes = static_cast<std::size_t>(columns * bytes_of(type_));
  run(
      name,
      [&] {
        return Cost{0, 2 * bytes_of_rows(tokens.rows(), columns, type_)};
      },
      [&] { tokens.gather(*context, padded, rows, bytes); });
}

void Operators::scatter(std::string_view name, const Tokens& tokens, const void* rows, void* padded, Index columns) {
  if (context == nullptr) return arena_.step();  // a plan is of sequences without padding
  const auto bytes = static_cast<std::size_t>(columns * bytes_of(type_));
  const auto cost = [&] {
    return Cost{0, bytes_of_rows(tokens.rows() + tokens.batch() * tokens.length(), columns, type_)};
  };
  run(name, cost, [&] { tokens.scatter(*context, rows, padded, bytes); });
}

void Operators::append(std::string_view name, const Tokens& tokens, const void* from, Index from_stride, Index columns,
                       void* to, Index first, Index sequence) {
  const Index size = bytes_of(type_);
  run(
      name,
      [&] {
        return Cost{0, 2 * bytes_of_rows(tokens.rows(), columns, type_)};
      },
      [&] {
        context->pool().run(tokens.batch(), [&](Index b, int) {
          for (Index i = 0; i < tokens.lengths()[b]; ++i) {
            std::memcpy(static_cast<char*>(to) + (first + b * sequence + i) * columns * size,
                        static_cast<const char*>(from) + (tokens.starts()[b] + i) * from_stride * size,
                        static_cast<std::size_t>(columns * size));
          }
        });
      });
}

}  // namespace orrery::layer
