// The layer as a chain of products that finish themselves: bias, activation, dropout, residual and norm are done on a
// product's blocks while they are in the cache, so that each activation is written once and read once.
//
// Kept for the backward pass, for X = tokens * width and F = tokens * hidden elements: Q, K, V (3 X), the heads'
// outputs (X), both norms' rows before scale and shift (2 X), what the activation was applied to (F), and a few numbers
// a token. The norms' outputs and the hidden activation are computed again: one multiplication an element. With hidden
// = 4 width, 10 X: 84 MB in bf16 at 8 x 512 tokens of BERT-large.
//
// Gradients: with y = W x + b, dx = W^T dy, dW = dy^T x and db the sums of dy's columns, taken while dy^T is packed.
#include "orrery/layer/encoder.h"

#include <cmath>

#include "orrery/base/check.h"
#include "orrery/kernels/attention.h"
#include "orrery/kernels/dropout.h"
#include "orrery/kernels/product.h"
#include "orrery/kernels/rows.h"

namespace orrery::layer {

using kernels::Activation;
using kernels::Beside;
using kernels::Buffer;
using kernels::DropPattern;
using kernels::Operand;
using kernels::PackedOperand;
using kernels::Precision;
using kernels::Product;
using kernels::Type;

Weights::Weights(const Shape& s)
    : qkv(3 * s.width * s.width),
      qkv_bias(3 * s.width),
      out(s.width * s.width),
      out_bias(s.width),
      up(s.hidden * s.width),
      up_bias(s.hidden),
      gate(s.gated ? s.hidden * s.width : 0),
      gate_bias(s.gated ? s.hidden : 0),
      down(s.width * s.hidden),
      down_bias(s.width),
      scale1(s.width, 1.0F),
      shift1(s.width),
      scale2(s.width, 1.0F),
      shift2(s.width) {}

std::vector<std::vector<float>*> Weights::all() {
  return {&qkv,       &qkv_bias, &out,       &out_bias, &up,     &up_bias, &gate,
          &gate_bias, &down,     &down_bias, &scale1,   &shift1, &scale2,  &shift2};
}

namespace {

Activation slope_of(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return Activation::kReluSlope;
    case Activation::kGelu:
      return Activation::kGeluSlope;
    default:
      return Activation::kSiluSlope;
  }
}

void check(const Shape& s) {
  ORRERY_CHECK(s.batch >= 1 && s.length >= 1 && s.width >= 1 && s.heads >= 1 && s.hidden >= 1, "sizes are at least 1");
  ORRERY_CHECK(s.width % s.heads == 0, "heads divide the width");
  ORRERY_CHECK(s.width / s.heads <= 512, "a head has at most 512 elements");
  ORRERY_CHECK(
      s.activation == Activation::kRelu || s.activation == Activation::kGelu || s.activation == Activation::kSilu,
      "the activation is ReLU, GELU or SiLU");
  ORRERY_CHECK(s.type == Type::kF32 || s.type == Type::kBf16, "a layer is of fp32 or bf16");
}

// A linear map y = W x + b, packed for x -> y and, when training, for dy -> dx.
struct Linear {
  PackedOperand forward, backward;
  const float* bias = nullptr;
  Index inputs = 0, outputs = 0;

  void pack(kernels::Context& context, const std::vector<float>& weights, const std::vector<float>& given_bias,
            Index in, Index out, Precision precision, bool training) {
    inputs = in, outputs = out, bias = given_bias.data();
    forward = kernels::pack(context, {weights.data(), Type::kF32, 1, in}, in, out, precision, std::move(forward));
    if (training)
      backward = kernels::pack(context, {weights.data(), Type::kF32, in, 1}, out, in, precision, std::move(backward));
  }
};

}  // namespace

struct Encoder::State {
  kernels::Context& context;
  Shape shape;
  Weights weights;
  bool training;
  Index tokens, size;
  Precision precision;
  Linear qkv_map, out_map, up_map, gate_map, down_map;
  // Kept until backward().
  Buffer qkv, heads, standard1, standard2, before, ungated, log_sum, inverse1, inverse2;
  // Passing.
  Buffer normed, stream, hidden, wide, wider, narrow1, narrow2, qkv_gradient;
  const void* input = nullptr;
  std::vector<Index> lengths;
  DropPattern drop[4];

