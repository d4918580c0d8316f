#include "orrery/formats/dfmodel/run_log.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/engines/dataflow/model/dfmodel_network.h"
#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::formats::dfmodel {
namespace {

// The shortest digits that read back, as Python's repr: 25.0, 1e+16, 0.5.
std::string python(double value) {
  if (std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e16) return fmt::format("{:.1f}", value);
  return fmt::format("{}", value);
}

std::string line(const char* what, double value) {
  return fmt::format("{} {}\n", what, python(value));
}
std::string line(const char* what, std::size_t index, double value) {
  return fmt::format("{}[{}] {}\n", what, index, python(value));
}

std::string per_kernel(const dataflow::Setup& setup, const dataflow::Placement& placement,
                       const dataflow::Defects& defects) {
  const dataflow::Mapping& mapping = *placement.mapping;
  const dataflow::Evaluation& e = placement.evaluation;
  std::string out;
  for (std::size_t k = 0; k < mapping.configuration.size(); ++k)
    out += fmt::format("Config[{}] {}\n", k, mapping.configuration[k]);
  for (const dataflow::ConfigurationCost& cost : e.partition.configurations)
    for (std::size_t i = 0; i < cost.choices.size(); ++i) {
      const dataflow::CoreChoice& choice = cost.choices[i];
      out += fmt::format("Par_lane[{0}] {1}\nPar_stage[{0}] {2}\nPar_total[{0}] {3}\n", cost.kernels[i], choice.lanes,
                         choice.stages, choice.cores);
    }
  const std::vector<dataflow::Shard> shards = dataflow::shards(setup, mapping, defects);
  for (std::size_t k = 0; k < shards.size(); ++k)
    out += fmt::format("shard_outer_M[{0}] {1}\nshard_K[{0}] {2}\nshard_N[{0}] {3}\n", k, shards[k].m, shards[k].k,
                       shards[k].n);
  return out;
}

std::string per_configuration(const std::vector<dataflow::ConfigurationCost>& costs) {
  std::string out;
  const auto list = [&](const char* what, double dataflow::ConfigurationCost::*member) {
    for (std::size_t c = 0; c < costs.size(); ++c) out += line(what, c, costs[c].*member);
  };
  list("Compute_Latency", &dataflow::ConfigurationCost::compute_ns);
  list("Memory_Latency", &dataflow::ConfigurationCost::memory_ns);
  list("Network_Latency", &dataflow::ConfigurationCost::network_ns);
  list("Per_Config_II", &dataflow::ConfigurationCost::interval_ns);
  list("SRAM_Per_Config_total", &dataflow::ConfigurationCost::sram_bytes);
  list("DRAM_Per_Config_total", &dataflow::ConfigurationCost::dram_bytes);
  return out;
}

std::string money(const dataflow::PlacementMoney& m) {
  std::string out;
  for (std::size_t d = 0; d < m.link_cost_by_dimension.size(); ++d)
    out += line("LINK_cost", d, m.link_cost_by_dimension[d]);
  for (std::size_t d = 0; d < m.switch_cost_by_dimension.size(); ++d)
    out += line("SWITCH_cost", d, m.switch_cost_by_dimension[d]);
  out += line("total_DRAM_cost", m.dram_cost) + line("total_accelerator_cost", m.accelerator_cost) +
         line("total_link_cost", m.link_cost) + line("total_switch_cost", m.switch_cost);
  return out + line("total_DRAM_power", m.dram_power) + line("total_accelerator_power", m.accelerator_power) +
         line("total_link_power", m.link_power) + line("total_switch_power", m.switch_power);
}

}  // namespace

std::string run_log(const dataflow::Setup& setup, const dataflow::Placement& placement,
                    const dataflow::Defects& defects) {
  const dataflow::Evaluation& e = placement.evaluation;
  const dataflow::Mapping& mapping = *placement.mapping;
  const dataflow::System& system = setup.system;
  // By DFModel's table without the factor of two, whichever defect doubles it.
  dataflow::Defects once;
  once.table_collectives = dataflow::table_holds(defects);
  const double ratio = dataflow::group_charges(system, mapping.degrees, dataflow::Parallelism::kTensor, once, false)
                           .all_reduce.ns_per_byte;
  std::string out = line("ALL_REDUCE_ratio", ratio);
  out += fmt::format("layer_per_stage {}\nnum_tile {}\ntile_size {}\n", e.layers_per_stage, mapping.tiles,
                     mapping.tile_size);
  out += per_kernel(setup, placement, defects) + per_configuration(e.partition.configurations);
  out += line("p2p_latency", e.point_to_point_ns) + line("pipeline_factor", e.pipeline_factor) +
         line("all_config_II", e.sum_interval_ns) + money(e.money) + line("final_ns", e.final_ns);
  out += line("TP", static_cast<double>(mapping.degrees.tensor)) +
         line("PP", static_cast<double>(mapping.degrees.pipeline)) +
         line("DP", static_cast<double>(mapping.degrees.data));
  const char* seconds = defects.final_ii_in_log ? "final_ii_s" : "final_s";
  out += line(seconds, e.final_ns / 1e9);
  std::string links;
  for (const dataflow::NetworkDimension& dimension : system.network)
    links += (links.empty() ? "" : ", ") + python(dimension.bandwidth_gb_per_s);
  out += fmt::format("Number of Chips {}\n", system.chips);
  out += line("Per-Accelerator Throughput (GFLOPS)", system.cores.gflops());
  out += line("DRAM BW", system.memory_gb_per_s()) + fmt::format("Link BW [{}]\n", links);
  out += line("System Cost", e.money.total_cost()) + line("System Power", e.money.total_power()) +
         line("Workload FLOP", e.flop) + line("System FLOPS Utilization", e.flops_utilization);
  return out + line("Optimizer Runtime (s)", placement.certificate.seconds);
}

}  // namespace orrery::formats::dfmodel
