#include "orrery/runtime/layer/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace orrery::layer {

using kernels::Activation;
using kernels::Type;

namespace {

constexpr std::string_view kNames[] = {"qkv",
                                       "qkv bias",
                                       "out",
                                       "out bias",
                                       "up",
                                       "up bias",
                                       "gate",
                                       "gate bias",
                                       "down",
                                       "down bias",
                                       "scale 1",
                                       "shift 1",
                                       "scale 2",
                                       "shift 2",
                                       "cross query",
                                       "cross query bias",
                                       "cross keys and values",
                                       "cross keys and values bias",
                                       "cross out",
                                       "cross out bias",
                                       "cross scale",
                                       "cross shift"};

}  // namespace

std::array<Index, Weights::kParts> Weights::sizes(const Shape& s) {
  const Index qkv = s.qkv_bias ? 1 : 0, output = s.out_bias ? 1 : 0, network = s.network_bias ? 1 : 0;
  const Index shift = s.shift ? 1 : 0;
  const Index gate = s.gated ? 1 : 0, cross = s.cross ? 1 : 0;
  const Index queries = s.query_width(), keys = 2 * s.key_width();
  return {s.qkv_width() * s.width,
          qkv * s.qkv_width(),
          s.width * queries,
          output * s.width,
          s.hidden * s.width,
          network * s.hidden,
          gate * s.hidden * s.width,
          gate * network * s.hidden,
          s.width * s.hidden,
          network * s.width,
          s.width,
          shift * s.width,
          s.width,
          shift * s.width,
          cross * queries * s.width,
          cross * qkv * queries,
          cross * keys * s.memory(),
          cross * qkv * keys,
          cross * s.width * queries,
          cross * output * s.width,
          cross * s.width,
          cross * shift * s.width};
}

Weights::Weights(const Shape& shape) {
  const auto counts = sizes(shape);
  const auto parts = all();
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->resize(static_cast<std::size_t>(counts[i]));
  for (std::vector<float>* scale : {&scale1, &scale2, &cross_scale}) std::fill(scale->begin(), scale->end(), 1.0F);
}

std::array<std::vector<float>*, Weights::kParts> Weights::all() {
  return {&qkv,
          &qkv_bias,
          &out,
          &out_bias,
          &up,
          &up_bias,
          &gate,
          &gate_bias,
          &down,
          &down_bias,
          &scale1,
          &shift1,
          &scale2,
          &shift2,
          &cross_query,
          &cross_query_bias,
          &cross_key_value,
          &cross_key_value_bias,
          &cross_out,
          &cross_out_bias,
          &cross_scale,
          &cross_shift};
}

std::array<const std::vector<float>*, Weights::kParts> Weights::all() const {
  const auto parts = const_cast<Weights*>(this)->all();
  std::array<const std::vector<float>*, kParts> same;
  std::copy(parts.begin(), parts.end(), same.begin());
  return same;
}

