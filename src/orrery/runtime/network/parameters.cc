#include "orrery/runtime/network/parameters.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/dropout.h"

namespace orrery::network {
namespace {

std::vector<float> room(Index rows, Index columns = 1) {
  return std::vector<float>(static_cast<std::size_t>(rows * columns));
}

std::vector<float> ones(Index count) {
  return std::vector<float>(static_cast<std::size_t>(count), 1.0F);
}

EmbeddingWeights embedding_weights(const EmbeddingShape& shape, Index width, bool with_words) {
  EmbeddingWeights weights;
  if (with_words) weights.words = room(shape.words, width);
  weights.positions = room(shape.positions, width);
  weights.types = room(shape.types, width);
  if (shape.norm) weights.scale = ones(width), weights.shift = room(width);
  return weights;
}

StackWeights stack_weights(const StackShape& shape, Index width) {
  StackWeights weights;
  weights.layers.assign(static_cast<std::size_t>(shape.layers), layer::Weights(shape.layer));
  if (shape.final_norm) weights.scale = ones(width), weights.shift = room(width);
  return weights;
}

HeadWeights head_weights(const HeadShape& shape, Index width) {
  HeadWeights weights;
  if (shape.kind == HeadKind::kNone) return weights;
  if (shape.dense) weights.dense = room(width, width), weights.dense_bias = room(width);
  if (shape.norm) weights.scale = ones(width), weights.shift = room(width);
  if (!shape.tied) weights.out = room(shape.outputs, width);
  if (shape.bias) weights.out_bias = room(shape.outputs);
  return weights;
}

// The order of layer::Weights::all().
constexpr const char* kLayerNames[] = {"qkv",
                                       "qkv_bias",
                                       "out",
                                       "out_bias",
                                       "up",
                                       "up_bias",
                                       "gate",
                                       "gate_bias",
                                       "down",
                                       "down_bias",
                                       "scale1",
                                       "shift1",
                                       "scale2",
                                       "shift2",
                                       "cross_query",
                                       "cross_query_bias",
                                       "cross_key_value",
                                       "cross_key_value_bias",
                                       "cross_out",
                                       "cross_out_bias",
                                       "cross_scale",
                                       "cross_shift"};

bool is_vector(std::string_view name) {
  return name.find("bias") != std::string_view::npos || name.find("scale") != std::string_view::npos ||
         name.find("shift") != std::string_view::npos;
}

class Lister {
 public:
  void add(const std::string& name, std::vector<float>& values, bool learns = true) {
    if (!values.empty()) out.push_back({name, &values, !is_vector(name.substr(name.rfind('.') + 1)), learns});
  }
  void embedding(const std::string& prefix, EmbeddingWeights& weights) {
    add(prefix + ".words", weights.words);
    add(prefix + ".positions", weights.positions);
    add(prefix + ".types", weights.types);
    add(prefix + ".scale", weights.scale);
    add(prefix + ".shift", weights.shift);
  }
  void stack(const std::string& prefix, StackWeights& weights) {
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
      const auto all = weights.layers[i].all();
      static_assert(layer::Weights::kParts == std::size(kLayerNames), "names for all of a layer's weights");
      for (std::size_t w = 0; w < all.size(); ++w) add(fmt::format("{}.{}.{}", prefix, i, kLayerNames[w]), *all[w]);
    }
    add(prefix + ".scale", weights.scale);
    add(prefix + ".shift", weights.shift);
  }
  std::vector<Parameter> out;
};

constexpr double kDeviation = 0.02;

// A stream of random numbers for each parameter, by its place in the list. Two numbers of a normal distribution from
// two of a uniform one (G. Box, M. Muller, 1958).
void draw(std::vector<float>& values, std::uint32_t stream, std::uint64_t seed, double deviation) {
  const auto key = std::array{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto low = static_cast<std::uint32_t>(i), high = static_cast<std::uint32_t>(std::uint64_t{i} >> 32);
    const std::array<std::uint32_t, 4> bits = kernels::philox({low, high, stream, 0x696e6974}, key);
    const double radius = deviation * std::sqrt(-2 * std::log((bits[0] + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * (bits[1] * 0x1p-32);
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

Parameters::Parameters(const Description& description)
    : embedding(embedding_weights(description.embedding, description.width, true)),
      encoder(stack_weights(description.encoder, description.width)),
      decoder(stack_weights(description.decoder, description.width)),
      head(head_weights(description.head, description.width)) {
  if (description.later) later = embedding_weights(*description.later, description.width, false);
}

double matrix_numbers(const Description& d) {
  const auto product = [](Index a, Index b) { return static_cast<double>(a) * static_cast<double>(b); };
  const auto stack = [&](const StackShape& of) {
    const layer::Shape& s = of.layer;
    double each = product(s.width, s.qkv_width()) + product(s.width, s.query_width());
    each += (s.gated ? 3 : 2) * product(s.width, s.hidden);
    if (s.cross) each += 2 * product(s.width, s.query_width()) + 2 * product(s.memory(), s.key_width());
    return static_cast<double>(of.layers) * each;
  };
  double sum = product(d.embedding.words + d.embedding.positions + d.embedding.types, d.width) + stack(d.encoder);
  if (d.later) sum += product(d.later->positions, d.width);
  return d.has_decoder() ? sum + stack(d.decoder) : sum;
}

std::vector<Parameter> list(Parameters& parameters, const Description& description) {
  Lister lister;
  lister.embedding("embedding", parameters.embedding);
  lister.stack("encoder", parameters.encoder);
  lister.embedding("later", parameters.later);
  lister.stack("decoder", parameters.decoder);
  HeadWeights& head = parameters.head;
  lister.add("head.dense", head.dense);
  lister.add("head.dense_bias", head.dense_bias);
  lister.add("head.scale", head.scale);
  lister.add("head.shift", head.shift);
  lister.add("head.out", head.out);
  lister.add("head.out_bias", head.out_bias, description.head.bias_learns);
  return std::move(lister.out);
}

void add(Parameters& to, const Parameters& from) {
  // list() needs the description for what it tells beside the values only.
  const Description any;
  const std::vector<Parameter> targets = list(to, any);
  const std::vector<Parameter> sources = list(const_cast<Parameters&>(from), any);
  ORRERY_CHECK(targets.size() == sources.size(), "parameters of one description");
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (std::size_t k = 0; k < targets[i].values->size(); ++k) (*targets[i].values)[k] += (*sources[i].values)[k];
}

void initialise(Parameters& parameters, const Description& description, std::uint64_t seed, double deviation) {
  std::uint32_t stream = 0;
  for (const Parameter& parameter : list(parameters, description)) {
    ++stream;
    if (parameter.decays) draw(*parameter.values, stream, seed, deviation);
  }
}

void initialise_head(Parameters& parameters, const Description& description, std::uint64_t seed) {
  std::uint32_t stream = 0;
  for (const Parameter& parameter : list(parameters, description)) {
    ++stream;
    if (parameter.decays && parameter.name.starts_with("head.")) draw(*parameter.values, stream, seed, kDeviation);
  }
}

}  // namespace orrery::network
