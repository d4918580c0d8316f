#include "orrery/runtime/layer/state.h"

#include <cmath>

#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::layer {

LayerState::LayerState(const Shape& given, bool train, std::vector<Operator>* planned)
    : shape(given),
      training(train),
      op(arena, given.type),
      qkv_map(given.width, given.qkv_width(), given.type, train),
      out_map(given.query_width(), given.width, given.type, train),
      up_map(given.width, given.hidden, given.type, train),
      gate_map(given.width, given.hidden, given.type, train),
      down_map(given.hidden, given.width, given.type, train),
      cross_query_map(given.width, given.query_width(), given.type, train),
      cross_kv_map(given.memory(), 2 * given.key_width(), given.type, train),
      cross_out_map(given.query_width(), given.width, given.type, train) {
  const Index rows = shape.batch * shape.length, memory = shape.cross ? shape.batch * shape.memory_length : 0;
  const Index width = shape.width, queries = shape.query_width(), keys = 2 * shape.key_width();
  for (Ref* r : {&x_rows, &y_rows, &x_again, &dy_rows, &dx_rows}) *r = room(rows, width);
  for (Ref* r : {&memory_rows, &memory_again, &dmemory_rows}) *r = room(memory, shape.memory());
  for (int k = 0; k < kSublayers; ++k) {
    for (Ref* r : {&stream[k], &read[k], &norms[k].standard, &again[k], &behind[k], &top[k], &into[k], &gradient[k]})
      *r = room(rows, width);
    norms[k].inverse = numbers(rows);
  }
  qkv = room(rows, shape.qkv_width()), d_qkv = room(rows, shape.qkv_width());
  for (Ref* r : {&heads, &d_heads, &cross_query, &cross_heads, &d_cross_heads, &d_cross_query})
    *r = room(rows, queries);
  for (Ref* r : {&cross_kv, &d_cross_kv}) *r = room(memory, keys);
  for (Ref* r : {&ungated, &before, &hidden, &hidden_again, &d_before, &d_ungated}) *r = room(rows, shape.hidden);
  d_through_gate = room(rows, width);
  for (Ref* r : {&log_sum, &cross_log_sum}) *r = numbers(rows * shape.heads);

  // A pass in which nothing is computed, with all that a call may have: padding, dropout, a gradient of the memory.
  op.planned = planned;
  for (kernels::DropPattern& pattern : drop) pattern.threshold = 1;
  tokens.pretend(shape.batch, shape.length);
  memory_tokens.pretend(shape.batch, shape.memory_length);
  char any = 0;
  forward(&any);
  if (training) {
    arena.boundary();
    Weights none{Shape{}};
    backward(&any, {&any, &any, true}, none);
  }
  arena.place();
  op.planned = nullptr;
}

Ref LayerState::room(Index rows, Index columns) {
  return {arena.add(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns * bytes_of(shape.type)))};
}

Ref LayerState::numbers(Index count) {
  return {arena.add(static_cast<std::size_t>(count) * (shape.type == kernels::Type::kF64 ? 8 : 4))};
}

void LayerState::set_weights(kernels::Context& context, const Weights& w) {
  qkv_map.set(context, w.qkv, w.qkv_bias);
  out_map.set(context, w.out, w.out_bias);
  up_map.set(context, w.up, w.up_bias);
  if (shape.gated) gate_map.set(context, w.gate, w.gate_bias);
  down_map.set(context, w.down, w.down_bias);
  norms[kAttention].scale = w.scale1, norms[kAttention].shift = w.shift1;
  norms[kNetwork].scale = w.scale2, norms[kNetwork].shift = w.shift2;
  if (!shape.cross) return;
  cross_query_map.set(context, w.cross_query, w.cross_query_bias);
  cross_kv_map.set(context, w.cross_key_value, w.cross_key_value_bias);
  cross_out_map.set(context, w.cross_out, w.cross_out_bias);
  norms[kCross].scale = w.cross_scale, norms[kCross].shift = w.cross_shift;
}

void LayerState::begin(const Input& given, Cache* kept) {
  input = given;
  cache = kept;
  const Index past = kept == nullptr ? 0 : kept->tokens_;
  tokens.set(given.batch, given.length, given.lengths, past);
  if (shape.cross) memory_tokens.set(given.batch, given.memory_length, given.memory_lengths);
  if (shape.rotary != Rotary::kNone) know_positions(past + given.length);
}

// Angles of rotary positions, of which there are ever more with a cache.
void LayerState::know_positions(Index count) {
  if (count <= turned_positions || kernels::plain::takes(shape.type)) return;
  const Index turned = shape.turned(), half = turned / 2;
  cosines.resize(static_cast<std::size_t>(count * half));
  sines.resize(cosines.size());
  for (Index i = 0; i < half; ++i) {
    const double frequency = std::pow(shape.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(turned));
    for (Index p = turned_positions; p < count; ++p) {
      const auto at = static_cast<std::size_t>(p * half + i);
      cosines[at] = static_cast<float>(std::cos(static_cast<double>(p) * frequency));
      sines[at] = static_cast<float>(std::sin(static_cast<double>(p) * frequency));
    }
  }
  turned_positions = count;
}

}  // namespace orrery::layer
