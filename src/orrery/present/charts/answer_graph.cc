#include "orrery/present/charts/answer_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/charts/answer_charts.h"
#include "orrery/present/graph_svg.h"

namespace orrery::verbs {
namespace {

base::Count size_at(const Node& kernel, const char* key) {
  return base::saturated(std::max(1.0, number_at(kernel, key).value_or(1)));
}

workload::Kernel drawn_kernel(const Node& node) {
  workload::Kernel out;
  out.name = text_at(node, "name");
  out.unit = text_at(node, "unit") == "systolic" ? workload::KernelUnit::kSystolic : workload::KernelUnit::kSimd;
  out.direction =
      text_at(node, "direction") == "backward" ? workload::Direction::kBackward : workload::Direction::kForward;
  const Node* product = at(node, "product");
  out.operands = product && product->truth ? workload::Operands::kTwoInputs : workload::Operands::kOneElementwise;
  out.outer = size_at(node, "outer"), out.m = size_at(node, "m"), out.k = size_at(node, "k"),
  out.n = size_at(node, "n");
  out.output_bytes = number_at(node, "output_bytes").value_or(0);
  return out;
}

// Edges join kernels that are there, and no cycle.
bool take_edges(const Node& graph, workload::KernelGraph& out) {
  const auto kernels = static_cast<double>(out.kernels.size());
  for (const Node& edge : items_at(graph, "edges")) {
    const double from = number_at(edge, "from").value_or(0), to = number_at(edge, "to").value_or(0);
    if (!(from >= 1 && from <= kernels && to >= 1 && to <= kernels)) return false;
    workload::KernelEdge made;
    made.from = static_cast<int>(base::saturated(from)) - 1, made.to = static_cast<int>(base::saturated(to)) - 1;
    out.edges.push_back(made);
  }
  return workload::find_cycle(out).empty();
}

}  // namespace

std::string graph_of(const Node& document) {
  constexpr std::size_t kMostKernels = 400;
  const Node* found = at(document, "result.graph");
  if (kind_of(document) != "place" || found == nullptr) return "";
  workload::KernelGraph graph;
  for (const Node& kernel : items_at(*found, "kernels")) graph.kernels.push_back(drawn_kernel(kernel));
  if (graph.kernels.empty() || graph.kernels.size() > kMostKernels || !take_edges(*found, graph)) return "";
  GraphPicture picture;
  picture.graph = &graph;
  const std::vector<Node>& configurations = items_at(document, "result.configurations");
  for (const Node& place : items_at(document, "result.assignment"))
    if (place.number >= 0 && place.number < static_cast<double>(configurations.size()))
      picture.configuration.push_back(static_cast<int>(base::saturated(place.number)));
  if (picture.configuration.size() != graph.kernels.size()) picture.configuration.clear();
  for (const Node& each : configurations)
    picture.configuration_labels.push_back(
        fmt::format("configuration {}: {:.6g} us, {}", picture.configuration_labels.size(),
                    number_at(each, "ii_ns").value_or(0) / 1e3, text_at(each, "bound")));
  if (const Node* sharding = at(document, "result.sharding"); sharding && sharding->is_object())
    for (const formats::json::Member& kernel : sharding->members)
      picture.kernel_labels.push_back(kernel.value.text == "none" ? "" : "split along " + kernel.value.text);
  std::string out = graph_svg(picture);
  // Within a page the dialect needs no address.
  const std::string dialect = " xmlns=\"http://www.w3.org/2000/svg\"";
  if (const std::size_t place = out.find(dialect); place != std::string::npos) out.erase(place, dialect.size());
  if (out.starts_with("<?xml")) out.erase(0, out.find('>') + 1);
  return out;
}

}  // namespace orrery::verbs
