#include "orrery/runtime/layer/encoder.h"

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/layer/state.h"

namespace orrery::layer {
namespace {

void refuse(std::string message, std::string note) {
  base::Diagnostics found;
  found.error("O1513", std::move(message)).note(std::move(note));
  found.throw_if_errors();
}

// The call with its sizes filled in; throws what is wrong with it.
Input checked_input(const Shape& shape, Input in) {
  if (in.batch == 0) in.batch = shape.batch;
  if (in.length == 0) in.length = shape.length;
  if (in.memory_length == 0) in.memory_length = shape.memory_length;
  if (in.batch < 0 || in.batch > shape.batch || in.length < 0 || in.length > shape.length) {
    refuse(fmt::format("a layer is given {} sequences of {} tokens", in.batch, in.length),
           fmt::format("its memory is planned for {} of {}", shape.batch, shape.length));
  }
  checked(in.lengths, in.batch, in.length).throw_if_errors();
  if (!shape.cross) return in;
  if (in.memory_length < 0 || in.memory_length > shape.memory_length) {
    refuse(fmt::format("a layer is given a memory of {} tokens", in.memory_length),
           fmt::format("its memory is planned for {}", shape.memory_length));
  }
  checked(in.memory_lengths, in.batch, in.memory_length).throw_if_errors();
  return in;
}

}  // namespace

void Encoder::Release::operator()(LayerState* state) const {
  delete state;
}

Encoder::Encoder(kernels::Context& context, const Shape& shape, const Weights& weights, bool training,
                 std::shared_ptr<Workspace> workspace) {
  checked(shape).throw_if_errors();
  checked(weights, shape).throw_if_errors();
  state_.reset(new LayerState(shape, training));
  LayerState& s = *state_;
  s.arena.take(std::move(workspace));
  s.op.context = &context;
  s.tokens.reserve(shape.batch, shape.length);
  if (shape.cross) s.memory_tokens.reserve(shape.batch, shape.memory_length);
  if (shape.rotary != Rotary::kNone) s.know_positions(shape.length);
  s.set_weights(context, weights);
}

void Encoder::set_weights(const Weights& weights) {
  checked(weights, state_->shape).throw_if_errors();
  state_->set_weights(*state_->op.context, weights);
}

void Encoder::infer(const void* x, void* y, const Index* lengths) {
  Input in;
  in.x = x, in.lengths = lengths;
  infer(in, y);
}

void Encoder::infer(const Input& input, void* y) {
  for (kernels::DropPattern& pattern : state_->drop) pattern = {};
  state_->ready = false;
  state_->begin(checked_input(state_->shape, input), nullptr);
  state_->forward(y);
}

void Encoder::infer(const Input& input, void* y, Cache& cache) {
  const Input in = checked_input(state_->shape, input);
  ORRERY_CHECK(in.lengths == nullptr, "sequences in a cache have the same number of tokens");
  if (in.batch != cache.batch() || cache.tokens() + in.length > cache.capacity()) {
    refuse(fmt::format("a cache is given {} more tokens for each of {} sequences", in.length, in.batch),
           fmt::format("it has {} of at most {} for each of {}", cache.tokens(), cache.capacity(), cache.batch()));
  }
  for (kernels::DropPattern& pattern : state_->drop) pattern = {};
  state_->ready = false;
  state_->begin(in, &cache);
  state_->forward(y);
}

void Encoder::forward(const void* x, void* y, const Dropout& dropout, std::uint64_t seed, const Index* lengths) {
  Input in;
  in.x = x, in.lengths = lengths;
  forward(in, y, dropout, seed);
}

void Encoder::forward(const Input& input, void* y, const Dropout& dropout, std::uint64_t seed) {
  ORRERY_CHECK(state_->training, "the layer was made for training");
  checked(dropout).throw_if_errors();
  const double probabilities[] = {dropout.attention, dropout.first,           dropout.hidden,
                                  dropout.second,    dropout.cross_attention, dropout.cross};
  for (std::uint32_t i = 0; i < kDropPlaces; ++i) state_->drop[i] = kernels::drop_pattern(probabilities[i], seed, i);
  state_->begin(checked_input(state_->shape, input), nullptr);
  state_->forward(y);
  state_->ready = true;
}

void Encoder::backward(const void* dy, void* dx, Weights& gradients) {
  backward(dy, InputGradients{dx, nullptr, false}, gradients);
}

void Encoder::backward(const void* dy, const InputGradients& dx, Weights& gradients) {
  ORRERY_CHECK(state_->training && state_->ready, "forward() comes before backward()");
  checked(gradients, state_->shape).throw_if_errors();
  state_->backward(dy, dx, gradients);
}

void Encoder::replace_attention(AttentionCore* core) {
  state_->core = core;
}

void Encoder::replace_cross_attention(AttentionCore* core) {
  state_->cross_core = core;
}

void Encoder::attach(Profile* profile) {
  state_->op.profile = profile;
}

const Shape& Encoder::shape() const {
  return state_->shape;
}

std::size_t Encoder::saved_bytes() const {
  return state_->arena.kept_bytes();
}

std::size_t Encoder::passing_bytes() const {
  return state_->arena.passing_bytes();
}

}  // namespace orrery::layer
