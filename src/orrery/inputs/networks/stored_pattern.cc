#include "orrery/inputs/networks/stored_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {
namespace {

using base::Count;
using formats::checkpoint::Tensor;

constexpr std::string_view kBuffer = ".static_sparsity_mask";
constexpr const char* kWayOut = "say which mask is meant: `--static KIND|FILE`";

bool is_pattern(const Tensor& tensor) {
  return std::string_view(tensor.name).ends_with(kBuffer);
}

// 1 for what is kept.
std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const std::vector<float> values = formats::checkpoint::as_floats(tensor);
  const auto all = [&](auto fits) { return std::all_of(values.begin(), values.end(), fits); };
  const bool zeros = all([](float x) { return x == 0; });
  const bool bits = all([](float x) { return x == 0 || x == 1; });
  const bool added = all([](float x) { return x == 0 || x <= -1000; });
  if (zeros || (!bits && !added))
    base::fail("O1882",
               fmt::format("`{}` is no static mask: {}", tensor.name,
                           zeros ? "it holds nothing but zeros, which keep all or nothing"
                                 : "its numbers are neither 0 and 1 nor 0 and -10000"),
               {}, kWayOut);
  std::vector<std::uint8_t> out;
  for (const float x : values) out.push_back((bits ? x == 1 : x == 0) ? 1 : 0);
  return out;
}

}  // namespace

bool has_stored_pattern(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), is_pattern);
}

masks::Mask stored_pattern(const std::vector<Tensor>& tensors, Count heads, Count tokens) {
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (!is_pattern(tensor)) continue;
    if (first == nullptr) {
      first = &tensor;
    } else if (tensor.shape != first->shape || tensor.element != first->element || tensor.bytes != first->bytes) {
      base::fail("O1882", fmt::format("`{}` and `{}` are different masks", first->name, tensor.name), {},
                 fmt::format("one mask is of all layers here; {}", kWayOut));
    }
  }
  const std::vector<std::int64_t>& shape = first->shape;
  Count matrices = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) matrices *= shape[i];
  const bool fits = shape.size() >= 2 && shape[shape.size() - 1] == tokens && shape[shape.size() - 2] == tokens &&
                    (matrices == 1 || matrices == heads);
  if (!fits)
    base::fail("O1882",
               fmt::format("`{}` is {}, no mask of 1 or {} heads and {} x {} tokens", first->name,
                           formats::checkpoint::text_of(shape), heads, tokens, tokens),
               {}, kWayOut);
  return masks::mask_of_bytes({1, matrices, tokens, tokens}, bytes_of(*first).data());
}

void drop_stored_patterns(std::vector<Tensor>& tensors) {
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), is_pattern), tensors.end());
}

}  // namespace orrery::verbs
