#include "orrery/verbs/graph/operators_table.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/onnx/rule.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/graph/operators_picture.h"

namespace orrery::verbs {
namespace {

using formats::onnx::Layer;
using formats::onnx::Operator;
using formats::onnx::Shape;

std::string shapes(const std::vector<std::optional<Shape>>& all) {
  std::string out;
  for (const std::optional<Shape>& shape : all)
    out += (out.empty() ? "" : ", ") + (shape ? formats::onnx::text(*shape) : std::string("?"));
  return out;
}

}  // namespace

std::string operators_table(const OnnxModel& model) {
  const formats::onnx::Operators& operators = model.operators;
  Table table;
  table.header = {"operator", "type", "inputs", "outputs", "operations", "mapped as"};
  table.left_columns = {1, 2, 3, 5};
  for (const Operator& op : operators.all) {
    const Layer* layer = op.layer ? &operators.layers[*op.layer] : nullptr;
    table.rows.push_back({op.name, op.type, shapes(op.inputs), shapes(op.outputs),
                          op.operations ? base::grouped(static_cast<double>(*op.operations)) : "?",
                          layer ? bounds_text(layer->einsum) : ""});
  }
  table.rules_before.push_back(table.rows.size());
  table.rows.push_back(
      {"all", "", "", "", base::grouped(operators.operations()), base::counted(operators.layers.size(), "shape")});
  return text(table);
}

}  // namespace orrery::verbs
