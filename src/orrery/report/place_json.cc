#include "orrery/report/place_json.h"

#include <nlohmann/json.hpp>

#include "orrery/report/place_table.h"
#include "orrery/report/warnings_json.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;
using scenario::PlacedGraph;

Json kernel_names(const workload::KernelGraph& graph, const std::vector<int>& kernels) {
  Json out = Json::array();
  for (int kernel : kernels) out.push_back(graph.kernels[kernel].name);
  return out;
}

Json configuration_json(const PlacedGraph& placed, const dataflow::ConfigurationCost& cost) {
  Json ids = Json::array();
  for (int kernel : cost.kernels) ids.push_back(kernel + 1);
  Json out{{"kernels", kernel_names(placed.setup.graph, cost.kernels)},
           {"kernel_ids", std::move(ids)},
           {"compute_ns", cost.compute_ns},
           {"memory_ns", cost.memory_ns},
           {"network_ns", cost.network_ns},
           {"ii_ns", cost.interval_ns},
           {"bound", cost.kernels.empty() ? Json(nullptr) : Json(name(cost.bound))},
           {"sram_bytes", cost.sram_bytes},
           {"dram_bytes", cost.dram_bytes},
           {"tiling_factor", cost.weight_split}};
  const std::vector<dataflow::Tiling>& tilings = placed.placement.mapping->tilings;
  if (cost.tiling >= 0 && !tilings.empty()) {
    out["tiles"] = tilings[static_cast<std::size_t>(cost.tiling)].tiles;
    out["tile_size"] = tilings[static_cast<std::size_t>(cost.tiling)].tile_size;
  }
  if (cost.memory_units > 0) out["memory_units"] = cost.memory_units;
  if (cost.choices.empty()) return out;
  Json cores = Json::array();
  for (const dataflow::CoreChoice& choice : cost.choices)
    cores.push_back(Json{{"cores", choice.cores}, {"lanes", choice.lanes}, {"stages", choice.stages}});
  out["cores"] = cost.cores;
  out["cores_per_kernel"] = std::move(cores);
  return out;
}

Json parallelism_json(const PlacedGraph& placed) {
  const dataflow::Degrees& degrees = placed.placement.mapping->degrees;
  Json network = Json::array();
  for (std::size_t d = 0; d < placed.setup.system.network.size(); ++d) {
    const dataflow::NetworkDimension& dimension = placed.setup.system.network[d];
    network.push_back(
        Json{{"link", dimension.link == dataflow::Link::kFullyConnected ? "fully_connected" : name(dimension.link)},
             {"size", d < degrees.sizes.size() ? degrees.sizes[d] : dimension.size},
             {"bandwidth_gb_per_s", dimension.bandwidth_gb_per_s},
             {"parallelism", dimension.parallelism ? Json(name(*dimension.parallelism)) : Json(nullptr)}});
  }
  return Json{{"tp", degrees.tensor},   {"pp", degrees.pipeline}, {"dp", degrees.data},
              {"sp", degrees.sequence}, {"dims", degrees.sizes},  {"network", std::move(network)}};
}

Json money_json(const dataflow::PlacementMoney& m) {
  return Json{{"cost_usd", Json{{"accelerator", m.accelerator_cost},
                                {"dram", m.dram_cost},
                                {"link", m.link_cost},
                                {"switch", m.switch_cost},
                                {"link_by_dimension", m.link_cost_by_dimension},
                                {"switch_by_dimension", m.switch_cost_by_dimension}}},
              {"power_w", Json{{"accelerator", m.accelerator_power},
                               {"dram", m.dram_power},
                               {"link", m.link_power},
                               {"switch", m.switch_power}}}};
}

Json result_json(const PlacedGraph& placed) {
  if (!placed.placement.mapping) return nullptr;
  const dataflow::Evaluation& e = placed.placement.evaluation;
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  Json configurations = Json::array();
  for (const dataflow::ConfigurationCost& cost : e.partition.configurations)
    configurations.push_back(configuration_json(placed, cost));
  Json sharding = Json::object();
  for (std::size_t k = 0; k < mapping.sharding.size(); ++k) {
    // Kernels of several layers or blocks may share a name.
    const std::string& kernel = placed.setup.graph.kernels[k].name;
    sharding[sharding.contains(kernel) ? kernel + "#" + std::to_string(k + 1) : kernel] = name(mapping.sharding[k]);
  }
  Json parts = money_json(e.money);
  Json out{{"configurations", std::move(configurations)},
           {"assignment", mapping.configuration},
           {"sum_ii_ns", e.sum_interval_ns},
           {"final_ns", e.final_ns},
           {"pipeline_factor", e.pipeline_factor},
           {"p2p_ns", e.point_to_point_ns},
           {"layers_per_stage", e.layers_per_stage},
           {"micro_batches", e.micro_batches},
           {"tiles", mapping.tiles},
           {"tile_size", mapping.tile_size},
           {"flop", e.flop},
           {"flops_utilization", e.flops_utilization},
           {"system_cost_usd", e.money.total_cost()},
           {"system_power_w", e.money.total_power()},
           {"cost_usd", std::move(parts["cost_usd"])},
           {"power_w", std::move(parts["power_w"])},
           {"sharding", std::move(sharding)},
           {"sharding_rule", placed.placement.sharding.rule},
           {"communication_bytes", placed.placement.sharding.communication_bytes},
           {"parallelism", parallelism_json(placed)},
           {"formulas", name(placed.generation)}};
  if (e.latency_ns > 0) out["latency_ns"] = e.latency_ns;
  return out;
}

Json certificate_json(const dataflow::Placement& placement) {
  const cost::Certificate& certificate = placement.certificate;
  Json pruned = Json::object();
  for (const cost::Pruned& entry : certificate.pruned) pruned[entry.argument] = entry.count;
  return Json{
      {"optimal", certificate.optimal}, {"lower_bound", certificate.lower_bound}, {"gap", certificate.gap},
      {"space", certificate.space},     {"evaluated", certificate.evaluated},     {"pruned", std::move(pruned)},
      {"method", placement.method},     {"infeasible", placement.infeasible},     {"seconds", certificate.seconds}};
}

}  // namespace

std::string place_json(const PlaceDocument& document) {
  const PlacedGraph& placed = *document.placed;
  Json inputs = Json::array();
  for (const auto& [file, hash] : placed.inputs) inputs.push_back(Json{{"name", file}, {"hash", hash}});
  Json warnings = Json::parse(warnings_json(placed.warnings));
  const Json out{{"schema", "orrery.place/1"},
                 {"version", document.version},
                 {"inputs", std::move(inputs)},
                 {"result", result_json(placed)},
                 {"certificate", certificate_json(placed.placement)},
                 {"warnings", std::move(warnings)},
                 {"timing", Json{{"seconds", document.seconds}}}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