  State(kernels::Context& on, const Shape& given, const Weights& w, bool train)
      : context(on),
        shape(given),
        weights(w),
        training(train),
        tokens(given.batch * given.length),
        size(given.heads == 0 ? 0 : given.width / given.heads),
        precision(given.type == Type::kF32 ? Precision::kF32 : Precision::kBf16) {
    qkv = room(3 * shape.width);
    heads = room(shape.width);
    normed = room(shape.width);
    stream = room(shape.width);
    hidden = room(shape.hidden);
    if (shape.gated) ungated = room(shape.hidden);
    if (!training) return;
    standard1 = room(shape.width);
    standard2 = room(shape.width);
    before = room(shape.hidden);
    log_sum = Buffer(static_cast<std::size_t>(tokens * shape.heads) * 4);
    inverse1 = Buffer(static_cast<std::size_t>(tokens) * 4);
    inverse2 = Buffer(static_cast<std::size_t>(tokens) * 4);
    wide = room(shape.hidden);
    if (shape.gated) wider = room(shape.hidden);
    narrow1 = room(shape.width);
    narrow2 = room(shape.width);
    qkv_gradient = room(3 * shape.width);
  }

  Buffer room(Index columns) const { return Buffer(static_cast<std::size_t>(tokens * columns * bytes_of(shape.type))); }

  void pack() {
    const Index i = shape.width, u = shape.hidden;
    qkv_map.pack(context, weights.qkv, weights.qkv_bias, i, 3 * i, precision, training);
    out_map.pack(context, weights.out, weights.out_bias, i, i, precision, training);
    up_map.pack(context, weights.up, weights.up_bias, i, u, precision, training);
    if (shape.gated) gate_map.pack(context, weights.gate, weights.gate_bias, i, u, precision, training);
    down_map.pack(context, weights.down, weights.down_bias, u, i, precision, training);
  }

  Beside rows(const void* data, Index columns) const { return {const_cast<void*>(data), shape.type, columns, 0}; }

  // c = W x + b, to be completed by the caller.
  Product apply(const Linear& map, const void* x, void* c) const {
    Product p;
    p.rows = tokens, p.columns = map.outputs, p.depth = map.inputs, p.precision = precision;
    p.a = {x, shape.type, map.inputs};
    p.packed_b = &map.forward;
    p.bias = map.bias;
    p.c = rows(c, map.outputs);
    return p;
  }

  // dx = W^T dy.
  Product apply_back(const Linear& map, const void* dy, void* dx) const {
    Product p;
    p.rows = tokens, p.columns = map.inputs, p.depth = map.outputs, p.precision = precision;
    p.a = {dy, shape.type, map.outputs};
    p.packed_b = &map.backward;
    p.c = rows(dx, map.inputs);
    return p;
  }

  // dW = dy^T x and db.
  void weight_gradient(const Linear& map, const void* dy, const void* x, std::vector<float>& dw,
                       std::vector<float>& db) const {
    Product p;
    p.rows = map.outputs, p.columns = map.inputs, p.depth = tokens, p.precision = precision;
    p.a = {dy, shape.type, 1, map.outputs};
    p.b = {x, shape.type, map.inputs};
    p.c = {dw.data(), Type::kF32, map.inputs, 0};
    p.row_sums = db.data();
    kernels::multiply(context, p);
  }

  kernels::NormaliseRows norm(bool second, void* out) {
    kernels::NormaliseRows n;
    n.centred = shape.centred;
    n.epsilon = shape.epsilon;
    n.scale = (second ? weights.scale2 : weights.scale1).data();
    n.shift = (second ? weights.shift2 : weights.shift1).data();
    n.out = rows(out, shape.width);
    n.standard = (second ? standard2 : standard1).data();
    n.inverse = static_cast<float*>((second ? inverse2 : inverse1).data());
    return n;
  }

  void normalise_input(const void* x, void* out) {
    const kernels::NormaliseRows n = norm(false, out);
    kernels::Normalise f;
    f.in = x, f.in_type = f.out_type = shape.type, f.rows = tokens, f.columns = shape.width;
    f.in_stride = f.out_stride = f.standard_stride = shape.width;
    f.centred = n.centred, f.epsilon = n.epsilon, f.scale = n.scale, f.shift = n.shift, f.out = out,
    f.standard = n.standard, f.inverse = n.inverse;
    kernels::normalise(context, f);
  }

  // A norm's output from its rows before scale and shift.
  void scale_and_shift(const Buffer& standard, const std::vector<float>& scale, const std::vector<float>& shift,
                       void* out) const {
    kernels::Finish f;
    f.in = standard.data(), f.in_type = f.out_type = shape.type, f.rows = tokens, f.columns = shape.width;
    f.in_stride = f.out_stride = shape.width;
    f.gate = scale.data(), f.residual = shift.data();  // stride 0: the same for every row
    f.out = out;
    kernels::finish(context, f);
  }

  // to = from with the pattern's factors.
  const void* dropped(const DropPattern& pattern, const void* from, void* to) const {
    if (pattern.threshold == 0) return from;
    kernels::Finish f;
    f.in = from, f.in_type = f.out_type = shape.type, f.rows = tokens, f.columns = shape.width;
    f.in_stride = f.out_stride = shape.width, f.drop = pattern, f.out = to;
    kernels::finish(context, f);
    return to;
  }

