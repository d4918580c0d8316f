#include "orrery/verbs/place/json.h"

#include <set>

#include "orrery/verbs/place/table.h"

namespace orrery::verbs {
namespace {

using dataflow::ConfigurationCost;
using dataflow::CoreChoice;
using dataflow::Degrees;
using dataflow::Evaluation;
using dataflow::Mapping;
using dataflow::Placement;
using dataflow::PlacementMoney;

struct Configured {
  const PlacedGraph& placed;
  const ConfigurationCost& cost;

  // Where configurations differ in their tiles.
  const dataflow::Tiling* tiling() const {
    const auto& tilings = placed.placement.mapping->tilings;
    return cost.tiling >= 0 && !tilings.empty() ? &tilings[static_cast<std::size_t>(cost.tiling)] : nullptr;
  }
};

Record<Configured> configuration() {
  using C = ConfigurationCost;
  const Record<CoreChoice> cores = {{"cores", "lanes x stages", &CoreChoice::cores},
                                    {"lanes", "Along M.", &CoreChoice::lanes},
                                    {"stages", "Along N.", &CoreChoice::stages}};
  const Record<C> figures = {
      {"kernel_ids", "The same as ids of the graph, from 1.",
       [](const C& c) {
         std::vector<int> ids = c.kernels;
         for (int& id : ids) ++id;
         return ids;
       }},
      {"compute_ns", "Of a pass over one sequence, all tiles.", &C::compute_ns},
      {"memory_ns", "DRAM traffic of a pass.", &C::memory_ns},
      {"network_ns", "Communication of a pass.", &C::network_ns},
      {"ii_ns", "Initiation interval: from one pass to the next.", &C::interval_ns},
      {"bound", "What limits it; null where it is empty.",
       [](const C& c) { return c.kernels.empty() ? std::nullopt : std::optional<std::string>(name(c.bound)); },
       OneOf{{"nothing", "compute", "memory", "network"}}},
      {"sram_bytes", "Buffers and weights.", &C::sram_bytes},
      {"dram_bytes", "Resident while it runs: weights, tensors that wait, tables.", &C::dram_bytes},
      {"tiling_factor", "Parts into which a lone kernel's weight is cut.", &C::weight_split}};
  const Record<C> units = {{"memory_units", "In use, where SRAM is made of units.", &C::memory_units,
                            when([](const C& c) { return c.memory_units > 0; })}};
  Record<C> dealt_out = {{"cores", "In use, where cores are dealt out.", &C::cores},
                         {"cores_per_kernel", "Of each kernel, in order.", &C::choices, cores}};
  dealt_out.only([](const C& c) { return !c.choices.empty(); });
  Record<Configured> tiles = {{"tiles", "Of a sequence, where configurations differ (gen4, head).",
                               [](const Configured& c) { return c.tiling()->tiles; }},
                              {"tile_size", "Tokens of one, where configurations differ.",
                               [](const Configured& c) { return c.tiling()->tile_size; }}};
  tiles.only(&Configured::tiling);
  const auto cost = [](const Configured& c) -> const auto& {
    return c.cost;
  };
  Record<Configured> out = {
      {"kernels", "Names of those that run together; none where it is empty.", [](const Configured& c) {
         std::vector<std::string> names;
         for (int kernel : c.cost.kernels) names.push_back(c.placed.setup.graph.kernels[kernel].name);
         return names;
       }}};
  out.add(figures.of<Configured>(cost)).add(tiles);
  return out.add(units.of<Configured>(cost)).add(dealt_out.of<Configured>(cost));
}

std::vector<Configured> configurations(const PlacedGraph& placed) {
  std::vector<Configured> out;
  for (const ConfigurationCost& cost : placed.placement.evaluation.partition.configurations)
    out.push_back({placed, cost});
  return out;
}

// A dimension of the network, with as many chips as the placement uses of it.
struct Served {
  const dataflow::NetworkDimension& dimension;
  base::Count size;
};

std::vector<Served> served(const PlacedGraph& placed) {
  const Degrees& degrees = placed.placement.mapping->degrees;
  std::vector<Served> out;
  for (const dataflow::NetworkDimension& dimension : placed.setup.system.network)
    out.push_back({dimension, out.size() < degrees.sizes.size() ? degrees.sizes[out.size()] : dimension.size});
  return out;
}

Record<PlacedGraph> parallelism() {
  const Record<Served> dimension = {
      {"link", "Its kind.",
       [](const Served& s) {
         return s.dimension.link == dataflow::Link::kFullyConnected ? "fully_connected" : name(s.dimension.link);
       },
       OneOf{{"ring", "switch", "fully_connected"}}},
      {"size", "Chips along it.", &Served::size},
      {"bandwidth_gb_per_s", "Of a link, each way.", [](const Served& s) { return s.dimension.bandwidth_gb_per_s; }},
      {"parallelism", "What it serves; null where it serves none.",
       [](const Served& s) {
         const auto& what = s.dimension.parallelism;
         return what ? std::optional<std::string>(name(*what)) : std::nullopt;
       },
       OneOf{{"TP", "PP", "DP", "SP"}}}};
  const Record<Degrees> degrees = {{"tp", "Tensor.", &Degrees::tensor},
                                   {"pp", "Pipeline.", &Degrees::pipeline},
                                   {"dp", "Data.", &Degrees::data},
                                   {"sp", "Sequence.", &Degrees::sequence},
                                   {"dims", "Sizes of the network's dimensions, x first.", &Degrees::sizes}};
  Record<PlacedGraph> out =
      degrees.of<PlacedGraph>([](const PlacedGraph& p) -> const auto& { return p.placement.mapping->degrees; });
  return out.add({{"network", "The same dimensions in full.", served, dimension}});
}

const PlacementMoney& money(const PlacedGraph& placed) {
  return placed.placement.evaluation.money;
}
bool priced(const PlacedGraph& placed) {
  return names_prices(placed.setup.prices);
}
bool powered(const PlacedGraph& placed) {
  return names_powers(placed.setup.prices);
}

Record<PlacedGraph> costs() {
  using M = PlacementMoney;
  const Record<M> cost = {{"accelerator", "All of them.", &M::accelerator_cost},
                          {"dram", "All of it.", &M::dram_cost},
                          {"link", "Of all dimensions.", &M::link_cost},
                          {"switch", "Of all dimensions.", &M::switch_cost},
                          {"link_by_dimension", "x first.", &M::link_cost_by_dimension},
                          {"switch_by_dimension", "x first.", &M::switch_cost_by_dimension}};
  const Record<M> power = {{"accelerator", "All of them.", &M::accelerator_power},
                           {"dram", "All of it.", &M::dram_power},
                           {"link", "Of all dimensions.", &M::link_power},
                           {"switch", "Of all dimensions.", &M::switch_power}};
  const auto if_known = [](bool known, double value) { return known ? std::optional(value) : std::nullopt; };
  return {{"system_cost_usd", "Accelerators, DRAM, links, switches; null as `cost_usd`.",
           [=](const PlacedGraph& p) { return if_known(priced(p), money(p).total_cost()); }},
          {"system_power_w", "The same at peak; null as `power_w`.",
           [=](const PlacedGraph& p) { return if_known(powered(p), money(p).total_power()); }},
          {"cost_usd", "By part; null where the setup names no price.",
           [](const PlacedGraph& p) { return priced(p) ? &money(p) : nullptr; }, cost},
          {"power_w", "By part, at peak; null where the setup names no power.",
           [](const PlacedGraph& p) { return powered(p) ? &money(p) : nullptr; }, power}};
}

std::vector<std::pair<std::string, std::string>> sharding(const PlacedGraph& placed) {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> used;
  for (workload::KernelDimension dimension : placed.placement.mapping->sharding) {
    // Kernels of several layers or blocks may share a name.
    const std::string& kernel = placed.setup.graph.kernels[out.size()].name;
    std::string key = used.count(kernel) > 0 ? kernel + "#" + std::to_string(out.size() + 1) : kernel;
    used.insert(key);
    out.emplace_back(std::move(key), name(dimension));
  }
  return out;
}

// With `--joint`: what sharding first and fusing then makes of the same question.
Record<PlacedGraph> two_passes() {
  const auto passes = [](const PlacedGraph& p) -> const auto& {
    return *p.placement.two_passes;
  };
  return {{"final_ns", "Of the whole run, sharded first and fused then; null where that finds nothing.",
           [=](const PlacedGraph& p) {
             return passes(p).final_ns > 0 ? std::optional<double>(passes(p).final_ns) : std::nullopt;
           }},
          {"loss", "By what share it takes longer than the joint answer; null where that finds nothing.",
           [=](const PlacedGraph& p) {
             return passes(p).final_ns > 0 ? std::optional<double>(passes(p).loss(p.placement.evaluation.final_ns))
                                           : std::nullopt;
           }},
          {"optimal", "Whether it is proven to be the best that two passes find.",
           [=](const PlacedGraph& p) { return passes(p).optimal; }}};
}

Record<PlacedGraph> result() {
  using E = Evaluation;
  const auto mapping = [](const PlacedGraph& p) -> const Mapping& { return *p.placement.mapping; };
  const auto evaluation = [](const PlacedGraph& p) -> const E& { return p.placement.evaluation; };
  const Record<Mapping> assignment = {
      {"assignment", "Configuration of each kernel, in the order of ids.", &Mapping::configuration}};
  const Record<E> run = {{"sum_ii_ns", "Of one pass through all configurations.", &E::sum_interval_ns},
                         {"final_ns", "Of the whole run.", &E::final_ns},
                         {"pipeline_factor", "By what the pipeline's bubble multiplies the time.", &E::pipeline_factor},
                         {"p2p_ns", "Messages between pipeline stages.", &E::point_to_point_ns},
                         {"layers_per_stage", "Passes of the graph on a chip for a sequence.", &E::layers_per_stage},
                         {"micro_batches", "Of a replica.", &E::micro_batches}};
  const Record<Mapping> tiles = {{"tiles", "Of a sequence.", &Mapping::tiles},
                                 {"tile_size", "Tokens of a tile.", &Mapping::tile_size}};
  const Record<E> flop = {{"flop", "Of the workload, unsharded.", &E::flop},
                          {"flops_utilization", "FLOP over time, chips and peak; 0 to 1.", &E::flops_utilization}};
  Record<PlacedGraph> out = {{"configurations", "In the order in which they run.", configurations, configuration()}};
  out.add(assignment.of<PlacedGraph>(mapping)).add(run.of<PlacedGraph>(evaluation));
  out.add(tiles.of<PlacedGraph>(mapping)).add(flop.of<PlacedGraph>(evaluation)).add(costs());
  return out.add(
      {{"sharding", "Dimension of each kernel that is split over the tensor-parallel chips.", sharding,
        OneOf{{"outer", "M", "K", "N", "none"}}},
       {"sharding_rule", "Where it came from.", [](const PlacedGraph& p) { return p.placement.sharding.rule; },
        OneOf{{"pinned", "reference table", "optimised", "joint", "not sharded"}}},
       {"communication_bytes", "That the sharding causes in a pass, of whole tensors.",
        [](const PlacedGraph& p) { return p.placement.sharding.communication_bytes; }},
       {"parallelism", "Degrees, and what each dimension of the network serves.", std::identity(), parallelism()},
       {"formulas", "Whose arithmetic.", [](const PlacedGraph& p) { return formulas(p.defects); }},
       {"timed", "What times the products.", &PlacedGraph::timed,
        OneOf{{"cores", "utilization", "measurements", "roofline", "chip"}}},
       {"notes", "What of a model is placed, and what its kernels do not show; with `--model`.", &PlacedGraph::notes,
        when([](const PlacedGraph& p) { return !p.notes.empty(); })},
       {"not_looked_at", "Placements that the proof does not speak of, in words; with `--model` on several nodes.",
        &PlacedGraph::not_looked_at, when([](const PlacedGraph& p) { return !p.not_looked_at.empty(); })},
       {"in_second_dram", "Whether the first level of DRAM does not hold everything; where there is a second.",
        [=](const PlacedGraph& p) { return evaluation(p).partition.in_second_dram; },
        when([](const PlacedGraph& p) { return p.setup.system.second_memory.capacity_bytes > 0; })},
       {"two_passes", "What sharding first and fusing then would take; with `--joint`.", std::identity(), two_passes(),
        when([](const PlacedGraph& p) { return p.placement.two_passes.has_value(); })},
       {"latency_ns", "Of one sequence through all stages; of models that only run forward.",
        [=](const PlacedGraph& p) { return evaluation(p).latency_ns; },
        when([=](const PlacedGraph& p) { return evaluation(p).latency_ns > 0; })}});
}

Record<Placement> certificate() {
  Record<Placement> out = proof().of<Placement>(&Placement::certificate);
  return out.add({{"pruned", "Answers that an argument ruled out, by argument.",
                   [](const Placement& p) { return pruned(p.certificate); }},
                  {"method", "Of the search.", &Placement::method},
                  {"infeasible", "Whether it is proven that nothing fits.", &Placement::infeasible},
                  {"seconds", "Of the search.", [](const Placement& p) { return p.certificate.seconds; }}});
}

}  // namespace

Document<PlacedGraph> place_document() {
  const auto found = [](const PlacedGraph& p) { return p.placement.mapping ? &p : nullptr; };
  return {
      "place",
      {{"result", "The placement; null where there is none.", found, result()},
       {"certificate", "What is proven of `final_ns`; `lower_bound` in ns.", &PlacedGraph::placement, certificate()}}};
}

}  // namespace orrery::verbs
