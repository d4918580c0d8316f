// Forwards: a chain of products that finish themselves. Bias, activation, dropout, residual and norm are done on a
// product's blocks while they are in the cache, so that each activation is written once and read once.
#include "orrery/runtime/layer/state.h"

namespace orrery::layer {

using kernels::Product;

namespace {

constexpr const char* kNormNames[] = {"norm1", "cross norm", "norm2"};

// Which sublayer's norm stands before the branch behind this one.
Sublayer behind_of(Sublayer sublayer, bool cross) {
  return sublayer == kAttention && cross ? kCross : kNetwork;
}

}  // namespace

void LayerState::forward(void* y) {
  const Ref x = gathered("gather x", tokens, input.x, x_rows, shape.width);
  Flow flow{x, x};
  if (pre()) {
    const kernels::NormaliseRows n = norm(kAttention, read[kAttention]);
    kernels::Normalise f;
    f.in = at(x), f.in_type = f.out_type = shape.type, f.rows = tokens.rows(), f.columns = shape.width;
    f.in_stride = f.out_stride = f.standard_stride = shape.width;
    f.centred = n.centred, f.epsilon = n.epsilon, f.scale = n.scale, f.shift = n.shift, f.out = n.out.data;
    f.standard = n.standard, f.inverse = n.inverse;
    op.normalise(kNormNames[kAttention], f);
    flow.read = read[kAttention];
  }
  flow = attention_forward(flow);
  if (shape.cross) flow = cross_forward(flow);
  const bool scattered = planning() || tokens.padded();
  network_forward(flow, scattered ? y_rows : Ref::of(y));
  if (scattered) op.scatter("scatter y", tokens, at(y_rows), y, shape.width);
  if (cache != nullptr) cache->tokens_ += tokens.length();
}

// The rows of a padded tensor, itself where it has no padding.
Ref LayerState::gathered(const char* name, const Tokens& rows, const void* padded, Ref to, Index columns) {
  if (!planning() && !rows.padded()) return Ref::of(padded);
  op.gather(name, rows, padded, at(to), columns);
  return to;
}

kernels::NormaliseRows LayerState::norm(Sublayer sublayer, Ref out) {
  const Norm& of = norms[sublayer];
  kernels::NormaliseRows n;
  n.centred = shape.centred;
  n.epsilon = shape.epsilon;
  n.scale = of.scale.data();
  n.shift = of.shift.empty() ? nullptr : of.shift.data();
  n.out = rows_of(out, shape.width);
  if (training) {
    n.standard = at(of.standard);
    n.inverse = static_cast<float*>(at(of.inverse));
  }
  return n;
}

// The end of a branch: dropout, the residual and the norm behind the sum or before the next branch.
LayerState::Flow LayerState::close(Product& product, Sublayer sublayer, const Flow& flow, Ref y) {
  const bool last = sublayer == kNetwork;
  const Ref sum = last ? y : stream[sublayer];
  product.residual = rows_of(flow.stream, shape.width);
  if (!pre()) {
    product.c.data = nullptr;
    product.normalise = norm(sublayer, sum);
    return {sum, sum};
  }
  product.c = rows_of(sum, shape.width);
  if (last) return {sum, sum};
  const Sublayer next = behind_of(sublayer, shape.cross);
  product.normalise = norm(next, read[next]);
  return {sum, read[next]};
}

// Turns queries and keys, or their gradients back.
void LayerState::rotate(Ref all, bool back) {
  if (shape.rotary == Rotary::kNone) return;
  kernels::Rotate r;
  r.data = at(all), r.type = shape.type, r.rows = tokens.rows(), r.row_stride = shape.qkv_width();
  r.heads = shape.heads + shape.kv_heads(), r.head_stride = shape.head();
  r.turned = shape.turned();
  r.pairs = shape.rotary == Rotary::kPairs, r.back = back;
  r.positions = tokens.positions(), r.cosines = cosines.data(), r.sines = sines.data();
  op.rotate(back ? "d_rotary" : "rotary", r, shape.rotary_base);
}

// Of this layer's own tokens, or of those before in the cache, too.
kernels::Attention LayerState::attention() {
  kernels::Attention a;
  const Index size = shape.head(), stride = shape.qkv_width(), keys = 2 * shape.key_width();
  a.type = shape.type, a.batch = tokens.batch(), a.heads = shape.heads, a.key_heads = shape.kv_heads();
  a.queries = a.keys = tokens.length(), a.size = a.value_size = size;
  a.scale = shape.score_factor();
  if (shape.causal) a.reach_ahead = 0;
  if (shape.window != 0) {
    a.reach_back = shape.window - 1;
    if (!shape.causal) a.reach_ahead = shape.window - 1;
  }
  const auto part = [&](Ref all, Index first) {
    return kernels::Vectors{static_cast<char*>(at(all)) + first * bytes_of(shape.type), tokens.length() * stride, size,
                            stride};
  };
  const Index key = shape.query_width(), value = key + shape.key_width();
  a.query = part(qkv, 0);
  if (cache != nullptr) {
    a.query_offset = cache->tokens_;
    a.keys += cache->tokens_;
    char* kept = static_cast<char*>(cache->self_.data());
    a.key = {kept, cache->capacity_ * keys, size, keys};
    a.value = {kept + shape.key_width() * bytes_of(shape.type), cache->capacity_ * keys, size, keys};
  } else {
    a.key = part(qkv, key), a.value = part(qkv, value);
  }
  if (tokens.padded()) {
    a.key_lengths = a.query_lengths = tokens.lengths();
    a.key_starts = a.query_starts = tokens.starts();
  }
  a.bias = input.mask.data, a.bias_batch = input.mask.batch, a.bias_head = input.mask.head,
  a.bias_query = input.mask.query;
  a.out = {at(heads), tokens.length() * shape.query_width(), size, shape.query_width()};
  a.drop = drop[kDropScores];
  if (training) a.log_sum = static_cast<float*>(at(log_sum));
  if (op.backward) {
    a.out_gradient = {at(d_heads), a.out.batch, size, a.out.position};
    a.query_gradient = part(d_qkv, 0), a.key_gradient = part(d_qkv, key), a.value_gradient = part(d_qkv, value);
  }
  return a;
}

kernels::Attention LayerState::cross_attention() {
  kernels::Attention a;
  const Index size = shape.head(), stride = shape.query_width(), keys = 2 * shape.key_width();
  a.type = shape.type, a.batch = tokens.batch(), a.heads = shape.heads, a.key_heads = shape.kv_heads();
  a.queries = tokens.length(), a.keys = memory_tokens.length(), a.size = a.value_size = size;
  a.scale = shape.score_factor();
  const auto of_queries = [&](Ref all) { return kernels::Vectors{at(all), tokens.length() * stride, size, stride}; };
  const auto of_keys = [&](void* all, Index first) {
    return kernels::Vectors{static_cast<char*>(all) + first * bytes_of(shape.type), memory_tokens.length() * keys, size,
                            keys};
  };
  a.query = of_queries(cross_query), a.out = of_queries(cross_heads);
  void* kept = cache != nullptr ? cache->memory_.data() : at(cross_kv);
  a.key = of_keys(kept, 0), a.value = of_keys(kept, shape.key_width());
  if (tokens.padded()) a.query_lengths = tokens.lengths(), a.query_starts = tokens.starts();
  if (memory_tokens.padded()) a.key_lengths = memory_tokens.lengths(), a.key_starts = memory_tokens.starts();
  a.bias = input.memory_mask.data, a.bias_batch = input.memory_mask.batch, a.bias_head = input.memory_mask.head,
  a.bias_query = input.memory_mask.query;
  a.drop = drop[kDropCrossScores];
  if (training) a.log_sum = static_cast<float*>(at(cross_log_sum));
  if (op.backward) {
    a.out_gradient = of_queries(d_cross_heads), a.query_gradient = of_queries(d_cross_query);
    a.key_gradient = of_keys(at(d_cross_kv), 0), a.value_gradient = of_keys(at(d_cross_kv), shape.key_width());
  }
  return a;
}

// New keys and values go behind those in the cache.
void LayerState::remember() {
  if (cache == nullptr) return;
  const char* from = static_cast<const char*>(at(qkv)) + shape.query_width() * bytes_of(shape.type);
  op.append("cache", tokens, from, shape.qkv_width(), 2 * shape.key_width(), cache->self_.data(), cache->tokens_,
            cache->capacity_);
}

// The heads' outputs to the end of their branch.
LayerState::Flow LayerState::project(const char* name, const Linear& map, Ref from, DropPlace place, Sublayer sublayer,
                                     const Flow& flow) {
  Product out = map.apply(tokens.rows(), at(from), nullptr);
  out.drop = drop[place];
  const Flow next = close(out, sublayer, flow, {});
  op.multiply(name, out);
  return next;
}

LayerState::Flow LayerState::attention_forward(const Flow& flow) {
  op.multiply("qkv", qkv_map.apply(tokens.rows(), at(flow.read), at(qkv)));
  rotate(qkv, false);
  remember();
  op.attend("attention", attention(), core);
  return project("out", out_map, heads, kDropFirst, kAttention, flow);
}

LayerState::Flow LayerState::cross_forward(const Flow& flow) {
  op.multiply("cross query", cross_query_map.apply(tokens.rows(), at(flow.read), at(cross_query)));
  if (cache == nullptr || !cache->has_memory_) {
    const Ref memory = gathered("gather memory", memory_tokens, input.memory, memory_rows, shape.memory());
    void* to = cache != nullptr ? cache->memory_.data() : at(cross_kv);
    op.multiply("cross keys", cross_kv_map.apply(memory_tokens.rows(), at(memory), to));
    if (cache != nullptr) cache->has_memory_ = true;
  }
  op.attend("cross attention", cross_attention(), cross_core);
  return project("cross out", cross_out_map, cross_heads, kDropCross, kCross, flow);
}

void LayerState::network_forward(const Flow& flow, Ref y) {
  if (shape.gated) op.multiply("up", up_map.apply(tokens.rows(), at(flow.read), at(ungated)));
  Product up = (shape.gated ? gate_map : up_map).apply(tokens.rows(), at(flow.read), at(hidden));
  if (shape.gated) up.gate = rows_of(ungated, shape.hidden);
  up.activation = shape.activation;
  up.drop = drop[kDropHidden];
  if (training) up.before = rows_of(before, shape.hidden);
  op.multiply(shape.gated ? "gate" : "up", up);
  Product down = down_map.apply(tokens.rows(), at(hidden), nullptr);
  down.drop = drop[kDropSecond];
  close(down, kNetwork, flow, y);
  op.multiply("down", down);
}

}  // namespace orrery::layer
