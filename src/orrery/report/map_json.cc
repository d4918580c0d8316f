#include "orrery/report/map_json.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "orrery/report/diagnostic_text.h"
#include "orrery/report/loop_nest.h"
#include "orrery/report/warnings_json.h"
#include "orrery/report/why.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

Json place(const base::Location& where) {
  if (!where.known()) return nullptr;
  return Json{{"file", where.file->name}, {"line", where.line}, {"column", shown_column(where)}};
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json storage_json(const scenario::MappedLayer& layer, std::size_t i) {
  const machine::Storage& storage = layer.chip.storages[i];
  const nest::StorageCost& cost = layer.optimum.evaluation.storages[i];
  Json dataspaces = Json::object();
  for (std::size_t s = 0; s < cost.dataspaces.size(); ++s) {
    const nest::DataspaceCost& traffic = cost.dataspaces[s];
    if (!traffic.kept) continue;
    dataspaces[layer.einsum.dataspaces[s].name] = Json{{"reads", traffic.reads},
                                                       {"fills", traffic.fills},
                                                       {"updates", traffic.updates},
                                                       {"tile_words", traffic.tile_words},
                                                       {"partition_words", traffic.partition_words},
                                                       {"energy_pj", traffic.energy_pj}};
  }
  return Json{{"name", storage.name},
              {"kind", "storage"},
              {"energy_pj", cost.energy_pj},
              {"dataspaces", std::move(dataspaces)},
              {"leakage_pj", cost.leakage_pj},
              {"cycles", cost.cycles},
              {"throttle", cost.throttle},
              {"instances", storage.instances},
              {"utilized_instances", cost.utilized_instances},
              {"fan_out_only", storage.pass_through},
              {"area_um2", optional_number(storage.area_um2)}};
}

Json compute_json(const scenario::MappedLayer& layer) {
  const machine::Compute& compute = layer.chip.compute;
  const nest::ComputeCost& cost = layer.optimum.evaluation.compute;
  return Json{{"name", compute.name},
              {"kind", "compute"},
              {"energy_pj", cost.energy_pj},
              {"dataspaces", Json::object()},
              {"leakage_pj", cost.leakage_pj},
              {"cycles", cost.cycles},
              {"operations", cost.operations},
              {"instances", compute.instances},
              {"utilized_instances", cost.utilized_instances},
              {"area_um2", optional_number(compute.area_um2)}};
}

Json network_json(const scenario::MappedLayer& layer, std::size_t i) {
  const nest::NetworkCost& cost = layer.optimum.evaluation.networks[i];
  Json dataspaces = Json::object();
  for (std::size_t s = 0; s < cost.transfers.size(); ++s)
    dataspaces[layer.einsum.dataspaces[s].name] = Json{{"reads", cost.transfers[s]},
                                                       {"fills", 0},
                                                       {"updates", 0},
                                                       {"destinations", cost.destinations[s]},
                                                       {"energy_pj", cost.dataspace_energy_pj[s]}};
  return Json{{"name", layer.chip.networks[i].name},
              {"kind", "network"},
              {"energy_pj", cost.energy_pj},
              {"dataspaces", std::move(dataspaces)},
              {"area_um2", optional_number(layer.chip.networks[i].area_um2)}};
}

Json factors_json(const workload::Einsum& einsum, const std::vector<base::Count>& factors) {
  Json out = Json::object();
  for (std::size_t d = 0; d < factors.size(); ++d)
    if (factors[d] > 1) out[einsum.dimensions[d].name] = factors[d];
  return out;
}

Json order_json(const workload::Einsum& einsum, const std::vector<int>& order) {
  Json out = Json::array();
  for (int d : order) out.push_back(einsum.dimensions[d].name);
  return out;
}

// Levels outer to inner; permutations innermost first, as everywhere in Timeloop.
Json mapping_json(const scenario::MappedLayer& layer, const nest::Mapping& mapping) {
  Json levels = Json::array();
  for (std::size_t i = layer.chip.storages.size(); i-- > 0;) {
    const nest::LevelMapping& level = mapping.levels[i];
    Json keep = Json::array();
    for (std::size_t s = 0; s < layer.einsum.dataspaces.size(); ++s)
      if (level.keep >> s & 1u) keep.push_back(layer.einsum.dataspaces[s].name);
    levels.push_back(Json{{"level", layer.chip.storages[i].name},
                          {"keep", std::move(keep)},
                          {"temporal", factors_json(layer.einsum, level.temporal)},
                          {"permutation", order_json(layer.einsum, level.temporal_order)},
                          {"spatial", factors_json(layer.einsum, level.spatial)},
                          {"spatial_permutation", order_json(layer.einsum, level.spatial_order)},
                          {"split", level.split}});
  }
  return Json{{"text", one_line(layer.einsum, mapping)}, {"levels", std::move(levels)}};
}

Json certificate_json(const cost::Certificate& certificate) {
  Json pruned = Json::object();
  for (const cost::Pruned& entry : certificate.pruned) pruned[entry.argument] = entry.count;
  return Json{
      {"optimal", certificate.optimal}, {"lower_bound", certificate.lower_bound}, {"gap", certificate.gap},
      {"space", certificate.space},     {"evaluated", certificate.evaluated},     {"seconds", certificate.seconds},
      {"pruned", std::move(pruned)}};
}

const char* metric_name(nest::Metric metric) {
  switch (metric) {
    case nest::Metric::kEdp:
      return "edp";
    case nest::Metric::kEnergy:
      return "energy";
    case nest::Metric::kDelay:
      return "delay";
  }
  return "edp";
}

Json conflicts_json(const nest::Optimum& optimum) {
  Json conflicts = Json::array();
  for (const nest::Conflict& conflict : optimum.conflicts)
    conflicts.push_back(Json{{"text", conflict.text}, {"where", place(conflict.where)}});
  return conflicts;
}

// A mapping beside the optimum: what it costs, how it looks, what is proven of it.
Json choice_json(const scenario::MappedLayer& layer, const nest::Optimum& optimum) {
  const nest::Evaluation& cost = optimum.evaluation;
  return Json{{"energy_pj", cost.energy_pj},
              {"cycles", cost.cycles},
              {"edp_j_cycles", cost.edp_j_cycles},
              {"utilization", cost.utilization},
              {"mapping", mapping_json(layer, *optimum.mapping)},
              {"certificate", certificate_json(optimum.certificate)}};
}

Json front_json(const scenario::MappedLayer& layer) {
  Json points = Json::array();
  for (const nest::Optimum& point : layer.front->points)
    if (point.mapping) points.push_back(choice_json(layer, point));
  return points;
}

Json why_json(const scenario::MappedLayer& layer) {
  const nest::Optimum& forced = layer.forced->optimum;
  Json out{{"choice", layer.forced->choice}};
  if (!forced.mapping) {
    out["infeasible"] = forced.infeasible;
    out["conflicts"] = conflicts_json(forced);
    out["arithmetic"] = forced.arithmetic;
    out["mapping"] = nullptr;
    out["certificate"] = certificate_json(forced.certificate);
    return out;
  }
  out.update(choice_json(layer, forced));
  const CostRatio ratio = ratio_to_best(layer);
  out["ratio"] = Json{{"energy", ratio.energy}, {"cycles", ratio.cycles}, {"edp", ratio.edp}};
  Json levels = Json::array();
  for (const LevelDifference& level : level_differences(layer))
    levels.push_back(
        Json{{"name", level.name}, {"best_energy_pj", level.best_pj}, {"forced_energy_pj", level.forced_pj}});
  out["levels"] = std::move(levels);
  return out;
}

Json layer_json(const scenario::MappedLayer& layer) {
  Json out{{"name", layer.name}, {"instances", layer.instances}};
  out["figures"] = layer.estimates ? "estimated" : "given";
  Json dimensions = Json::object();
  for (const workload::Dimension& dimension : layer.einsum.dimensions) dimensions[dimension.name] = dimension.bound;
  if (layer.found()) {
    const nest::Evaluation& cost = layer.optimum.evaluation;
    out["energy_pj"] = cost.energy_pj;
    out["cycles"] = cost.cycles;
    out["utilization"] = cost.utilization;
    out["edp_j_cycles"] = cost.edp_j_cycles;
    Json levels = Json::array();
    for (std::size_t i = layer.chip.storages.size(); i-- > 0;) levels.push_back(storage_json(layer, i));
    levels.push_back(compute_json(layer));
    for (std::size_t i = 0; i < cost.networks.size(); ++i) levels.push_back(network_json(layer, i));
    out["levels"] = std::move(levels);
    const int binding = binding_level(cost);
    out["bound_by"] = binding < 0 ? layer.chip.compute.name : layer.chip.storages[binding].name;
    out["mapping"] = mapping_json(layer, *layer.optimum.mapping);
  } else {
    out["infeasible"] = layer.optimum.infeasible;
    out["conflicts"] = conflicts_json(layer.optimum);
    out["arithmetic"] = layer.optimum.arithmetic;
    out["mapping"] = nullptr;
  }
  out["dimensions"] = std::move(dimensions);
  if (layer.searched) {
    Json objective = Json::array();
    for (nest::Metric metric : layer.objective) objective.push_back(metric_name(metric));
    out["objective"] = std::move(objective);
    if (layer.optimum.interrupted) out["interrupted"] = true;
    if (layer.optimum.out_of_memory) out["out_of_memory"] = true;
    out["certificate"] = certificate_json(layer.optimum.certificate);
    if (layer.certified)
      out["certificate"]["certified"] =
          Json{{"agrees", layer.certified->finished ? Json(layer.certified->agrees) : Json(nullptr)},
               {"seconds", layer.certified->seconds}};
  }
  if (layer.front) {
    out["pareto"] = front_json(layer);
    out["pareto_complete"] = layer.front->complete;
  }
  if (layer.forced) out["why"] = why_json(layer);
  return out;
}

Json totals_json(const scenario::Totals& sum) {
  return Json{{"energy_pj", sum.energy_pj},
              {"cycles", sum.cycles},
              {"edp_j_cycles", sum.edp_j_cycles},
              {"edp_seed", sum.edp_seed}};
}

// `total` and `model` are what they say or null: sums over some of the layers have names of their own.
void add_totals(const MapDocument& document, Json& result) {
  const std::vector<scenario::MappedLayer>& layers = document.mapped->layers;
  Json unmapped = Json::array();
  for (const scenario::MappedLayer& layer : layers)
    if (!layer.found()) unmapped.push_back(layer.name);
  const scenario::Totals block = scenario::totals(layers);
  result["total"] = unmapped.empty() ? totals_json(block) : Json(nullptr);
  if (!unmapped.empty()) {
    if (unmapped.size() < layers.size()) result["total_of_mapped"] = totals_json(block);
    result["unmapped"] = unmapped;
  }
  if (document.blocks == 0) return;
  result["blocks"] = document.blocks;
  const Json all = unmapped.empty() ? totals_json(scenario::times(block, document.blocks)) : Json(nullptr);
  if (document.selected.empty()) {
    result["model"] = all;
    return;
  }
  result["selection"] = document.selected;
  result["selection_in_all_blocks"] = all;
}

// What all layers together prove.
Json summary_json(const std::vector<scenario::MappedLayer>& layers) {
  cost::Certificate sum;
  sum.optimal = true;
  double gap = 0;
  for (const scenario::MappedLayer& layer : layers) {
    const cost::Certificate& one = layer.optimum.certificate;
    sum.optimal = sum.optimal && one.optimal;
    gap = std::max(gap, one.gap);
    sum.space += one.space;
    sum.evaluated += one.evaluated;
    sum.seconds += one.seconds;
  }
  return Json{{"optimal", sum.optimal},
              {"gap", gap},
              {"space", sum.space},
              {"evaluated", sum.evaluated},
              {"seconds", sum.seconds}};
}

}  // namespace

std::string map_json(const MapDocument& document) {
  const scenario::MappedModel& mapped = *document.mapped;
  Json inputs = Json::array();
  for (const auto& [name, hash] : mapped.inputs) inputs.push_back(Json{{"name", name}, {"hash", hash}});
  Json layers = Json::array();
  bool searched = false;
  for (const scenario::MappedLayer& layer : mapped.layers) {
    layers.push_back(layer_json(layer));
    searched = searched || layer.searched;
  }
  Json result{{"layers", std::move(layers)}};
  add_totals(document, result);
  if (mapped.layers.size() == 1 && mapped.layers[0].front) {
    result["pareto"] = front_json(mapped.layers[0]);
    result["pareto_complete"] = mapped.layers[0].front->complete;
  }
  Json warnings = Json::parse(warnings_json(mapped.warnings));

  Json out{{"schema", "orrery." + document.verb + "/1"},
           {"version", document.version},
           {"compat", document.compat},
           {"inputs", std::move(inputs)},
           {"result", std::move(result)}};
  if (searched) out["certificate"] = summary_json(mapped.layers);
  out["warnings"] = std::move(warnings);
  out["timing"] = Json{{"seconds", document.seconds}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
