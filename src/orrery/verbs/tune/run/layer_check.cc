// Both layers get the same weights and the same input, rounded to the narrower type, so that only arithmetic differs.
// The reference runs the same code in a wider type; that the equations are right is tested by finite differences
// (layer/*_test.cc). Tolerances are of root mean squares, and wide: a ReLU whose argument is within a rounding of 0 may
// take the other side in another type, which changes a row of a gradient by all of a token's part. Cost: a pass of
// plain loops where the reference is fp64.
#include "orrery/verbs/tune/run/layer_check.h"

#include <algorithm>
#include <cmath>

#include "orrery/inputs/systems/layer_data.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/verbs/tune/run/layout_choice.h"

namespace orrery::verbs {
namespace {

using kernels::Type;
using layer::Index;

constexpr double kLongest = 4e9;  // operations of a forward pass that plain loops do in some seconds

double tolerance_of(Type type) {
  switch (type) {
    case Type::kF64:
      return 1e-9;
    case Type::kF32:
      return 1e-3;
    case Type::kF16:
      return 5e-2;
    default:
      return 2e-1;
  }
}

// What one run leaves.
struct Run {
  LayerTensor y, dx, dmemory;
  layer::Weights gradients;
};

Run run(kernels::Context& context, layer::Shape shape, Type type, const layer::Weights& weights, const LayerTensor& x,
        const LayerTensor& memory, const LayerTensor& dy, bool training) {
  shape.type = type;
  const auto as_typed = [&](const LayerTensor& from) {
    LayerTensor to(type, from.count());
    for (Index i = 0; i < from.count(); ++i) to.set(i, from.get(i));
    return to;
  };
  const LayerTensor input = as_typed(x), seen = as_typed(memory), gradient = as_typed(dy);
  Run out{LayerTensor(type, x.count()), LayerTensor(type, training ? x.count() : 0),
          LayerTensor(type, training ? memory.count() : 0), layer::Weights(shape)};
  layer::Encoder layer(context, shape, weights, training);
  layer::Input given;
  given.x = input.data();
  if (shape.cross) given.memory = seen.data();
  if (!training) {
    layer.infer(given, out.y.data());
    return out;
  }
  layer.forward(given, out.y.data(), {}, 0);
  layer::InputGradients back;
  back.x = out.dx.data();
  if (shape.cross) back.memory = out.dmemory.data();
  layer.backward(gradient.data(), back, out.gradients);
  return out;
}

// The same operator by operator, as a layout file has them.
Run run_by_layout(kernels::Context& context, const layer::Shape& shape, const std::string& layout,
                  const layer::Weights& weights, const LayerTensor& x, const LayerTensor& dy, bool training) {
  const tuning::Graph graph = graph_of_layer(shape);
  base::Diagnostics told;  // when the layer itself was run
  tuning::GraphRun run(context, graph, read_layout_choice(layout, graph, told), shape.type, {});
  run.set_weights(weights);
  run.set_tokens("X", [&](std::size_t n) { return static_cast<float>(x.get(static_cast<Index>(n))); });
  Run out{LayerTensor(shape.type, x.count()), LayerTensor(shape.type, training ? x.count() : 0),
          LayerTensor(shape.type, 0), layer::Weights(shape)};
  const auto take = [&](const char* name, LayerTensor& to) {
    const std::vector<float> values = run.tokens(name);
    for (Index i = 0; i < to.count(); ++i) to.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
  };
  run.forward(0);
  take("SB2", out.y);
  if (!training) return out;
  run.set_tokens("DSB2", [&](std::size_t n) { return static_cast<float>(dy.get(static_cast<Index>(n))); });
  run.backward();
  take("DX", out.dx);
  out.gradients = run.gradients(shape);
  return out;
}

template <typename Get, typename Reference>
TensorError error_of(const std::string& name, Index count, Get get, Reference reference) {
  TensorError out{name};
  double largest = 0, squares = 0, all = 0, worst = 0;
  bool finite = true;
  for (Index i = 0; i < count; ++i) {
    const double off = std::fabs(get(i) - reference(i)), right = std::fabs(reference(i));
    finite = finite && std::isfinite(off);
    worst = std::max(worst, off);
    largest = std::max(largest, right);
    squares += off * off;
    all += right * right;
  }
  out.max_error = !finite ? std::nan("") : largest > 0 ? worst / largest : worst;
  out.rms_error = !finite ? std::nan("") : all > 0 ? std::sqrt(squares / all) : std::sqrt(squares);
  return out;
}

// nan stays.
double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

KeptTensor kept(const std::string& name, std::vector<Index> sizes, const LayerTensor& from) {
  KeptTensor out{name, std::move(sizes), std::vector<float>(static_cast<std::size_t>(from.count()))};
  for (Index i = 0; i < from.count(); ++i) out.values[static_cast<std::size_t>(i)] = static_cast<float>(from.get(i));
  return out;
}

double forward_operations(const layer::Shape& shape) {
  double sum = 0;
  for (const layer::Operator& one : layer::plan(shape, false).operators) sum += one.operations;
  return sum;
}

// One sequence, and a shorter one, where all would take long: plain loops do not ask the clock.
layer::Shape checked_shape(layer::Shape shape) {
  constexpr Index kShortest = 16;
  if (forward_operations(shape) > kLongest) shape.batch = 1;
  while (shape.length > kShortest && forward_operations(shape) > kLongest) {
    shape.length = std::max(kShortest, shape.length / 2);
    shape.memory_length = std::min(shape.memory_length, shape.length);
  }
  return shape;
}

}  // namespace

LayerCheck check_layer(kernels::Context& context, const layer::Shape& given, Type against, bool training,
                       std::uint64_t seed, bool keep, const std::string& layout) {
  LayerCheck out;
  const layer::Shape shape = out.shape = checked_shape(given);
  out.against = against;
  out.tolerance = std::max(tolerance_of(shape.type), tolerance_of(against));
  const layer::Weights weights = drawn_weights(shape, seed);
  const Index count = shape.batch * shape.length * shape.width;
  LayerTensor x(shape.type, count), dy(shape.type, count);
  LayerTensor memory(shape.type, shape.cross ? shape.batch * shape.memory_length * shape.memory() : 0);
  draw(x, seed, 1);
  draw(dy, seed, 2);
  draw(memory, seed, 3);
  const Run mine = layout.empty() ? run(context, shape, shape.type, weights, x, memory, dy, training)
                                  : run_by_layout(context, shape, layout, weights, x, dy, training);
  const Run right = run(context, shape, against, weights, x, memory, dy, training);
  const auto compare = [&](const std::string& name, const LayerTensor& a, const LayerTensor& b) {
    out.tensors.push_back(error_of(
        name, a.count(), [&](Index i) { return a.get(i); }, [&](Index i) { return b.get(i); }));
  };
  compare("y", mine.y, right.y);
  const std::vector<WeightName> names = weight_names(shape);
  if (training) {
    compare("dx", mine.dx, right.dx);
    if (shape.cross) compare("dmemory", mine.dmemory, right.dmemory);
    const auto a = mine.gradients.all(), b = right.gradients.all();
    for (std::size_t part = 0; part < a.size(); ++part) {
      if (a[part]->empty()) continue;
      out.tensors.push_back(error_of(
          std::string("d_") + names[part].name, static_cast<Index>(a[part]->size()),
          [&](Index i) { return static_cast<double>((*a[part])[static_cast<std::size_t>(i)]); },
          [&](Index i) { return static_cast<double>((*b[part])[static_cast<std::size_t>(i)]); }));
    }
  }
  for (const TensorError& one : out.tensors) out.rms_error = larger(out.rms_error, one.rms_error);
  for (const TensorError& one : out.tensors) out.max_error = larger(out.max_error, one.max_error);
  if (!keep) return out;
  const std::vector<Index> sizes = {shape.batch, shape.length, shape.width};
  out.kept.push_back(kept("x", sizes, x));
  if (shape.cross) out.kept.push_back(kept("memory", {shape.batch, shape.memory_length, shape.memory()}, memory));
  out.kept.push_back(kept("y", sizes, mine.y));
  if (training) {
    out.kept.push_back(kept("dy", sizes, dy));
    out.kept.push_back(kept("dx", sizes, mine.dx));
  }
  const auto keep_all = [&](const std::string& prefix, const layer::Weights& of) {
    const auto all = of.all();
    for (std::size_t part = 0; part < all.size(); ++part) {
      if (all[part]->empty()) continue;
      const auto length = static_cast<Index>(all[part]->size());
      const Index rows = names[part].rows;
      out.kept.push_back({prefix + names[part].name,
                          rows > 0 ? std::vector<Index>{rows, length / rows} : std::vector<Index>{length}, *all[part]});
    }
  };
  keep_all("", weights);
  if (training) keep_all("d_", mine.gradients);
  return out;
}

double bytes_to_check(const layer::Shape& given, Type against, bool training) {
  layer::Shape shape = checked_shape(given);
  const layer::Plan own = layer::plan(shape, training);
  shape.type = against;
  const layer::Plan reference = layer::plan(shape, training);
  return static_cast<double>(std::max(own.bytes(), reference.bytes()));
}

}  // namespace orrery::verbs