namespace {

constexpr Index kLargestSize = Index{1} << 24, kLargestHead = 512;
constexpr double kMostElements = 0x1p46;

void check_sizes(const Shape& s, base::Diagnostics& found) {
  const std::pair<std::string_view, Index> sizes[] = {{"number of sequences", s.batch},
                                                      {"number of tokens", s.length},
                                                      {"width", s.width},
                                                      {"number of heads", s.heads},
                                                      {"hidden width", s.hidden}};
  const auto check = [&](std::string_view name, Index size, Index least) {
    if (size < least) {
      found.error("O1503", fmt::format("the {} of a layer is {}", name, size))
          .note(fmt::format("it is at least {}", least));
    } else if (size > kLargestSize) {
      found.error("O1508", fmt::format("the {} of a layer is {}", name, size))
          .note(fmt::format("it is at most 2^24 = {}", kLargestSize));
    }
  };
  for (const auto& [name, size] : sizes) check(name, size, 1);
  check("size of a head", s.head_size, 0);
  check("number of key heads", s.key_heads, 0);
  check("window", s.window, 0);
  check("memory's width", s.memory_width, 0);
  if (s.cross) check("number of tokens of the memory", s.memory_length, 1);
}

void check_heads(const Shape& s, base::Diagnostics& found) {
  if (s.head_size == 0 && s.width % s.heads != 0) {
    found.error("O1504", fmt::format("{} heads do not divide the width {}", s.heads, s.width))
        .note(fmt::format("{} = {} x {} + {}", s.width, s.heads, s.width / s.heads, s.width % s.heads))
        .hint("give the size of a head, where it is not width / heads");
  }
  if (s.heads % s.kv_heads() != 0) {
    found.error("O1504", fmt::format("{} heads of keys do not divide {} heads of queries", s.kv_heads(), s.heads))
        .note(fmt::format("{} = {} x {} + {}", s.heads, s.kv_heads(), s.heads / s.kv_heads(), s.heads % s.kv_heads()));
  }
  const Index head = s.head();
  if (head > kLargestHead) {
    found.error("O1505", fmt::format("a head of {} elements", head))
        .note(s.head_size != 0 ? std::string("it has at most 512")
                               : fmt::format("{} / {} = {}, and a head has at most 512", s.width, s.heads, head))
        .hint("more heads");
  }
  const Index turned = s.turned();
  if (s.rotary != Rotary::kNone && (turned < 2 || turned % 2 != 0 || turned > head)) {
    found.error("O1509", fmt::format("rotary positions turn {} of a head's {} elements", turned, head))
        .note("they turn pairs: an even number, at most the whole head");
  }
}

// Tensors' sizes in bytes must be counts, with room to spare.
void check_products(const Shape& s, base::Diagnostics& found) {
  const auto d = [](Index i) { return static_cast<double>(i); };
  const auto check = [&](std::string_view what, double rows, double columns) {
    if (rows * columns <= kMostElements) return;
    found.error("O1508", fmt::format("{} of {:g} x {:g} elements", what, rows, columns))
        .note(fmt::format("{:g} x {:g} = {:g}, and a tensor has at most 2^46 = {:g}", rows, columns, rows * columns,
                          kMostElements));
  };
  const double widest = std::max({d(s.width), d(s.hidden), d(s.heads + 2 * s.kv_heads()) * d(s.head()), d(s.memory())});
  check("a tensor", d(s.batch) * d(s.length), widest);
  if (s.cross) check("a tensor of the memory", d(s.batch) * d(s.memory_length), widest);
  check("weights", std::max(d(s.width), d(s.memory())), widest);
}

void check_options(const Shape& s, base::Diagnostics& found) {
  const bool known = s.activation == Activation::kRelu || s.activation == Activation::kGelu ||
                     s.activation == Activation::kSilu || s.activation == Activation::kGeluTanh;
  if (!known) {
    found.error("O1510", "the activation of the layer is unknown").note("it is ReLU, GELU, GELU by tanh or SiLU");
  }
  if (s.type != Type::kF32 && s.type != Type::kBf16 && s.type != Type::kF16 && s.type != Type::kF64) {
    found.error("O1510", "a layer does not compute in whole numbers").note("its type is fp32, bf16, fp16 or fp64");
  }
  if (!(s.epsilon >= 0) || !std::isfinite(s.epsilon))
    found.error("O1510", fmt::format("a norm's epsilon of {}", s.epsilon)).note("it is a number of at least 0");
  if (!std::isfinite(s.score_scale))
    found.error("O1510", fmt::format("scores multiplied by {}", s.score_scale)).note("the factor is a number");
  if (s.rotary != Rotary::kNone && !(s.rotary_base > 0 && std::isfinite(s.rotary_base)))
    found.error("O1510", fmt::format("rotary positions of base {}", s.rotary_base)).note("the base is above 0");
}

}  // namespace

base::Diagnostics checked(const Shape& shape) {
  base::Diagnostics found;
  check_sizes(shape, found);
  check_options(shape, found);
  if (found.has_errors()) return found;
  check_heads(shape, found);
  check_products(shape, found);
  return found;
}

base::Diagnostics checked(const Index* lengths, Index batch, Index length) {
  base::Diagnostics found;
  for (Index b = 0; lengths != nullptr && b < batch; ++b) {
    if (lengths[b] >= 0 && lengths[b] <= length) continue;
    found.error("O1506", fmt::format("sequence {} of a batch has {} tokens", b + 1, lengths[b]))
        .note(fmt::format("its mask has room for 0 to {}", length));
  }
  return found;
}

base::Diagnostics checked(const Dropout& dropout) {
  base::Diagnostics found;
  const std::pair<std::string_view, double> places[] = {
      {"the probabilities of attention", dropout.attention},
      {"the output of attention", dropout.first},
      {"the network's activation", dropout.hidden},
      {"the output of the network", dropout.second},
      {"the probabilities of cross attention", dropout.cross_attention},
      {"the output of cross attention", dropout.cross}};
  for (const auto& [place, probability] : places) {
    if (probability >= 0 && probability < 1) continue;
    found.error("O1511", fmt::format("dropout of {} with probability {}", place, probability))
        .note("a probability of dropout is at least 0 and less than 1");
  }
  return found;
}

base::Diagnostics checked(const Weights& weights, const Shape& shape) {
  base::Diagnostics found;
  const auto parts = weights.all();
  const auto counts = Weights::sizes(shape);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (parts[i]->size() == static_cast<std::size_t>(counts[i])) continue;
    found.error("O1512", fmt::format("the weights `{}` do not fit the layer", kNames[i]))
        .note(fmt::format("{} numbers where the shape has {}", parts[i]->size(), counts[i]));
  }
  return found;
}

}  // namespace orrery::layer