  kernels::Attention attention() const {
    kernels::Attention a;
    a.type = shape.type, a.batch = shape.batch, a.heads = a.key_heads = shape.heads;
    a.queries = a.keys = shape.length, a.size = a.value_size = size;
    a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
    if (shape.causal) a.reach_ahead = 0;
    if (!lengths.empty()) a.key_lengths = a.query_lengths = lengths.data();
    const auto third = [&](const Buffer& all, Index i) {
      return kernels::Vectors{static_cast<char*>(all.data()) + i * shape.width * bytes_of(shape.type),
                              shape.length * 3 * shape.width, size, 3 * shape.width};
    };
    const auto plain = [&](const Buffer& all) {
      return kernels::Vectors{all.data(), shape.length * shape.width, size, shape.width};
    };
    a.query = third(qkv, 0), a.key = third(qkv, 1), a.value = third(qkv, 2);
    a.out = plain(heads);
    a.log_sum = static_cast<float*>(log_sum.data());
    a.drop = drop[0];
    if (training) {
      a.out_gradient = plain(narrow2);
      a.query_gradient = third(qkv_gradient, 0), a.key_gradient = third(qkv_gradient, 1);
      a.value_gradient = third(qkv_gradient, 2);
    }
    return a;
  }

  void forward(const void* x, void* y, const Index* valid) {
    input = x;
    lengths.assign(valid, valid == nullptr ? valid : valid + shape.batch);
    const bool pre = shape.norms == Place::kPre;
    if (pre) normalise_input(x, normed.data());
    kernels::multiply(context, apply(qkv_map, pre ? normed.data() : x, qkv.data()));
    kernels::attend(context, attention());

    Product out = apply(out_map, heads.data(), pre ? stream.data() : nullptr);
    out.drop = drop[1];
    out.residual = rows(x, shape.width);
    out.normalise = norm(pre, normed.data());
    kernels::multiply(context, out);

    if (shape.gated) kernels::multiply(context, apply(up_map, normed.data(), ungated.data()));
    Product up = apply(shape.gated ? gate_map : up_map, normed.data(), hidden.data());
    if (shape.gated) up.gate = rows(ungated.data(), shape.hidden);
    up.activation = shape.activation;
    up.drop = drop[2];
    if (training) up.before = rows(before.data(), shape.hidden);
    kernels::multiply(context, up);

    Product down = apply(down_map, hidden.data(), pre ? y : nullptr);
    down.drop = drop[3];
    down.residual = rows(pre ? stream.data() : normed.data(), shape.width);
    if (!pre) down.normalise = norm(true, y);
    kernels::multiply(context, down);
  }

  void norm_back(bool second, const void* gradient, const void* residual, void* out, Weights& gradients) {
    kernels::NormaliseBack b;
    b.gradient = gradient, b.standard = (second ? standard2 : standard1).data();
    b.inverse = static_cast<float*>((second ? inverse2 : inverse1).data());
    b.type = shape.type, b.centred = shape.centred, b.rows = tokens, b.columns = shape.width;
    b.gradient_stride = b.standard_stride = b.residual_stride = b.out_stride = shape.width;
    b.scale = (second ? weights.scale2 : weights.scale1).data();
    b.residual = residual, b.out = out;
    b.scale_gradient = (second ? gradients.scale2 : gradients.scale1).data();
    b.shift_gradient = (second ? gradients.shift2 : gradients.shift1).data();
    kernels::normalise_back(context, b);
  }

  // drop2(f(what the activation was applied to)), to be completed by the caller.
  kernels::Finish hidden_chain() const {
    kernels::Finish f;
    f.in = before.data(), f.in_type = f.out_type = f.gate_type = f.slope_type = shape.type;
    f.rows = tokens, f.columns = shape.hidden;
    f.in_stride = f.out_stride = f.gate_stride = f.slope_stride = shape.hidden;
    f.activation = shape.activation, f.drop = drop[2];
    return f;
  }

  // From the gradient of f(g) u in `wide` to that of u (in `wider`) and of g (in `wide`), and of g's weights.
  void gate_back(Weights& gradients) {
    kernels::Finish f = hidden_chain();
    f.gate = wide.data(), f.out = wider.data();
    kernels::finish(context, f);
    f.in = wide.data(), f.activation = slope_of(shape.activation), f.slope_at = before.data();
    f.gate = ungated.data(), f.out = wide.data();
    kernels::finish(context, f);
    weight_gradient(gate_map, wide.data(), normed.data(), gradients.gate, gradients.gate_bias);
  }

