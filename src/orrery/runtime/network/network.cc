// hidden = stack(embedding(tokens)); with a decoder, hidden = decoder(embedding(targets), stack(embedding(tokens))).
// The backward pass goes the same way back; gradients of words, which embeddings and a tied head share, are sums.
#include "orrery/runtime/network/network.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/rows.h"
#include "orrery/runtime/network/loss.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kEmbeddingStream = 48, kLaterStream = 49;  // of dropout
constexpr std::uint64_t kDecoderSeed = 0x6465636f646572ULL;        // its layers drop what the encoder's do not

std::size_t at_of_network(Index i) {
  return static_cast<std::size_t>(i);
}

StackShape sized(StackShape shape, Index sequences, Index length, Index memory_length) {
  shape.layer.batch = sequences, shape.layer.length = length;
  if (shape.layer.cross) shape.layer.memory_length = memory_length;
  return shape;
}

// x: the stack's own.
layer::Input input_of(const Tokens& tokens) {
  layer::Input input;
  input.batch = tokens.sequences, input.length = tokens.length;
  input.lengths = tokens.given_lengths();
  return input;
}

const Tokens& last_tokens(const Batch& batch, const Description& description) {
  return description.has_decoder() ? batch.targets : batch.tokens;
}

// fp32 of `type`, or the other way.
void convert(kernels::Context& context, const void* from, kernels::Type from_type, void* to, kernels::Type to_type,
             Index rows, Index columns) {
  kernels::Finish copy;
  copy.in = from, copy.in_type = from_type;
  copy.out = to, copy.out_type = to_type;
  copy.in_stride = copy.out_stride = copy.columns = columns;
  copy.rows = rows;
  kernels::finish(context, copy);
}

}  // namespace

Network::Network(kernels::Context& context, const Description& description, const Parameters& parameters,
                 const Size& size, bool training)
    : context_(context),
      description_(description),
      parameters_(parameters),
      size_(size),
      head_(description.head, description.width, description.epsilon, training) {
  checked(description).throw_if_errors();
  const auto workspace = std::make_shared<layer::Workspace>();
  const Description& d = description_;
  embedding_.emplace(d.embedding, d.width, d.epsilon, size.sequences * size.length, training);
  encoder_.emplace(context, sized(d.encoder, size.sequences, size.length, 0), parameters.encoder, d.epsilon, training,
                   workspace);
  if (d.has_decoder()) {
    later_.emplace(*d.later, d.width, d.epsilon, size.sequences * size.target_length, training);
    decoder_.emplace(context, sized(d.decoder, size.sequences, size.target_length, size.length), parameters.decoder,
                     d.epsilon, training, workspace);
  }
  head_.set_weights(context, parameters.head, parameters.embedding.words);
}

void Network::update() {
  encoder_->set_weights(parameters_.encoder);
  if (decoder_) decoder_->set_weights(parameters_.decoder);
  head_.set_weights(context_, parameters_.head, parameters_.embedding.words);
}

const float* Network::run(const Batch& batch, bool learning, std::uint64_t seed) {
  const Description& d = description_;
  const double dropped = learning ? d.dropout.embedding : 0;
  const std::vector<float>& words = parameters_.embedding.words;
  embedding_->forward(context_, batch.tokens, parameters_.embedding, words,
                      kernels::drop_pattern(dropped, seed, kEmbeddingStream), encoder_->input(), d.encoder.layer.type);
  const layer::Input first = input_of(batch.tokens);
  const float* hidden = learning ? encoder_->forward(first, parameters_.encoder, d.dropout.layer, seed)
                                 : encoder_->infer(first, parameters_.encoder);
  if (!decoder_) return hidden;
  later_->forward(context_, batch.targets, parameters_.later, words, kernels::drop_pattern(dropped, seed, kLaterStream),
                  decoder_->input(), d.decoder.layer.type);
  layer::Input second = input_of(batch.targets);
  second.memory = encoder_->typed_output();
  second.memory_length = batch.tokens.length;
  second.memory_lengths = batch.tokens.given_lengths();
  return learning ? decoder_->forward(second, parameters_.decoder, d.dropout.layer, seed ^ kDecoderSeed)
                  : decoder_->infer(second, parameters_.decoder);
}

const float* Network::hidden(const Batch& batch) {
  checked(batch, description_).throw_if_errors();
  return run(batch, false, 0);
}

// The rows of the last stack's output that the head reads; with labels of words, only those that have one.
std::vector<Index> Network::picked(const Batch& batch, const Labels* labels) const {
  const Tokens& tokens = last_tokens(batch, description_);
  const bool spans = description_.head.kind == HeadKind::kSpans;
  std::vector<Index> rows;
  for (Index s = 0; s < tokens.sequences; ++s) {
    const Index first = s * tokens.length, length = tokens.length_of(s);
    if (description_.head.pick == Pick::kFirst) rows.push_back(first);
    if (description_.head.pick == Pick::kLast) rows.push_back(first + length - 1);
    if (description_.head.pick != Pick::kAll) continue;
    const Index last = labels == nullptr && !spans ? tokens.length : length;
    for (Index i = first; i < first + last; ++i)
      if (labels == nullptr || spans || labels->words[at_of_network(i)] != kNoLabel) rows.push_back(i);
  }
  return rows;
}

void Network::gather(const float* hidden, const std::vector<Index>& rows) {
  const Index width = description_.width;
  picked_.resize(rows.size() * at_of_network(width));
  context_.pool().run(static_cast<Index>(rows.size()), [&](Index i, int) {
    std::memcpy(picked_.data() + i * width, hidden + rows[at_of_network(i)] * width,
                at_of_network(width) * sizeof(float));
  });
}

