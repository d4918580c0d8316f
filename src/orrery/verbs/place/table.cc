#include "orrery/verbs/place/table.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/dataflow/partition/partition_space.h"
#include "orrery/present/graph_picture.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using base::grouped;
using dataflow::ConfigurationCost;
using dataflow::Evaluation;

std::string degrees_text(const dataflow::Degrees& degrees) {
  std::string out;
  if (degrees.sequence > 1) out = fmt::format("SP {}, ", degrees.sequence);
  return out + fmt::format("TP {}, PP {}, DP {}", degrees.tensor, degrees.pipeline, degrees.data);
}

const char* overlap_text(dataflow::Overlap overlap) {
  if (overlap == dataflow::Overlap::kPerfect) return "compute, memory and network overlap";
  if (overlap == dataflow::Overlap::kNone) return "nothing overlaps";
  return "compute and memory overlap, the network does not";
}

std::string header(const PlacedGraph& placed) {
  const dataflow::Setup& setup = placed.setup;
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  std::string out = fmt::format("{}: {} kernels on {} accelerators of {:.6g} TFLOP/s\n", placed.title,
                                setup.graph.kernels.size(), setup.system.chips, setup.system.cores.gflops() / 1e3);
  out += fmt::format("{}; {}\n", degrees_text(mapping.degrees), network_text(setup.system, mapping.degrees));
  if (!mapping.tilings.empty())
    out += "tiles of a size for each configuration; ";
  else if (mapping.tile_size > 0)
    out += setup.execution.whole_kernels
               ? fmt::format("tiles as {}; ", !placed.chip.empty()         ? "the chip's loop nests cut them"
                                              : placed.timed == "roofline" ? "the roofline cuts them"
                                                                           : "what computes a kernel cuts them")
               : fmt::format("{} tile{} of {} token{}; ", mapping.tiles, base::plural(mapping.tiles), mapping.tile_size,
                             base::plural(mapping.tile_size));
  out += fmt::format("{}; sharding: {}\n", overlap_text(setup.execution.overlap), placed.placement.sharding.rule);
  return out;
}

// A long list of equal-looking configurations_of_place_table (one per block of a factorisation) is cut in the middle;
// JSON has all.
constexpr std::size_t kMostRows = 48;

// These work block by block within a kernel: their buffers are not whole tiles, and nobody checks them.
bool sram_counts(const dataflow::Workload& workload) {
  return !std::holds_alternative<dataflow::Linpack>(workload) &&
         !std::holds_alternative<dataflow::FourierTransform>(workload);
}

std::string configurations_of_place_table(const PlacedGraph& placed) {
  // Nor are those of whole kernels.
  const bool sram = sram_counts(placed.setup.execution.workload) && !placed.setup.execution.whole_kernels;
  const std::vector<ConfigurationCost>& costs = placed.placement.evaluation.partition.configurations;
  Table table;
  table.header = {"configuration", "kernels",  "",         "compute", "memory",
                  "network",       "interval", "bound by", "SRAM",    "DRAM"};
  table.left_columns = {2, 7};
  std::size_t shown = 0;
  std::size_t hidden = 0;
  double hidden_ns = 0;
  const std::size_t half = kMostRows / 2;
  const std::size_t used = static_cast<std::size_t>(
      std::count_if(costs.begin(), costs.end(), [](const ConfigurationCost& c) { return !c.kernels.empty(); }));
  for (std::size_t c = 0; c < costs.size(); ++c) {
    const ConfigurationCost& cost = costs[c];
    if (cost.kernels.empty()) continue;
    const std::size_t at = shown++;
    if (used > kMostRows && at >= half && at < used - half) {
      ++hidden;
      hidden_ns += cost.interval_ns;
      continue;
    }
    if (hidden > 0) {
      table.rows.push_back(
          {"...", "", fmt::format("{} more", hidden), "", "", "", shown_seconds(hidden_ns * 1e-9), "", "", ""});
      hidden = 0;
    }
    table.rows.push_back({fmt::format("{}", c), fmt::format("{}", cost.kernels.size()),
                          kernel_ranges(placed.setup.graph, cost.kernels, 3), shown_seconds(cost.compute_ns * 1e-9),
                          shown_seconds(cost.memory_ns * 1e-9), shown_seconds(cost.network_ns * 1e-9),
                          shown_seconds(cost.interval_ns * 1e-9), name(cost.bound),
                          sram ? bytes_text(cost.sram_bytes) : "-", bytes_text(cost.dram_bytes)});
  }
  return text(table);
}

