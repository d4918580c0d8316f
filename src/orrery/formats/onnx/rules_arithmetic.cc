// Elementwise operators, normalisations and reductions. Integers of small tensors are computed along: graphs that were
// traced work out the shapes of reshapes by them.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

// Wraps as the runtime's integers do.
std::int64_t computed(const std::string& type, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const bool divides = b != 0 && b != -1;
  if (type == "Add" || type == "Sum") return static_cast<std::int64_t>(x + y);
  if (type == "Sub") return static_cast<std::int64_t>(x - y);
  if (type == "Mul") return static_cast<std::int64_t>(x * y);
  if (type == "Div") return divides ? a / b : static_cast<std::int64_t>(b == 0 ? 0 : -x);
  if (type == "Mod") {
    const std::int64_t rest = divides ? a % b : 0;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Equal") return a == b ? 1 : 0;
  if (type == "Less") return a < b ? 1 : 0;
  if (type == "LessOrEqual") return a <= b ? 1 : 0;
  if (type == "Greater") return a > b ? 1 : 0;
  if (type == "GreaterOrEqual") return a >= b ? 1 : 0;
  if (type == "And") return a != 0 && b != 0 ? 1 : 0;
  return a != 0 || b != 0 ? 1 : 0;  // Or
}

bool computes(const std::string& type) {
  static const std::vector<std::string> kTypes = {"Add",         "Sum", "Sub", "Mul",     "Div",
                                                  "Mod",         "Min", "Max", "Equal",   "Less",
                                                  "LessOrEqual", "And", "Or",  "Greater", "GreaterOrEqual"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

// The element of an input, broadcast, at the place of a result.
std::int64_t at(const Site& site, std::size_t input, const Shape& index) {
  return (*site.integers(input))[place_in(*site.shape(input), index)];
}

// The axes of a reduction; nothing: not known. Empty: all of them.
std::optional<Integers> reduced_axes(const Site& site, bool& given) {
  return site.setting(1, "axes", given);
}

}  // namespace

void same_as_first(Site& site) {
  if (const Shape* shape = site.shape(0)) site.make(0, *shape);
}

void quantization(Site& site) {
  same_as_first(site);
  site.make(1, {});
  site.make(2, {});
}

void quantized_pair(Site& site) {
  if (const Shape* a = site.shape(0), *b = site.shape(3); a && b) site.make(0, broadcast(*a, *b));
}

void broadcast_all(Site& site) {
  if (site.in.empty()) return;
  if (site.node.integer("broadcast", 0) != 0) return same_as_first(site);  // of the first versions, along an axis
  Shape all;
  for (std::size_t i = 0; i < site.in.size(); ++i) {
    const Shape* shape = site.shape(i);
    if (!shape) return;
    all = broadcast(all, *shape);
  }
  site.make(0, all);
  if (site.in.size() == 2 && computes(site.node.type))
    fold(site, 0, {0, 1},
         [&](const Shape& index) { return computed(site.node.type, at(site, 0, index), at(site, 1, index)); });
}

void where(Site& site) {
  const Shape *condition = site.shape(0), *yes = site.shape(1), *no = site.shape(2);
  if (!condition || !yes || !no) return;
  const Shape all = broadcast(broadcast(*condition, *yes), *no);
  site.make(0, all);
  fold(site, 0, {0, 1, 2}, [&](const Shape& index) { return at(site, at(site, 0, index) != 0 ? 1 : 2, index); });
}

void normalisation(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  site.make(0, *shape);
  const bool skips = site.node.type.starts_with("Skip");  // the last output is the sum that was normalised
  if (skips) return site.make(3, *shape);
  if (site.node.type != "LayerNormalization") return;
  Shape statistics = *shape;
  for (std::size_t i = axis_of(site.node.integer("axis", -1), shape->size()); i < shape->size(); ++i) statistics[i] = 1;
  site.make(1, statistics);
  site.make(2, statistics);
}

void embedding(Site& site) {
  const Shape *tokens = site.shape(0), *words = site.shape(2);
  if (!tokens || !words || words->size() != 2 || tokens->size() != 2) return;
  for (const std::size_t output : {0u, 2u}) site.make(output, {(*tokens)[0], (*tokens)[1], (*words)[1]});
  site.make(1, {(*tokens)[0]});
}

void reduction(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  bool given = false;
  const std::optional<Integers> axes = reduced_axes(site, given);
  const bool keep = site.node.integer("keepdims", 1) != 0;
  if (given && !axes) {
    if (keep) site.make(0, Shape(shape->size(), kUnknown));
    return;
  }
  if ((!axes || axes->empty()) && site.node.integer("noop_with_empty_axes", 0) != 0) return site.make(0, *shape);
  std::vector<bool> reduced(shape->size(), !axes || axes->empty());
  if (axes)
    for (const std::int64_t axis : *axes) reduced[axis_of(axis, shape->size())] = true;
  Shape out;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!reduced[i])
      out.push_back((*shape)[i]);
    else if (keep)
      out.push_back(1);
  }
  site.make(0, out);
  static const std::map<std::string, std::string> kFolded = {
      {"ReduceProd", "Mul"}, {"ReduceSum", "Add"}, {"ReduceMax", "Max"}, {"ReduceMin", "Min"}};
  const auto folded = kFolded.find(site.node.type);
  const Integers* values = site.integers(0);
  if (site.out.empty() || folded == kFolded.end() || !values || values->empty() || elements(out) != 1) return;
  std::int64_t result = values->front();
  for (std::size_t i = 1; i < values->size(); ++i) result = computed(folded->second, result, (*values)[i]);
  site.out[0].integers = {result};
}

void arg_reduction(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  Shape out = *shape;
  const std::size_t axis = axis_of(site.node.integer("axis", 0), out.size());
  if (site.node.integer("keepdims", 1) != 0)
    out[axis] = 1;
  else
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  site.make(0, out);
}

void top_k(Site& site) {
  const Shape* shape = site.shape(0);
  if (!shape) return;
  Shape out = *shape;
  const Integers* k = site.integers(1);
  const std::size_t axis = axis_of(site.node.integer("axis", -1), out.size());
  out[axis] = k && k->size() == 1 ? k->front() : site.node.integer("k", kUnknown);
  if (out[axis] < 0) out[axis] = kUnknown;
  site.make(0, out);
  site.make(1, out);
}

}  // namespace orrery::formats::onnx