std::vector<float> Network::logits(const Batch& batch) {
  ORRERY_CHECK(description_.head.kind != HeadKind::kNone, "a model with a head");
  const float* const all = hidden(batch);
  const Tokens& tokens = last_tokens(batch, description_);
  std::vector<Index> rows = picked(batch, nullptr);
  if (description_.head.pick == Pick::kAll) {
    rows.resize(at_of_network(tokens.sequences * tokens.length));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Index>(i);
  }
  gather(all, rows);
  std::vector<float> out(rows.size() * at_of_network(description_.head.outputs));
  head_.logits(context_, parameters_.head, picked_.data(), static_cast<Index>(rows.size()), out.data());
  return out;
}

// `count`: how many labels the loss is the mean of.
Head::Loss Network::loss_of(const Labels& labels, const Batch& batch, const std::vector<Index>& rows, double scale,
                            double& count) {
  const Index outputs = description_.head.outputs;
  count = static_cast<double>(rows.size());
  const double each = rows.empty() ? 0 : scale / count;
  switch (description_.head.kind) {
    case HeadKind::kClassification:
      return [this, &labels, outputs, each](Index first, Index some, float* logits) {
        return cross_entropy(context_, logits, some, outputs, labels.classes.data() + first, each);
      };
    case HeadKind::kRegression:
      return [&labels, each](Index first, Index some, float* logits) {
        return squared_error(logits, some, labels.values.data() + first, each);
      };
    case HeadKind::kSpans: {
      const Tokens& tokens = last_tokens(batch, description_);
      std::vector<Index> lengths;
      for (Index s = 0; s < tokens.sequences; ++s) lengths.push_back(tokens.length_of(s));
      count = 1;  // a mean already
      return [&labels, lengths, scale](Index, Index, float* logits) {
        return span_loss(logits, lengths, labels.begins.data(), labels.ends.data(), scale);
      };
    }
    default:
      words_.clear();
      for (const Index row : rows) words_.push_back(labels.words[at_of_network(row)]);
      return [this, outputs, each](Index first, Index some, float* logits) {
        return cross_entropy(context_, logits, some, outputs, words_.data() + first, each);
      };
  }
}

double Network::loss(const Batch& batch, const Labels& labels, std::vector<float>* logits) {
  if (logits != nullptr) logits->clear();
  checked(labels, batch, description_).throw_if_errors();
  const float* const all = hidden(batch);
  const std::vector<Index> rows = picked(batch, &labels);
  if (rows.empty()) return 0;
  gather(all, rows);
  double count = 1;
  const Head::Loss loss = loss_of(labels, batch, rows, 1, count);
  // The loss leaves gradients where the logits were.
  const Head::Loss kept = [&](Index first, Index some, float* chunk) {
    if (logits != nullptr) logits->insert(logits->end(), chunk, chunk + some * description_.head.outputs);
    return loss(first, some, chunk);
  };
  const double sum = head_.loss(context_, parameters_.head, picked_.data(), static_cast<Index>(rows.size()), kept);
  return sum / count;
}

double Network::learn(const Batch& batch, const Labels& labels, std::uint64_t seed, double scale,
                      Parameters& gradients) {
  base::Diagnostics found = checked(batch, description_);
  found.append(checked(labels, batch, description_));
  found.throw_if_errors();
  const Description& d = description_;
  const float* const all = run(batch, true, seed);
  const std::vector<Index> rows = picked(batch, &labels);
  gather(all, rows);

  std::vector<float>& words = gradients.embedding.words;
  std::fill(words.begin(), words.end(), 0.0F);
  double count = 1;
  const Head::Loss loss = loss_of(labels, batch, rows, scale, count);
  gradient_.resize(picked_.size());
  const double sum = head_.learn(context_, parameters_.head, picked_.data(), static_cast<Index>(rows.size()),
                                 d.dropout.head, seed, loss, gradient_.data(), gradients.head, words);

  // The gradient of all rows of the last stack's output: zero where no label is.
  const Tokens& tokens = last_tokens(batch, d);
  spread_.assign(at_of_network(tokens.sequences * tokens.length * d.width), 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(spread_.data() + rows[i] * d.width, gradient_.data() + i * at_of_network(d.width),
                at_of_network(d.width) * sizeof(float));

  const float* above = spread_.data();
  if (decoder_) {
    const kernels::Type type = d.decoder.layer.type;
    const Index memory_rows = batch.tokens.sequences * batch.tokens.length;
    kernels::Buffer memory(at_of_network(memory_rows * d.width * kernels::bytes_of(type)));
    std::memset(memory.data(), 0, memory.bytes());
    const void* const below = decoder_->backward(above, parameters_.decoder, gradients.decoder, memory.data());
    later_->backward(context_, batch.targets, parameters_.later,
                     kernels::drop_pattern(d.dropout.embedding, seed, kLaterStream), below, type, gradients.later,
                     words);
    spread_.resize(at_of_network(memory_rows * d.width));
    convert(context_, memory.data(), type, spread_.data(), kernels::Type::kF32, memory_rows, d.width);
    above = spread_.data();
  }
  const void* const below = encoder_->backward(above, parameters_.encoder, gradients.encoder, nullptr);
  embedding_->backward(context_, batch.tokens, parameters_.embedding,
                       kernels::drop_pattern(d.dropout.embedding, seed, kEmbeddingStream), below, d.encoder.layer.type,
                       gradients.embedding, words);
  return rows.empty() ? 0 : sum / count;
}

}  // namespace orrery::network
