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
      {"name", "Of the operator; made up where the file has none.", [](const N& n) { return n.op().name; }},
      {"type", "As ONNX calls it, after its domain where that is another one.", [](const N& n) { return n.op().type; }},
      {"byte", "Of the file, where it begins.", [](const N& n) { return n.op().byte; }},
      {"inputs", "Shapes; null where one is not known or left out.", [](const N& n) { return sizes(n.op().inputs); }},
      {"outputs", "As `inputs`.", [](const N& n) { return sizes(n.op().outputs); }},
      {"operations", "Multiply-accumulates of products, elements of all else; null: not known.",
       [](const N& n) { return n.op().operations; }},
      {"layer", "Name of the one that `map` makes of it; null: it is not mapped.",
       [](const N& n) { return n.op().layer ? std::optional(n.all.layers[*n.op().layer].name) : std::nullopt; }}};
}

Record<OperatorsJsonNumbered> layers() {
  using N = OperatorsJsonNumbered;
  return {{"name", "Of its first operator.", [](const N& n) { return n.layer().name; }},
          {"instances", "Equal products that run one after the other, over all its operators.",
           [](const N& n) { return n.layer().instances; }},
          {"dimensions", "Bounds of the product's loops.",
           [](const N& n) {
             std::vector<std::pair<std::string, base::Count>> out;
             for (const workload::Dimension& d : n.layer().einsum.dimensions) out.emplace_back(d.name, d.bound);
             return out;
           }},
          {"operators", "Names of those that share it.", [](const N& n) {
             std::vector<std::string> out;
             for (const std::size_t op : n.layer().operators) out.push_back(n.all.all[op].name);
             return out;
           }}};
}

}  // namespace

Document<OnnxModel> operators_document() {
  const Record<OnnxModel> result = {
      {"model", "The file's name, without folders and suffix.", &OnnxModel::name},
      {"operations", "Of all operators whose operations are known.",
       [](const OnnxModel& m) { return m.operators.operations(); }},
      {"operators", "In the file's order.", [](const OnnxModel& m) { return numbered(m, m.operators.all.size()); },
       operators()},
      {"layers", "What `map` maps: products of one shape are one layer.",
       [](const OnnxModel& m) { return numbered(m, m.operators.layers.size()); }, layers()}};
  return {"operators", "The operators.", result, kInputs | kWarnings | kTiming,
          [](const OnnxModel& m) { return Envelope{.inputs = &m.inputs, .warnings = &m.operators.warnings}; }};
}

}  // namespace orrery::verbs
