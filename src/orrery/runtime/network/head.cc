// logits = out drop(norm(squash(dense drop(x)))). Rows are taken so many at a time that their logits are 32 MB,
// forwards, to the loss and backwards at once: the logits of 8 x 512 tokens and 50,257 words would be 823 MB. Gradients
// of weights are summed over these chunks in order.
#include "orrery/runtime/network/head.h"

#include <algorithm>
#include <cmath>

#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/rows.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kFirstStream = 64, kLastStream = 65;  // of dropout; layers and embeddings have others

float squashed(Squash squash, float x) {
  switch (squash) {
    case Squash::kNone:
      return x;
    case Squash::kTanh:
      return std::tanh(x);
    case Squash::kGelu:
      return 0.5F * x * (1 + std::erf(x * 0.70710678F));
    case Squash::kGeluTanh:
      return 0.5F * x * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
    case Squash::kRelu:
      return x > 0 ? x : 0;
    case Squash::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

float slope(Squash squash, float x) {
  switch (squash) {
    case Squash::kNone:
      return 1;
    case Squash::kTanh: {
      const float y = std::tanh(x);
      return 1 - y * y;
    }
    case Squash::kGelu:
      return 0.5F * (1 + std::erf(x * 0.70710678F)) + x * 0.39894228F * std::exp(-0.5F * x * x);
    case Squash::kGeluTanh: {
      const float y = std::tanh(0.79788456F * (x + 0.044715F * x * x * x));
      return 0.5F * (1 + y) + 0.5F * x * (1 - y * y) * 0.79788456F * (1 + 3 * 0.044715F * x * x);
    }
    case Squash::kRelu:
      return x > 0 ? 1 : 0;
    case Squash::kSilu: {
      const float s = 1 / (1 + std::exp(-x));
      return s * (1 + x * (1 - s));
    }
  }
  return 1;
}

template <class Function>
void for_elements(kernels::Context& context, Index count, const Function& function) {
  constexpr Index kElements = 4096;
  context.pool().run((count + kElements - 1) / kElements, [&](Index task, int) {
    for (Index i = task * kElements; i < std::min(count, (task + 1) * kElements); ++i) function(i);
  });
}

void add(std::vector<float>& to, const std::vector<float>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

// Rows on their way: x -> dropped -> before -> squashed -> normed -> kept -> logits.
struct Head::Chunk {
  Index first = 0, rows = 0;
  kernels::DropPattern drop_first, drop_last;
  std::vector<float> dropped, before, normed, standard, inverse, kept, logits;
  const float* into_dense = nullptr;
  const float* into_out = nullptr;
};

Head::Head(const HeadShape& shape, Index width, float epsilon, bool training)
    : shape_(shape),
      width_(width),
      epsilon_(epsilon),
      dense_(width, width, kernels::Type::kF32, training),
      out_(width, shape.outputs, kernels::Type::kF32, training) {}

void Head::set_weights(kernels::Context& context, const HeadWeights& weights, const std::vector<float>& words) {
  if (shape_.kind == HeadKind::kNone) return;
  if (shape_.dense) dense_.set(context, weights.dense, weights.dense_bias);
  out_.set(context, shape_.tied ? words : weights.out, weights.out_bias);
}

Index Head::chunk_rows(Index rows) const {
  constexpr Index kMostLogits = Index{8} << 20;
  // The loss of a span looks at all tokens of a sequence.
  if (shape_.kind == HeadKind::kSpans) return std::max<Index>(rows, 1);
  return std::clamp<Index>(kMostLogits / shape_.outputs, 32, std::max<Index>(rows, 32));
}

void Head::forward(kernels::Context& context, const HeadWeights& weights, const float* x, Chunk& chunk) const {
  const Index count = chunk.rows * width_;
  const auto size = static_cast<std::size_t>(count);
  const auto drop = [&](const float* from, const kernels::DropPattern& pattern, std::vector<float>& to) {
    to.resize(size);
    kernels::Finish rows;
    rows.in = from, rows.in_stride = width_;
    rows.rows = chunk.rows, rows.columns = width_;
    rows.first_row = chunk.first;
    rows.drop = pattern;
    rows.out = to.data(), rows.out_stride = width_;
    kernels::finish(context, rows);
    return to.data();
  };
  const float* at = x;
  if (chunk.drop_first.threshold != 0) at = drop(at, chunk.drop_first, chunk.dropped);
  chunk.into_dense = at;
  if (shape_.dense) {
    chunk.before.resize(size), chunk.normed.resize(size);
    kernels::multiply(context, dense_.apply(chunk.rows, at, chunk.before.data()));
    for_elements(context, count, [&](Index i) { chunk.normed[i] = squashed(shape_.squash, chunk.before[i]); });
    at = chunk.normed.data();
  }
  if (shape_.norm) {
    chunk.normed.resize(size), chunk.standard.resize(size);
    chunk.inverse.resize(static_cast<std::size_t>(chunk.rows));
    kernels::Normalise norm;
    norm.in = at, norm.in_stride = norm.out_stride = norm.standard_stride = width_;
    norm.rows = chunk.rows, norm.columns = width_;
    norm.epsilon = epsilon_;
    norm.scale = weights.scale.data(), norm.shift = weights.shift.data();
    norm.out = chunk.normed.data(), norm.standard = chunk.standard.data(), norm.inverse = chunk.inverse.data();
    kernels::normalise(context, norm);
    at = chunk.normed.data();
  }
  if (chunk.drop_last.threshold != 0) at = drop(at, chunk.drop_last, chunk.kept);
  chunk.into_out = at;
  chunk.logits.resize(static_cast<std::size_t>(chunk.rows * shape_.outputs));
  kernels::multiply(context, out_.apply(chunk.rows, at, chunk.logits.data()));
}

void Head::backward(kernels::Context& context, const HeadWeights& weights, Chunk& chunk, float* dx,
                    HeadWeights& gradients, std::vector<float>& words) const {
  const Index count = chunk.rows * width_;
  const auto weight_gradient = [&](const layer::Linear& map, const float* dy, const float* from, std::vector<float>& dw,
                                   std::vector<float>& db) {
    std::vector<float> sums(db.size());
    kernels::Product product = map.weight_gradient(chunk.rows, dy, from, dw, sums);
    product.add = true;
    kernels::multiply(context, product);
    add(db, sums);
  };
  const auto drop = [&](const kernels::DropPattern& pattern) {
    if (pattern.threshold == 0) return;
    kernels::Finish rows;
    rows.in = rows.out = dx;
    rows.in_stride = rows.out_stride = width_;
    rows.rows = chunk.rows, rows.columns = width_;
    rows.first_row = chunk.first;
    rows.drop = pattern;
    kernels::finish(context, rows);
  };
  weight_gradient(out_, chunk.logits.data(), chunk.into_out, shape_.tied ? words : gradients.out, gradients.out_bias);
  kernels::multiply(context, out_.apply_back(chunk.rows, chunk.logits.data(), dx));
  drop(chunk.drop_last);
  if (shape_.norm) {
    std::vector<float> scale(gradients.scale.size()), shift(gradients.shift.size());
    kernels::NormaliseBack norm;
    norm.gradient = dx, norm.standard = chunk.standard.data(), norm.inverse = chunk.inverse.data();
    norm.gradient_stride = norm.standard_stride = norm.out_stride = width_;
    norm.rows = chunk.rows, norm.columns = width_;
    norm.scale = weights.scale.data();
    norm.out = dx;
    norm.scale_gradient = scale.data(), norm.shift_gradient = shift.data();
    kernels::normalise_back(context, norm);
    add(gradients.scale, scale), add(gradients.shift, shift);
  }
  if (shape_.dense) {
    std::vector<float>& gradient = chunk.before;
    for_elements(context, count, [&](Index i) { gradient[i] = dx[i] * slope(shape_.squash, chunk.before[i]); });
    weight_gradient(dense_, gradient.data(), chunk.into_dense, gradients.dense, gradients.dense_bias);
    kernels::multiply(context, dense_.apply_back(chunk.rows, gradient.data(), dx));
  }
  drop(chunk.drop_first);
}

// Forwards some rows at a time; the sum of what `then` says of each chunk.
template <class Then>
double Head::each_chunk(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, Chunk& chunk,
                        const Then& then) const {
  const Index step = chunk_rows(rows);
  double sum = 0;
  for (chunk.first = 0; chunk.first < rows; chunk.first += step) {
    chunk.rows = std::min(step, rows - chunk.first);
    forward(context, weights, x + chunk.first * width_, chunk);
    sum += then();
  }
  return sum;
}

void Head::logits(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, float* out) {
  Chunk chunk;
  each_chunk(context, weights, x, rows, chunk, [&] {
    std::copy(chunk.logits.begin(), chunk.logits.end(), out + chunk.first * shape_.outputs);
    return 0.0;
  });
}

double Head::loss(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, const Loss& loss) {
  Chunk chunk;
  return each_chunk(context, weights, x, rows, chunk,
                    [&] { return loss(chunk.first, chunk.rows, chunk.logits.data()); });
}

double Head::learn(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, double dropout,
                   std::uint64_t seed, const Loss& loss, float* dx, HeadWeights& gradients, std::vector<float>& words) {
  for (std::vector<float>* const sum : {&gradients.dense, &gradients.dense_bias, &gradients.scale, &gradients.shift,
                                        &gradients.out, &gradients.out_bias})
    std::fill(sum->begin(), sum->end(), 0.0F);
  Chunk chunk;
  if (shape_.drop_first) chunk.drop_first = kernels::drop_pattern(dropout, seed, kFirstStream);
  chunk.drop_last = kernels::drop_pattern(dropout, seed, kLastStream);
  return each_chunk(context, weights, x, rows, chunk, [&] {
    const double part = loss(chunk.first, chunk.rows, chunk.logits.data());
    backward(context, weights, chunk, dx + chunk.first * width_, gradients, words);
    return part;
  });
}

}  // namespace orrery::network
