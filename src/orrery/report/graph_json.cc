#include "orrery/report/graph_json.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "orrery/report/warnings_json.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;
using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::Operands;

const char* operands_name(Operands operands) {
  switch (operands) {
    case Operands::kInputAndWeight:
      return "gemm_input1_weight";
    case Operands::kTwoInputs:
      return "gemm_input1_input2";
    case Operands::kOneElementwise:
      return "elementwise_input1";
    case Operands::kTwoElementwise:
      return "elementwise_input1_input2";
  }
  return "";
}

const char* dimension_name(KernelDimension dimension) {
  switch (dimension) {
    case KernelDimension::kOuter:
      return "outer";
    case KernelDimension::kM:
      return "M";
    case KernelDimension::kK:
      return "K";
    case KernelDimension::kN:
      return "N";
    case KernelDimension::kNone:
      return "none";
  }
  return "";
}

const char* communication_name(Communication communication) {
  switch (communication) {
    case Communication::kNone:
      return "none";
    case Communication::kAllReduce:
      return "all-reduce";
    case Communication::kAllToAll:
      return "all-to-all";
    case Communication::kAllGather:
      return "all-gather";
    case Communication::kPeriodicAllReduce:
      return "all-reduce-periodic";
    case Communication::kPointToPoint:
      return "point-to-point";
    case Communication::kBroadcast:
      return "broadcast";
  }
  return "";
}

Json communications(const Kernel& kernel) {
  Json list = Json::array();
  for (const auto& [kind, bytes] : {std::pair{kernel.communication, kernel.communication_bytes},
                                    std::pair{kernel.second_communication, kernel.second_communication_bytes}})
    if (kind != Communication::kNone) list.push_back(Json{{"type", communication_name(kind)}, {"bytes", bytes}});
  return list;
}

Json kernel_json(const Kernel& kernel, int id, int level) {
  Json out{{"id", id},
           {"name", kernel.name},
           {"level", level},
           {"unit", kernel.unit == workload::KernelUnit::kSystolic ? "systolic" : "simd"},
           {"direction", kernel.direction == workload::Direction::kForward ? "forward" : "backward"},
           {"operands", operands_name(kernel.operands)},
           {"outer", kernel.outer},
           {"m", kernel.m},
           {"k", kernel.k},
           {"n", kernel.n},
           {"flop", scenario::flop(kernel)},
           {"input_bytes", kernel.input_bytes},
           {"second_bytes", kernel.second_bytes},
           {"output_bytes", kernel.output_bytes},
           {"memory_bytes", kernel.memory_bytes},
           {"tiling", dimension_name(kernel.tiling)},
           {"communication", communications(kernel)}};
  return out;
}

Json result_json(const scenario::GeneratedGraph& generated) {
  const workload::KernelGraph& graph = generated.graph;
  const std::vector<int> level = workload::levels(graph);
  Json parameters = Json::object();
  for (const auto& [name, value] : generated.parameters) parameters[name] = value;
  Json kernels = Json::array();
  for (std::size_t k = 0; k < graph.kernels.size(); ++k)
    kernels.push_back(kernel_json(graph.kernels[k], static_cast<int>(k) + 1, level[k]));
  Json connections = Json::array();
  for (const workload::KernelEdge& edge : graph.edges)
    connections.push_back(Json{{"id", connections.size() + 1},
                               {"from", edge.from + 1},
                               {"to", edge.to + 1},
                               {"from_name", graph.kernels[edge.from].name},
                               {"to_name", graph.kernels[edge.to].name},
                               {"bytes", graph.kernels[edge.from].output_bytes}});
  return Json{{"kind", generated.kind},
              {"model", generated.model.empty() ? Json(nullptr) : Json(generated.model)},
              {"parameters", std::move(parameters)},
              {"notes", generated.notes},
              {"flop", scenario::flop(graph)},
              {"kernels", std::move(kernels)},
              {"connections", std::move(connections)}};
}

}  // namespace

std::string graph_json(const GraphDocument& document) {
  const scenario::GeneratedGraph& generated = *document.generated;
  Json inputs = Json::array();
  for (const auto& [name, hash] : generated.inputs) inputs.push_back(Json{{"name", name}, {"hash", hash}});
  Json warnings = Json::parse(warnings_json(generated.warnings));
  const Json out{{"schema", "orrery.graph/1"},      {"version", document.version},
                 {"inputs", std::move(inputs)},     {"result", result_json(generated)},
                 {"warnings", std::move(warnings)}, {"timing", Json{{"seconds", document.seconds}}}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