std::string times(const PlacedGraph& placed) {
  const Evaluation& e = placed.placement.evaluation;
  std::string out = fmt::format("sum of intervals  {}\n", shown_seconds(e.sum_interval_ns * 1e-9));
  if (std::holds_alternative<dataflow::LanguageModelRun>(placed.setup.execution.workload)) {
    out += fmt::format("pipeline          x {:.6g}, {} layer{} a stage, {} microbatches\n", e.pipeline_factor,
                       e.layers_per_stage, base::plural(e.layers_per_stage), e.micro_batches);
    if (e.point_to_point_ns > 0)
      out += fmt::format("between stages    {}\n", shown_seconds(e.point_to_point_ns * 1e-9));
  }
  if (e.partition.in_second_dram)
    out += fmt::format("second DRAM       in use: all traffic at {:.6g} GB/s\n",
                       placed.setup.system.mixed_memory_gb_per_s());
  out += fmt::format("time              {}\n", shown_seconds(e.final_ns * 1e-9));
  if (e.latency_ns > 0)
    out +=
        fmt::format("latency           {} for one sequence through all stages\n", shown_seconds(e.latency_ns * 1e-9));
  out += fmt::format("work              {:.4g} FLOP, {:.2f} % of the peak\n", e.flop, 100 * e.flops_utilization);
  return out;
}

// Nothing where sharding and fusion were not chosen together.
std::string two_passes(const PlacedGraph& placed) {
  if (!placed.placement.two_passes) return {};
  const dataflow::TwoPasses& passes = *placed.placement.two_passes;
  if (passes.final_ns <= 0) return "two passes        find nothing: sharded first, the graph does not fit\n";
  const double loss = passes.loss(placed.placement.evaluation.final_ns);
  const std::string time = shown_seconds(passes.final_ns * 1e-9);
  if (loss <= 1e-9) return fmt::format("two passes        {}: sharding first loses nothing\n", time);
  return fmt::format("two passes        {}{}: sharding first loses {:.3g} %\n", time,
                     passes.optimal ? "" : " at best known", 100 * loss);
}

// Nothing where nobody said what anything costs.
std::string money_of_place_table(const PlacedGraph& placed) {
  const bool prices = names_prices(placed.setup.prices), powers = names_powers(placed.setup.prices);
  if (!prices && !powers) return {};
  const dataflow::PlacementMoney& m = placed.placement.evaluation.money;
  Table table;
  table.header = {"", "accelerators", "DRAM", "links", "switches", "total"};
  const auto figures = [&](const char* name, std::initializer_list<double> values) {
    std::vector<std::string> row{name};
    for (const double value : values) row.push_back(grouped(value));
    table.rows.push_back(std::move(row));
  };
  if (prices) figures("price ($)", {m.accelerator_cost, m.dram_cost, m.link_cost, m.switch_cost, m.total_cost()});
  if (powers) figures("power (W)", {m.accelerator_power, m.dram_power, m.link_power, m.switch_power, m.total_power()});
  return text(table) + "\n";
}

