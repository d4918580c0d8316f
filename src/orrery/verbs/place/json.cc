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
  const Record<CoreChoice> cores = {{"cores", "Cores of the kernel: lanes x stages.", &CoreChoice::cores},
                                    {"lanes", "Cores side by side along M.", &CoreChoice::lanes},
                                    {"stages", "Cores one after the other along N.", &CoreChoice::stages}};
  const Record<C> figures = {
      {"kernel_ids", "Numbers of the kernels that run together, from 1.",
       [](const C& c) {
         std::vector<int> ids = c.kernels;
         for (int& id : ids) ++id;
         return ids;
       }},
      {"compute_ns", "Computing time of a pass over one sequence, all tiles, in ns.", &C::compute_ns},
      {"memory_ns", "Time of a pass's DRAM traffic, in ns.", &C::memory_ns},
      {"network_ns", "Time of a pass's communication, in ns.", &C::network_ns},
      {"ii_ns", "Initiation interval, in ns: from one pass to the next.", &C::interval_ns},
      {"bound", "What limits the interval; null where the configuration is empty.",
       [](const C& c) { return c.kernels.empty() ? std::nullopt : std::optional<std::string>(name(c.bound)); },
       OneOf{{"nothing", "compute", "memory", "network"}}},
      {"sram_bytes", "Bytes of SRAM for buffers and weights.", &C::sram_bytes},
      {"dram_bytes", "Bytes of DRAM while it runs: weights, tensors that wait, tables.", &C::dram_bytes},
      {"tiling_factor", "Parts into which the weight of a lone kernel is cut.", &C::weight_split}};
  const Record<C> units = {{"memory_units", "SRAM units in use, on chips whose SRAM consists of units.",
                            &C::memory_units, when([](const C& c) { return c.memory_units > 0; })}};
  Record<C> dealt_out = {{"cores", "Cores in use, on chips whose cores are distributed over kernels.", &C::cores},
                         {"cores_per_kernel", "Cores of each kernel, in the order of `kernels`.", &C::choices, cores}};
  dealt_out.only([](const C& c) { return !c.choices.empty(); });
  Record<Configured> tiles = {{"tiles", "Tiles of a sequence, where configurations differ in them (gen4, head).",
                               [](const Configured& c) { return c.tiling()->tiles; }},
                              {"tile_size", "Tokens of a tile, where configurations differ in them (gen4, head).",
                               [](const Configured& c) { return c.tiling()->tile_size; }}};
  tiles.only(&Configured::tiling);
  const auto cost = [](const Configured& c) -> const auto& {
    return c.cost;
  };
  Record<Configured> out = {
      {"kernels", "Names of the kernels that run together; empty where none do.", [](const Configured& c) {
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
      {"link", "Topology of the dimension.",
       [](const Served& s) {
         return s.dimension.link == dataflow::Link::kFullyConnected ? "fully_connected" : name(s.dimension.link);
       },
       OneOf{{"ring", "switch", "fully_connected"}}},
      {"size", "Chips along the dimension.", &Served::size},
      {"bandwidth_gb_per_s", "Bandwidth of a link each way, in GB/s.",
       [](const Served& s) { return s.dimension.bandwidth_gb_per_s; }},
      {"parallelism", "Parallelism that the dimension serves; null: none.",
       [](const Served& s) {
         const auto& what = s.dimension.parallelism;
         return what ? std::optional<std::string>(name(*what)) : std::nullopt;
       },
       OneOf{{"TP", "PP", "DP", "SP"}}}};
  const Record<Degrees> degrees = {{"tp", "Degree of tensor parallelism.", &Degrees::tensor},
                                   {"pp", "Degree of pipeline parallelism.", &Degrees::pipeline},
                                   {"dp", "Degree of data parallelism.", &Degrees::data},
                                   {"sp", "Degree of sequence parallelism.", &Degrees::sequence},
                                   {"dims", "Sizes of the network's dimensions, x first.", &Degrees::sizes}};
  Record<PlacedGraph> out =
      degrees.of<PlacedGraph>([](const PlacedGraph& p) -> const auto& { return p.placement.mapping->degrees; });
  return out.add({{"network", "Dimensions of the network, x first.", served, dimension}});
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
  const Record<M> cost = {
      {"accelerator", "Price of all accelerators, in USD.", &M::accelerator_cost},
      {"dram", "Price of all DRAM, in USD.", &M::dram_cost},
      {"link", "Price of all links, in USD.", &M::link_cost},
      {"switch", "Price of all switches, in USD.", &M::switch_cost},
      {"link_by_dimension", "Price of the links of each dimension in USD, x first.", &M::link_cost_by_dimension},
      {"switch_by_dimension", "Price of the switches of each dimension in USD, x first.",
       &M::switch_cost_by_dimension}};
  const Record<M> power = {{"accelerator", "Power of all accelerators, in W.", &M::accelerator_power},
                           {"dram", "Power of all DRAM, in W.", &M::dram_power},
                           {"link", "Power of all links, in W.", &M::link_power},
                           {"switch", "Power of all switches, in W.", &M::switch_power}};
  const auto if_known = [](bool known, double value) { return known ? std::optional(value) : std::nullopt; };
  return {{"system_cost_usd",
           "Price of accelerators, DRAM, links and switches, in USD; null where the setup names no price.",
           [=](const PlacedGraph& p) { return if_known(priced(p), money(p).total_cost()); }},
          {"system_power_w",
           "Power of accelerators, DRAM, links and switches at peak, in W; null where the setup names no power.",
           [=](const PlacedGraph& p) { return if_known(powered(p), money(p).total_power()); }},
          {"cost_usd", "Price by part, in USD; null where the setup names no price.",
           [](const PlacedGraph& p) { return priced(p) ? &money(p) : nullptr; }, cost},
          {"power_w", "Power at peak by part, in W; null where the setup names no power.",
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

// What is drawn.
Record<workload::KernelGraph> kernel_graph() {
  using workload::Kernel;
  using workload::KernelEdge;
  const Record<Kernel> kernel = {
      {"name", "Name of the kernel.", &Kernel::name},
      {"unit", "What computes it.",
       [](const Kernel& k) { return k.unit == workload::KernelUnit::kSystolic ? "systolic" : "simd"; },
       OneOf{{"systolic", "simd"}}},
      {"direction", "Pass that it is of.",
       [](const Kernel& k) { return k.direction == workload::Direction::kForward ? "forward" : "backward"; },
       OneOf{{"forward", "backward"}}},
      {"product", "Whether it is a matrix product.", &Kernel::is_product},
      {"outer", "Its size, unsharded, side by side.", &Kernel::outer},
      {"m", "Rows of its result.", &Kernel::m},
      {"k", "What it sums over; 1: nothing.", &Kernel::k},
      {"n", "Columns of its result.", &Kernel::n},
      {"output_bytes", "Bytes of its result.", &Kernel::output_bytes}};
  const Record<KernelEdge> edge = {
      {"from", "Number of the kernel that hands its result on, from 1.",
       [](const KernelEdge& e) { return e.from + 1; }},
      {"to", "Number of the kernel that takes it, from 1.", [](const KernelEdge& e) { return e.to + 1; }}};
  return {{"kernels", "Kernels, in the order of their numbers.", &workload::KernelGraph::kernels, kernel},
          {"edges", "Who hands results to whom.", &workload::KernelGraph::edges, edge}};
}

// With `--joint`: what sharding first and fusing then makes of the same question.
Record<PlacedGraph> two_passes() {
  const auto passes = [](const PlacedGraph& p) -> const auto& {
    return *p.placement.two_passes;
  };
  return {
      {"final_ns", "Time of the whole run, sharded first and fused then, in ns; null where that finds no placement.",
       [=](const PlacedGraph& p) {
         return passes(p).final_ns > 0 ? std::optional<double>(passes(p).final_ns) : std::nullopt;
       }},
      {"loss", "How much longer that takes than the joint answer, as a share; null where that finds no placement.",
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
      {"assignment", "Configuration of each kernel, in the order of their numbers.", &Mapping::configuration}};
  const Record<E> run = {
      {"sum_ii_ns", "Time of one pass through all configurations, in ns.", &E::sum_interval_ns},
      {"final_ns", "Time of the whole run, in ns.", &E::final_ns},
      {"pipeline_factor", "Factor by which the pipeline's bubble lengthens the run.", &E::pipeline_factor},
      {"p2p_ns", "Time of messages between pipeline stages, in ns.", &E::point_to_point_ns},
      {"layers_per_stage", "Passes of the graph on a chip for a sequence.", &E::layers_per_stage},
      {"micro_batches", "Microbatches of a replica.", &E::micro_batches}};
  const Record<Mapping> tiles = {{"tiles", "Tiles of a sequence.", &Mapping::tiles},
                                 {"tile_size", "Tokens of a tile.", &Mapping::tile_size}};
  const Record<E> flop = {
      {"flop", "Floating-point operations of the workload, unsharded.", &E::flop},
      {"flops_utilization", "Floating-point operations over time, chips and peak, 0 to 1.", &E::flops_utilization}};
  Record<PlacedGraph> out = {
      {"configurations", "Configurations, in the order in which they run.", configurations, configuration()}};
  out.add(assignment.of<PlacedGraph>(mapping)).add(run.of<PlacedGraph>(evaluation));
  out.add(tiles.of<PlacedGraph>(mapping)).add(flop.of<PlacedGraph>(evaluation)).add(costs());
  return out.add(
      {{"sharding", "Dimension of each kernel that is split over the tensor-parallel chips.", sharding,
        OneOf{{"outer", "M", "K", "N", "none"}}},
       {"graph", "The graph of kernels.", [](const PlacedGraph& p) { return p.setup.graph; }, kernel_graph()},
       {"sharding_rule", "How the sharding was found.", [](const PlacedGraph& p) { return p.placement.sharding.rule; },
        OneOf{{"pinned", "reference table", "optimised", "joint", "not sharded"}}},
       {"communication_bytes", "Bytes that the sharding communicates in a pass, of whole tensors.",
        [](const PlacedGraph& p) { return p.placement.sharding.communication_bytes; }},
       {"parallelism", "Degrees of parallelism, and what each dimension of the network serves.", std::identity(),
        parallelism()},
       {"formulas", "Whose formulas are used.", [](const PlacedGraph& p) { return formulas(p.defects); }},
       {"timed", "What the times of GEMMs rest on.", &PlacedGraph::timed,
        OneOf{{"cores", "utilization", "measurements", "roofline", "chip"}}},
       {"notes", "With `--model`: which part of the model is placed, and what its kernels do not show.",
        &PlacedGraph::notes, when([](const PlacedGraph& p) { return !p.notes.empty(); })},
       {"not_looked_at", "With `--model` on several nodes: placements that the proof does not cover, in words.",
        &PlacedGraph::not_looked_at, when([](const PlacedGraph& p) { return !p.not_looked_at.empty(); })},
       {"in_second_dram", "On chips with a second level of DRAM: whether the first one does not hold everything.",
        [=](const PlacedGraph& p) { return evaluation(p).partition.in_second_dram; },
        when([](const PlacedGraph& p) { return p.setup.system.second_memory.capacity_bytes > 0; })},
       {"two_passes", "With `--joint`: what sharding first and fusing then would take.", std::identity(), two_passes(),
        when([](const PlacedGraph& p) { return p.placement.two_passes.has_value(); })},
       {"latency_ns", "Of models that only run forward: time of one sequence through all stages, in ns.",
        [=](const PlacedGraph& p) { return evaluation(p).latency_ns; },
        when([=](const PlacedGraph& p) { return evaluation(p).latency_ns > 0; })}});
}

Record<Placement> certificate() {
  Record<Placement> out = proof().of<Placement>(&Placement::certificate);
  return out.add(
      {{"pruned", "Answers that were ruled out, by the argument that did it.",
        [](const Placement& p) { return pruned(p.certificate); }},
       {"method", "Method of the search.", &Placement::method},
       {"infeasible", "Whether it is proven that nothing fits.", &Placement::infeasible},
       {"seconds", "Time of the search, in seconds.", [](const Placement& p) { return p.certificate.seconds; }}});
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
