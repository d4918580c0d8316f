#include "orrery/engines/masks/prediction/gathered_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"

namespace orrery::masks {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Type;
using kernels::Vectors;

// Whether vectors lie as predictors want them, none of them padding, which may hold anything.
bool lies_flat(const Attention& x, const Vectors& v, Index positions, const Index* lengths) {
  return x.type == Type::kF32 && lengths == nullptr && v.position == x.size &&
         (x.heads == 1 || v.head == positions * x.size) && (x.batch == 1 || v.batch == x.heads * positions * x.size);
}

template <class Element, class Number>
void copy_vector(const void* data, Index at, Index size, float* to, const Number& number) {
  const Element* from = static_cast<const Element*>(data) + at;
  for (Index i = 0; i < size; ++i) to[i] = number(from[i]);
}

void copy_vector(const void* data, Type type, Index at, Index size, float* to) {
  switch (type) {
    case Type::kBf16:
      return copy_vector<kernels::Bf16>(data, at, size, to, kernels::from_bf16);
    case Type::kF16:
      return copy_vector<kernels::Half>(data, at, size, to, kernels::from_half);
    case Type::kF64:
      return copy_vector<double>(data, at, size, to, [](double x) { return static_cast<float>(x); });
    default:
      return copy_vector<float>(data, at, size, to, [](float x) { return x; });
  }
}

// The vectors of one side: queries, or keys or values that `group` heads share.
struct Side {
  const Vectors& vectors;
  Index size, positions;
  const Index *lengths, *starts;
  Index group;
  float factor;
};

void copy(kernels::Context& context, const Attention& x, const Side& side, std::vector<float>& room) {
  const Vectors& v = side.vectors;
  const Index positions = side.positions, size = side.size;
  room.resize(static_cast<std::size_t>(x.batch * x.heads * positions * size));
  context.pool().run(x.batch * x.heads, [&](Index matrix, int) {
    const Index b = matrix / x.heads, h = matrix % x.heads;
    const Index there = side.lengths == nullptr ? positions : side.lengths[b];
    const Index begin = (side.starts == nullptr ? b * v.batch : side.starts[b] * v.position) + h / side.group * v.head;
    float* const to = room.data() + matrix * positions * size;
    for (Index p = 0; p < there; ++p) copy_vector(v.data, x.type, begin + p * v.position, size, to + p * size);
    if (side.factor != 1)
      for (Index i = 0; i < there * size; ++i) to[i] *= side.factor;
    std::fill_n(to + there * size, (positions - there) * size, 0.0F);
  });
}

const float* flat(kernels::Context& context, const Attention& x, const Side& side, std::vector<float>& room) {
  if (side.group == 1 && side.factor == 1 && lies_flat(x, side.vectors, side.positions, side.lengths))
    return static_cast<const float*>(side.vectors.data);
  copy(context, x, side, room);
  return room.data();
}

void own(const float*& data, base::Count count, std::vector<float>& room) {
  if (data == room.data()) return;
  room.assign(data, data + count);
  data = room.data();
}

void mark(const Attention& x, Index positions, const Index* lengths, std::vector<std::uint8_t>& to) {
  to.clear();
  if (lengths == nullptr) return;
  for (Index b = 0; b < x.batch; ++b)
    for (Index p = 0; p < positions; ++p) to.push_back(p < lengths[b] ? 1 : 0);
}

}  // namespace

std::string unpredictable(const Attention& x) {
  if (x.bias != nullptr && (x.bias_head != 0 || x.bias_query != 0)) return "a bias of its own is added to each score";
  if (x.reach_back >= 0) return fmt::format("queries see the last {} keys only", x.reach_back + 1);
  if (x.reach_ahead > 0 || (x.reach_ahead == 0 && x.query_offset != x.keys - x.queries))
    return fmt::format("query 0 of {} sees keys up to number {} of {}, not up to its own place from the end", x.queries,
                       x.query_offset + x.reach_ahead, x.keys);
  return {};
}

void gather_shape(const Attention& x, AttentionInput& into) {
  into.shape = {x.batch, x.heads, x.queries, x.keys};
  into.depth = x.size;
  into.causal = x.reach_ahead == 0 && x.reach_back < 0 && x.query_offset == x.keys - x.queries;
  mark(x, x.queries, x.query_lengths, into.valid_rows);
  mark(x, x.keys, x.key_lengths, into.valid_columns);
  if (x.bias == nullptr || x.bias_head != 0 || x.bias_query != 0) return;
  if (into.valid_columns.empty()) into.valid_columns.assign(static_cast<std::size_t>(x.batch * x.keys), 1);
  for (Index b = 0; b < x.batch; ++b)
    for (Index k = 0; k < x.keys; ++k)
      if (std::isinf(x.bias[b * x.bias_batch + k])) into.valid_columns[static_cast<std::size_t>(b * x.keys + k)] = 0;
}

void gather(kernels::Context& context, const Attention& x, bool scaled, Gathered& into) {
  gather_shape(x, into.input);
  const auto scale = static_cast<float>(x.scale);
  into.input.scale = scaled ? 1.0F : scale;
  into.input.query = flat(
      context, x, {x.query, x.size, x.queries, x.query_lengths, x.query_starts, 1, scaled ? scale : 1.0F}, into.query);
  into.input.key =
      flat(context, x, {x.key, x.size, x.keys, x.key_lengths, x.key_starts, x.heads / x.key_heads, 1}, into.key);
}

void gather_values(kernels::Context& context, const Attention& x, std::vector<float>& into) {
  copy(context, x, {x.value, x.value_size, x.keys, x.key_lengths, x.key_starts, x.heads / x.key_heads, 1}, into);
}

void own(Gathered& gathered) {
  AttentionInput& input = gathered.input;
  own(input.query, input.shape.matrices() * input.shape.rows * input.depth, gathered.query);
  own(input.key, input.shape.matrices() * input.shape.columns * input.depth, gathered.key);
}

}  // namespace orrery::masks