  void backward(const void* dy, void* dx, Weights& gradients) {
    const bool pre = shape.norms == Place::kPre;
    // The feed-forward network. `stream` holds the gradient of the residual stream behind it.
    const void* behind = dy;
    if (!pre) {
      norm_back(true, dy, nullptr, stream.data(), gradients);
      behind = stream.data();
    }
    const void* t = dropped(drop[3], behind, narrow1.data());
    kernels::Finish again = hidden_chain();  // the hidden activation
    again.out = hidden.data();
    if (shape.gated) again.gate = ungated.data();
    kernels::finish(context, again);
    weight_gradient(down_map, t, hidden.data(), gradients.down, gradients.down_bias);
    const Buffer& standard = pre ? standard2 : standard1;
    scale_and_shift(standard, pre ? weights.scale2 : weights.scale1, pre ? weights.shift2 : weights.shift1,
                    normed.data());
    Product up = apply_back(down_map, t, wide.data());
    if (!shape.gated) {
      up.activation = slope_of(shape.activation);
      up.slope_at = rows(before.data(), shape.hidden);
      up.drop = drop[2];
    }
    kernels::multiply(context, up);
    const void* added = pre ? nullptr : behind;  // to the gradient of the network's input
    if (shape.gated) {
      gate_back(gradients);
      Product through_gate = apply_back(gate_map, wide.data(), narrow2.data());
      through_gate.residual = rows(added, shape.width);
      kernels::multiply(context, through_gate);
      added = narrow2.data();
    }
    const Buffer& change = shape.gated ? wider : wide;
    weight_gradient(up_map, change.data(), normed.data(), gradients.up, gradients.up_bias);
    Product into = apply_back(up_map, change.data(), narrow2.data());
    into.residual = rows(added, shape.width);
    kernels::multiply(context, into);

    // Attention. `stream` becomes the gradient of the stream before the feed-forward network.
    norm_back(pre, narrow2.data(), pre ? behind : nullptr, stream.data(), gradients);
    t = dropped(drop[1], stream.data(), narrow1.data());
    weight_gradient(out_map, t, heads.data(), gradients.out, gradients.out_bias);
    kernels::multiply(context, apply_back(out_map, t, narrow2.data()));
    kernels::attend_back(context, attention());
    const void* x = input;
    if (pre) {
      scale_and_shift(standard1, weights.scale1, weights.shift1, normed.data());
      x = normed.data();
    }
    weight_gradient(qkv_map, qkv_gradient.data(), x, gradients.qkv, gradients.qkv_bias);
    Product last = apply_back(qkv_map, qkv_gradient.data(), pre ? narrow1.data() : dx);
    if (!pre) last.residual = rows(stream.data(), shape.width);
    kernels::multiply(context, last);
    if (pre) norm_back(false, narrow1.data(), stream.data(), dx, gradients);
  }
};

void Encoder::Release::operator()(State* state) const {
  delete state;
}

Encoder::Encoder(kernels::Context& context, const Shape& shape, const Weights& weights, bool training) {
  check(shape);
  state_.reset(new State(context, shape, weights, training));
  set_weights(weights);
}

void Encoder::set_weights(const Weights& weights) {
  Weights given = weights;
  Weights wanted(state_->shape);
  const auto sizes = wanted.all(), found = given.all();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    ORRERY_CHECK(sizes[i]->size() == found[i]->size(), "weights fit the shape");
  state_->weights = std::move(given);
  state_->pack();
}

void Encoder::infer(const void* x, void* y, const Index* lengths) {
  for (DropPattern& pattern : state_->drop) pattern = {};
  state_->forward(x, y, lengths);
}

void Encoder::forward(const void* x, void* y, const Dropout& dropout, std::uint64_t seed, const Index* lengths) {
  ORRERY_CHECK(state_->training, "the layer was made for training");
  const double probabilities[] = {dropout.attention, dropout.first, dropout.hidden, dropout.second};
  for (std::uint32_t i = 0; i < 4; ++i) state_->drop[i] = kernels::drop_pattern(probabilities[i], seed, i);
  state_->forward(x, y, lengths);
}

void Encoder::backward(const void* dy, void* dx, Weights& gradients) {
  ORRERY_CHECK(state_->training && state_->input != nullptr, "forward() comes before backward()");
  state_->backward(dy, dx, gradients);
}

std::size_t Encoder::saved_bytes() const {
  std::size_t bytes = 0;
  for (const Buffer* kept : {&state_->qkv, &state_->heads, &state_->standard1, &state_->standard2, &state_->before,
                             &state_->ungated, &state_->log_sum, &state_->inverse1, &state_->inverse2}) {
    bytes += kept->bytes();
  }
  return bytes;
}

}  // namespace orrery::layer