std::string proof(const PlacedGraph& placed) {
  const base::Certificate& certificate = placed.placement.certificate;
  std::string out;
  if (certificate.optimal)
    out = fmt::format("proof             optimal: none of {}{:.3g} placements ends sooner ({})\n",
                      certificate.space >= dataflow::PartitionSpace::kMostCounted ? "over " : "", certificate.space,
                      placed.placement.method);
  else
    out = fmt::format("proof             none; nothing ends before {}: gap {:.3g} % ({})\n",
                      shown_seconds(certificate.lower_bound * 1e-9), 100 * certificate.gap, placed.placement.method);
  if (!placed.not_looked_at.empty()) out += fmt::format("not looked at     {}\n", placed.not_looked_at);
  if (!placed.chip.empty())
    out += fmt::format("products          {} shapes mapped onto {} for the least time\n", placed.searched, placed.chip);
  for (std::size_t i = 0; i < placed.notes.size(); ++i)
    out += fmt::format("{:<18}{}\n", i == 0 ? "graph" : "", placed.notes[i]);
  return out + "figures are modelled\n";
}

}  // namespace

bool names_prices(const dataflow::Prices& prices) {
  return prices.link_price > 0 || prices.switch_price > 0 || prices.dram_price > 0 || prices.accelerator_price > 0;
}

bool names_powers(const dataflow::Prices& prices) {
  return std::any_of(std::begin(prices.link_power), std::end(prices.link_power), [](double w) { return w > 0; }) ||
         prices.switch_power > 0 || prices.dram_power > 0 || prices.accelerator_power > 0;
}

const char* name(dataflow::Binding bound) {
  static constexpr const char* kNames[] = {"nothing", "compute", "memory", "network"};
  return kNames[static_cast<int>(bound)];
}

const char* name(workload::KernelDimension dimension) {
  static constexpr const char* kNames[] = {"outer", "M", "K", "N", "none"};
  return kNames[static_cast<int>(dimension)];
}

const char* name(dataflow::Link link) {
  static constexpr const char* kNames[] = {"ring", "switch", "fully connected"};
  return kNames[static_cast<int>(link)];
}

const char* name(dataflow::Parallelism parallelism) {
  static constexpr const char* kNames[] = {"TP", "PP", "DP", "SP"};
  return kNames[static_cast<int>(parallelism)];
}

std::string formulas(const dataflow::Defects& defects) {
  const std::vector<std::string> names = base::present(dataflow::kDefects, defects);
  return names.empty() ? "corrected" : base::joined(names, ", ");
}

std::string kernel_ranges(const workload::KernelGraph& graph, const std::vector<int>& kernels, std::size_t most) {
  std::string out;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < kernels.size();) {
    std::size_t last = i;
    while (last + 1 < kernels.size() && kernels[last + 1] == kernels[last] + 1) ++last;
    if (ranges == most) return out + fmt::format(" and {} more", kernels.size() - i);
    if (ranges++ > 0) out += ", ";
    out += graph.kernels[kernels[i]].name;
    if (last > i) out += (last == i + 1 ? ", " : "..") + graph.kernels[kernels[last]].name;
    i = last + 1;
  }
  return out;
}

std::string network_text(const dataflow::System& system, const dataflow::Degrees& degrees) {
  const auto size_of = [&](std::size_t d) {
    return d < degrees.sizes.size() ? degrees.sizes[d] : system.network[d].size;
  };
  std::size_t joins = 0;  // dimensions that join anything
  for (std::size_t d = 0; d < system.network.size(); ++d) joins += size_of(d) != 1 ? 1 : 0;
  std::string out;
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    const dataflow::NetworkDimension& dimension = system.network[d];
    if (size_of(d) == 1 && joins > 0) continue;
    out += fmt::format("{}{} {} x {:.6g} GB/s", out.empty() ? "" : ", ", name(dimension.link), size_of(d),
                       dimension.bandwidth_gb_per_s);
    if (dimension.parallelism) out += fmt::format(" ({})", name(*dimension.parallelism));
  }
  return out;
}

std::string place_table(const PlacedGraph& placed) {
  return header(placed) + "\n" + configurations_of_place_table(placed) + "\n" + times(placed) + two_passes(placed) +
         "\n" + money_of_place_table(placed) + proof(placed);
}

}  // namespace orrery::verbs
