// Idea: a convolution as long as the sequence is a product of spectra. Of every channel
//
//   z = q * k;  z = F^-1(F q . F k);  y = F^-1(F z . F v)          F a transform of s points, complex: 2 s numbers
//
// so six transforms and three multiplications lie between the projections and the feed-forward network. A transform has
// ceil(log_r s) steps, each of
//
//   product      M = K = 2 r, N = s / r: 8 r s FLOP            r the radix
//   vector       M = 2 s, K = 2 log2 r, in a chain of stages
//   butterfly    M = 2 s, K = 2, with r = 2
//
// Kernels stand for one channel and run for each of them (`num_input`); what all channels keep between steps is
// `sram_extra` and `dram_extra`. Several chips share the channels, with which nothing is communicated until the network
// gathers them: channels are independent of each other, points of a transform are not.
//
// Names, shapes and connections are those of DFModel's published setups (kosho2013/DFModel, commit a33985b). Source of
// the layer: Poli et al., "Hyena Hierarchy", 2023 (arXiv 2302.10866). Cost: linear in the kernels.
#include "orrery/describe/workload/graphs/hyena_graph.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {
namespace {

using base::Count;

// ceil(log_radix(points)), at least 1.
int steps_of(Count points, Count radix) {
  int steps = 1;
  for (Count reach = radix; reach < points && !__builtin_mul_overflow(reach, radix, &reach);) ++steps;
  return steps;
}

void demand_sizes(const HyenaShape& shape, Count ffn, Count radix, base::Diagnostics& found) {
  demand("the width of the model (`hidden`)", shape.hidden, found);
  demand("the number of heads", shape.heads, found);
  demand("the feed-forward width", ffn, found);
  demand("the sequence", shape.tokens, found);
  demand("the bytes of an element (`word`)", shape.word_bytes, found);
  demand("the number of chips", shape.chips, found);
  found.throw_if_errors();
  if (shape.hidden % shape.heads != 0)
    found.error("O1483", fmt::format("{} heads do not divide the model's width {}", shape.heads, shape.hidden))
        .note(fmt::format("{} / {} leaves {}", shape.hidden, shape.heads, shape.hidden % shape.heads));
  if (radix < 2)
    found.error("O1490", fmt::format("the radix must be at least 2, but is {}", radix)).hint("take at least 2");
  else if (shape.tokens % radix != 0)
    found
        .error("O1490", fmt::format("a transform of {} points has no whole number of parts of {}", shape.tokens, radix))
        .note(fmt::format("{} / {} leaves {}", shape.tokens, radix, shape.tokens % radix))
        .hint("pad the sequence to a multiple of `--radix`");
  if (shape.step == FourierStep::kVector && radix >= 2 && !std::has_single_bit(static_cast<std::uint64_t>(radix)))
    found.error("O1490", fmt::format("butterflies on vector lanes need a radix that is a power of two, not {}", radix))
        .hint("take 2, 4, 8, 16, ...");
  if (shape.chips > shape.hidden)
    found.error("O1490", fmt::format("{} chips cannot share {} channels", shape.chips, shape.hidden))
        .hint(fmt::format("take at most `--chips {}`", shape.hidden));
  found.throw_if_errors();
}

class HyenaWriter {
 public:
  HyenaWriter(const HyenaShape& shape, Count radix, double channel, double all) : shape_(shape), channel_(channel) {
    const Count points = 2 * shape.tokens;
    switch (shape.step) {
      case FourierStep::kProduct:
        space_ = {1, 2 * radix, 2 * radix, shape.tokens / radix};
        break;
      case FourierStep::kVector:
        space_ = {1, points, 2 * static_cast<Count>(std::bit_width(static_cast<std::uint64_t>(radix)) - 1), 1};
        break;
      case FourierStep::kButterfly:
        space_ = {1, points, 2, 1};
        break;
    }
    repeats_ = base::ceil_divide(shape.hidden, shape.chips);
    kept_ = all / static_cast<double>(shape.hidden) * static_cast<double>(repeats_);
    steps_ = steps_of(shape.tokens, radix);
  }

  int add(Kernel kernel, std::initializer_list<int> from) {
    const int index = static_cast<int>(graph.kernels.size());
    graph.kernels.push_back(std::move(kernel));
    for (const int one : from) graph.edges.push_back({.from = one, .to = index});
    return index;
  }

