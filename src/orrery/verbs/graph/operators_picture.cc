#include "orrery/verbs/graph/operators_picture.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/onnx/rule.h"

namespace orrery::verbs {

std::string bounds_text(const workload::Einsum& einsum) {
  std::string out;
  for (const workload::Dimension& dimension : einsum.dimensions)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", dimension.name, dimension.bound);
  return out;
}

GraphPicture operators_picture(const OnnxModel& model, workload::KernelGraph& graph) {
  const formats::onnx::Operators& operators = model.operators;
  graph = {};
  GraphPicture picture;
  for (const formats::onnx::Operator& op : operators.all) {
    workload::Kernel kernel;
    kernel.name = op.name;
    kernel.unit = op.layer ? workload::KernelUnit::kSystolic : workload::KernelUnit::kSimd;
    graph.kernels.push_back(std::move(kernel));
    picture.kernel_labels.push_back(
        op.layer ? fmt::format("{}: {}", op.type, bounds_text(operators.layers[*op.layer].einsum)) : op.type);
  }
  for (const formats::onnx::Flow& flow : operators.flows) {
    graph.edges.push_back({.from = static_cast<int>(flow.from), .to = static_cast<int>(flow.to)});
    picture.edge_labels.push_back(flow.shape ? formats::onnx::text(*flow.shape) : "?");
  }
  if (picture.edge_labels.empty()) picture.edge_labels.emplace_back();  // sizes are the operators' own
  picture.graph = &graph;
  picture.title =
      fmt::format("{}: {} operator{}", model.name, graph.kernels.size(), base::plural(graph.kernels.size()));
  return picture;
}

}  // namespace orrery::verbs
