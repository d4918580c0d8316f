#include "orrery/verbs/graph/operators_json.h"

#include <optional>
#include <utility>
#include <vector>

namespace orrery::verbs {
namespace {

using formats::onnx::Layer;
using formats::onnx::Operator;

// A shape, with null for sizes that are not known.
using Sizes = std::vector<std::optional<base::Count>>;

std::vector<std::optional<Sizes>> sizes(const std::vector<std::optional<formats::onnx::Shape>>& shapes) {
  std::vector<std::optional<Sizes>> out;
  for (const auto& shape : shapes) {
    if (!shape) {
      out.emplace_back();
      continue;
    }
    Sizes& each = out.emplace_back().emplace();
    for (const base::Count size : *shape)
      each.push_back(size == formats::onnx::kUnknown ? std::nullopt : std::optional(size));
  }
  return out;
}

// An operator or a layer by its index.
struct OperatorsJsonNumbered {
  const formats::onnx::Operators& all;
  std::size_t index;

  const Operator& op() const { return all.all[index]; }
  const Layer& layer() const { return all.layers[index]; }
};

std::vector<OperatorsJsonNumbered> numbered(const OnnxModel& model, std::size_t count) {
  std::vector<OperatorsJsonNumbered> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({model.operators, i});
  return out;
}

Record<OperatorsJsonNumbered> operators() {
  using N = OperatorsJsonNumbered;
  return {
      {"name", "Name of the operator; made up where the file has none.", [](const N& n) { return n.op().name; }},
      {"type", "Type of the operator as ONNX calls it, after its domain where that is not ONNX's own.",
       [](const N& n) { return n.op().type; }},
      {"byte", "Position in the file at which the operator begins, in bytes.", [](const N& n) { return n.op().byte; }},
      {"inputs", "Shapes of the inputs; null for one that is not known or left out.",
       [](const N& n) { return sizes(n.op().inputs); }},
      {"outputs", "Shapes of the outputs; null for one that is not known or left out.",
       [](const N& n) { return sizes(n.op().outputs); }},
      {"operations", "Multiply-accumulates of GEMMs, elements of all else; null where they are not known.",
       [](const N& n) { return n.op().operations; }},
      {"layer", "Name of the layer that `map` makes of it; null where it is not mapped.",
       [](const N& n) { return n.op().layer ? std::optional(n.all.layers[*n.op().layer].name) : std::nullopt; }}};
}

Record<OperatorsJsonNumbered> layers() {
  using N = OperatorsJsonNumbered;
  return {{"name", "Name of the layer: that of its first operator.", [](const N& n) { return n.layer().name; }},
          {"instances", "Equal GEMMs that run one after the other, over all operators of the layer.",
           [](const N& n) { return n.layer().instances; }},
          {"dimensions", "Bounds of the layer's loops, by dimension.",
           [](const N& n) {
             std::vector<std::pair<std::string, base::Count>> out;
             for (const workload::Dimension& d : n.layer().einsum.dimensions) out.emplace_back(d.name, d.bound);
             return out;
           }},
          {"operators", "Names of the operators that share the layer.", [](const N& n) {
             std::vector<std::string> out;
             for (const std::size_t op : n.layer().operators) out.push_back(n.all.all[op].name);
             return out;
           }}};
}

}  // namespace

Document<OnnxModel> operators_document() {
  const Record<OnnxModel> result = {
      {"model", "Name of the file, without folders and suffix.", &OnnxModel::name},
      {"operations", "Operations of all operators for which they are known.",
       [](const OnnxModel& m) { return m.operators.operations(); }},
      {"operators", "Operators in the order of the file.",
       [](const OnnxModel& m) { return numbered(m, m.operators.all.size()); }, operators()},
      {"layers", "Layers that `map` maps: GEMMs of one shape are one layer.",
       [](const OnnxModel& m) { return numbered(m, m.operators.layers.size()); }, layers()}};
  return {"operators", "The operators of the model, and the layers that `map` makes of them.", result,
          kInputs | kWarnings | kTiming,
          [](const OnnxModel& m) { return Envelope{.inputs = &m.inputs, .warnings = &m.operators.warnings}; }};
}

}  // namespace orrery::verbs