  // The last step of the transform of what `from` makes.
  int transform(const std::string& name, int from) {
    for (int step = 0; step < steps_; ++step) {
      Kernel kernel = weight_product(fmt::format("{}_stage{}", name, step), space_, channel_, 0, channel_);
      kernel.skip_weight = true;
      kernel.effective_stages = shape_.step == FourierStep::kVector ? 1 : 0;
      kernel.sram_extra_bytes = kernel.dram_extra_bytes = kept_;
      from = add(of_a_channel(std::move(kernel)), {from});
    }
    return from;
  }

  int multiplied(const char* name, std::initializer_list<int> from) {
    return add(of_a_channel(elementwise_of_two(name, {1, 2 * shape_.tokens, 1, 1}, channel_, channel_, channel_)),
               from);
  }

  KernelGraph graph;

 private:
  Kernel of_a_channel(Kernel kernel) const {
    kernel.tiling = KernelDimension::kNone;
    kernel.inputs = repeats_;
    if (shape_.chips > 1) kernel.sharding = KernelDimension::kNone;
    return kernel;
  }

  const HyenaShape& shape_;
  KernelSpace space_;
  double channel_ = 0, kept_ = 0;  // bytes
  Count repeats_ = 1;
  int steps_ = 1;
};

}  // namespace

KernelGraph hyena_graph(const HyenaShape& shape) {
  base::Diagnostics found;
  Count ffn = shape.ffn;
  if (ffn == 0 && __builtin_mul_overflow(Count{4}, shape.hidden, &ffn)) ffn = shape.hidden;
  const Count radix = shape.step == FourierStep::kButterfly ? 2 : shape.radix;
  demand_sizes(shape, ffn, radix, found);
  const Count h = shape.hidden, s = shape.tokens, w = shape.word_bytes;
  CheckedSizes sizes(found);
  const Count stream = sizes("the stream", {{"hidden", h}, {"tokens", s}, {"bytes", w}}),
              inner = sizes("the inner tensor", {{"ffn", ffn}, {"tokens", s}, {"bytes", w}}),
              square = sizes("a projection", {{"hidden", h}, {"hidden", h}, {"bytes", w}}),
              wide = sizes("the network's weight", {{"ffn", ffn}, {"hidden", h}, {"bytes", w}}),
              spectrum = sizes("a spectrum", {{"real and imaginary", 2}, {"tokens", s}, {"bytes", w}});
  sizes("the root matrix", {{"twice the radix", 2 * std::min<Count>(radix, Count{1} << 40)}, {"radix", radix}});
  found.throw_if_errors();

  const auto bytes = [](Count of) { return static_cast<double>(of); };
  HyenaWriter out(shape, radix, bytes(spectrum), bytes(stream));
  const auto projection = [&](const char* name) {
    return out.add(
        weight_product(name, {shape.heads, h / shape.heads, h, s}, bytes(stream), bytes(square), bytes(stream)), {});
  };
  const int q = projection("Q"), k = projection("K"), v = projection("V");
  const int q_spectrum = out.transform("Q", q), k_spectrum = out.transform("K", k);
  const int first = out.transform("QKi", out.multiplied("QKmultiply", {q_spectrum, k_spectrum}));
  const int inter = out.transform("inter", out.multiplied("softmax", {first}));
  const int v_spectrum = out.transform("V", v);
  const int second = out.transform("interVi", out.multiplied("interVmultiply", {inter, v_spectrum}));
  const int up = out.add(weight_product("FFN0", {1, ffn, h, s}, bytes(stream), bytes(wide), bytes(inner)), {second});
  const int down = out.add(weight_product("FFN1", {1, h, ffn, s}, bytes(inner), bytes(wide), bytes(stream)), {up});
  if (shape.chips > 1) {
    for (KernelEdge& edge : out.graph.edges) {
      const bool from_projection = edge.from <= v;
      if (!from_projection && edge.to != up) continue;
      edge.communication = Communication::kAllGather;  // a chip's channels are those of its heads: nothing to gather
      edge.communication_bytes = from_projection ? 0 : bytes(stream);
    }
    out.graph.kernels[static_cast<std::size_t>(up)].sharding = KernelDimension::kM;
    out.graph.kernels[static_cast<std::size_t>(down)].sharding = KernelDimension::kK;
  }
  check_spaces(out.graph, found);
  found.throw_if_errors();
  return std::move(out.graph);
}

}  // namespace orrery::workload
