#include "orrery/inputs/systems/layer_data.h"

#include <cmath>
#include <string_view>

#include "orrery/base/numbers/split_mix.h"

namespace orrery::verbs {
namespace {

using kernels::Type;
using layer::Index;

constexpr std::uint32_t kNumbersBetween = 1 << 16;  // looks at the clock

// A number of a counter.
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  const std::uint64_t counter = (seed + 1 + i) * base::SplitMix::kStep + stream * 0xd1b54a32d192ed03U;
  return static_cast<double>(base::mixed(counter) >> 11) * 0x1p-52 - 1;
}

}  // namespace

LayerTensor::LayerTensor(Type type, Index count)
    : type_(type), count_(count), buffer_(static_cast<std::size_t>(count * kernels::bytes_of(type))) {}

double LayerTensor::get(Index i) const {
  switch (type_) {
    case Type::kBf16:
      return kernels::from_bf16(static_cast<const kernels::Bf16*>(data())[i]);
    case Type::kF16:
      return kernels::from_half(static_cast<const kernels::Half*>(data())[i]);
    case Type::kF64:
      return static_cast<const double*>(data())[i];
    default:
      return static_cast<const float*>(data())[i];
  }
}

void LayerTensor::set(Index i, double value) {
  switch (type_) {
    case Type::kBf16:
      static_cast<kernels::Bf16*>(data())[i] = kernels::to_bf16(static_cast<float>(value));
      break;
    case Type::kF16:
      static_cast<kernels::Half*>(data())[i] = kernels::to_half(static_cast<float>(value));
      break;
    case Type::kF64:
      static_cast<double*>(data())[i] = value;
      break;
    default:
      static_cast<float*>(data())[i] = static_cast<float>(value);
  }
}

void draw(LayerTensor& tensor, std::uint64_t seed, std::uint64_t stream, const base::Budget& budget) {
  base::Ticker ticker(budget, kNumbersBetween);
  for (Index i = 0; i < tensor.count() && !ticker.spent(); ++i)
    tensor.set(i, uniform(seed, stream, static_cast<std::uint64_t>(i)));
}

std::vector<WeightName> weight_names(const layer::Shape& s) {
  const Index queries = s.query_width(), keys = s.key_width();
  return {{"qkv", queries + 2 * keys},
          {"qkv_bias", 0},
          {"out", s.width},
          {"out_bias", 0},
          {"up", s.hidden},
          {"up_bias", 0},
          {"gate", s.hidden},
          {"gate_bias", 0},
          {"down", s.width},
          {"down_bias", 0},
          {"scale1", 0},
          {"shift1", 0},
          {"scale2", 0},
          {"shift2", 0},
          {"cross_query", queries},
          {"cross_query_bias", 0},
          {"cross_key_value", 2 * keys},
          {"cross_key_value_bias", 0},
          {"cross_out", s.width},
          {"cross_out_bias", 0},
          {"cross_scale", 0},
          {"cross_shift", 0}};
}

layer::Weights drawn_weights(const layer::Shape& shape, std::uint64_t seed, const base::Budget& budget) {
  base::Ticker ticker(budget, kNumbersBetween);
  layer::Weights weights;
  const std::vector<WeightName> names = weight_names(shape);
  const auto sizes = layer::Weights::sizes(shape);
  std::uint64_t stream = 100;
  for (std::size_t part = 0; part < names.size() && !budget.spent(); ++part, ++stream) {
    std::vector<float>& values = *weights.all()[part];
    const Index rows = names[part].rows, count = sizes[part];
    const bool scale = std::string_view(names[part].name).find("scale") != std::string_view::npos;
    // Evenly from -a to a has the variance a^2 / 3.
    const double most =
        rows > 0 && count > 0 ? std::sqrt(3.0 * static_cast<double>(rows) / static_cast<double>(count)) : 0.1;
    values.reserve(static_cast<std::size_t>(count));  // not resized: pages are touched under the clock
    for (Index i = 0; i < count && !ticker.spent(); ++i)
      values.push_back(
          static_cast<float>((scale ? 1 : 0) + most * uniform(seed, stream, static_cast<std::uint64_t>(i))));
  }
  return weights;
}

}  // namespace orrery::verbs
