// `map` searches, `eval` prices a given mapping: their documents differ in what a search adds.
#include "orrery/verbs/map/json.h"

#include <algorithm>

#include "orrery/verbs/map/fused_pairs_text.h"
#include "orrery/verbs/map/loop_nest_text.h"
#include "orrery/verbs/map/padding_text.h"
#include "orrery/verbs/map/sparse_layer_text.h"
#include "orrery/verbs/map/why_text.h"

namespace orrery::verbs {
namespace {

using nest::Optimum;

template <typename V>
using Named = std::vector<std::pair<std::string, V>>;

// A dataspace of one level, a level of one mapping: what is of the layer's chip and einsum goes by index.
struct OfStorage {
  const MappedLayer& layer;
  std::size_t index;

  const machine::Storage& storage() const { return layer.chip.storages[index]; }
  const nest::StorageCost& cost() const { return layer.optimum.evaluation.storages[index]; }
};

Named<nest::DataspaceCost> kept(const OfStorage& of) {
  Named<nest::DataspaceCost> out;
  for (std::size_t s = 0; s < of.cost().dataspaces.size(); ++s)
    if (of.cost().dataspaces[s].kept) out.emplace_back(of.layer.einsum.dataspaces[s].name, of.cost().dataspaces[s]);
  return out;
}

struct Transfer {
  base::Count reads, destinations;
  double energy_pj;
};

Named<Transfer> transfers(const MappedLayer& layer, const nest::NetworkCost& cost) {
  Named<Transfer> out;
  for (std::size_t s = 0; s < cost.transfers.size(); ++s)
    out.push_back(
        {layer.einsum.dataspaces[s].name, {cost.transfers[s], cost.destinations[s], cost.dataspace_energy_pj[s]}});
  return out;
}

template <typename T>
Record<T> name_and_kind(const char* kind, std::string (*name)(const T&)) {
  return {{"name", "Name in the architecture.", name},
          {"kind", "Kind of level.", [kind](const T&) { return kind; }, OneOf{{kind}}}};
}

Record<OfStorage> storage_level() {
  using machine::Storage;
  using nest::StorageCost;
  using Cost = nest::DataspaceCost;
  const Record<Cost> dataspace = {
      {"reads", "Words read from one instance.", &Cost::reads},
      {"fills", "Words filled into one instance.", &Cost::fills},
      {"updates", "Words updated in one instance.", &Cost::updates},
      {"tile_words", "Words that one instance holds at a time.", &Cost::tile_words},
      {"partition_words", "Words that one instance sees over the whole run.", &Cost::partition_words},
      {"energy_pj", "Energy of all instances without leakage, in pJ.", &Cost::energy_pj}};
  Record<OfStorage> out = name_and_kind<OfStorage>("storage", [](const OfStorage& of) { return of.storage().name; });
  out.add({{"energy_pj", "Energy of all instances with leakage, in pJ.",
            [](const OfStorage& of) { return of.cost().energy_pj; }},
           {"dataspaces", "Dataspaces that the level keeps.", kept, dataspace}});
  const Record<StorageCost> times = {
      {"leakage_pj", "Leakage of all instances, in pJ.", &StorageCost::leakage_pj},
      {"cycles", "Cycles that this level alone needs with its bandwidth.", &StorageCost::cycles},
      {"throttle", "Compute cycles that the level's bandwidth allows per cycle, at most 1.", &StorageCost::throttle}};
  out.add(times.of<OfStorage>(&OfStorage::cost));
  return out.add(
      {{"instances", "Instances on the chip.", [](const OfStorage& of) { return of.storage().instances; }},
       {"utilized_instances", "Instances in use.", [](const OfStorage& of) { return of.cost().utilized_instances; }},
       {"fan_out_only", "Whether the level stores nothing.",
        [](const OfStorage& of) { return of.storage().pass_through; }},
       {"area_um2", "Area of one instance, in um^2; null where it is not known.",
        [](const OfStorage& of) { return of.storage().area_um2; }}});
}

Record<MappedLayer> compute_level() {
  using machine::Compute;
  using Cost = nest::ComputeCost;
  const auto unit = [](const MappedLayer& layer) -> const Compute& { return layer.chip.compute; };
  const auto cost = [](const MappedLayer& layer) -> const Cost& { return layer.optimum.evaluation.compute; };
  const Record<Cost> energy = {
      {"energy_pj", "Energy of all units with leakage, in pJ.", &Cost::energy_pj},
      {"dataspaces", "Empty: compute units keep nothing.", [](const Cost&) { return Named<bool>(); }},
      {"leakage_pj", "Leakage of all units, in pJ.", &Cost::leakage_pj},
      {"cycles", "Cycles that the compute units alone need.", &Cost::cycles},
      {"operations", "Operations of all units together.", &Cost::operations}};
  Record<MappedLayer> out =
      name_and_kind<MappedLayer>("compute", [](const MappedLayer& layer) { return layer.chip.compute.name; });
  out.add(energy.of<MappedLayer>(cost));
  return out.add({{"instances", "Compute units on the chip.", [=](const MappedLayer& l) { return unit(l).instances; }},
                  {"utilized_instances", "Compute units in use.",
                   [=](const MappedLayer& l) { return cost(l).utilized_instances; }},
                  {"area_um2", "Area of one unit, in um^2; null where it is not known.",
                   [=](const MappedLayer& l) { return unit(l).area_um2; }}});
}

struct OfNetwork {
  const MappedLayer& layer;
  std::size_t index;

  const machine::Network& network() const { return layer.chip.networks[index]; }
  const nest::NetworkCost& cost() const { return layer.optimum.evaluation.networks[index]; }
};

Record<OfNetwork> network_level() {
  const Record<Transfer> dataspace = {
      {"reads", "Words that enter the network.", &Transfer::reads},
      {"fills", "Always 0.", [](const Transfer&) { return 0; }},
      {"updates", "Always 0.", [](const Transfer&) { return 0; }},
      {"destinations", "Destinations that each word reaches.", &Transfer::destinations},
      {"energy_pj", "Energy of all instances for the dataspace, in pJ.", &Transfer::energy_pj}};
  Record<OfNetwork> out = name_and_kind<OfNetwork>("network", [](const OfNetwork& of) { return of.network().name; });
  return out.add(
      {{"energy_pj", "Energy of all instances, in pJ.", [](const OfNetwork& of) { return of.cost().energy_pj; }},
       {"dataspaces", "Dataspaces that the network carries.",
        [](const OfNetwork& of) { return transfers(of.layer, of.cost()); }, dataspace},
       {"area_um2", "Area of one instance, in um^2; null where it is not known.",
        [](const OfNetwork& of) { return of.network().area_um2; }}});
}

// Storages outer to inner, the compute units, explicit networks.
Json levels(const MappedLayer& layer) {
  static const Record<OfStorage> storage = storage_level();
  static const Record<MappedLayer> compute = compute_level();
  static const Record<OfNetwork> network = network_level();
  Json::List out;
  for (std::size_t i = layer.chip.storages.size(); i-- > 0;) out.push_back(storage.json({layer, i}));
  out.push_back(compute.json(layer));
  for (std::size_t i = 0; i < layer.optimum.evaluation.networks.size(); ++i) out.push_back(network.json({layer, i}));
  return out;
}

// A mapping of a layer, or one level of it.
struct OfMapping {
  const MappedLayer& layer;
  const nest::Mapping& mapping;
  std::size_t index = 0;

  const nest::LevelMapping& level() const { return mapping.levels[index]; }
};

Named<base::Count> factors(const OfMapping& of, const std::vector<base::Count>& factors) {
  Named<base::Count> out;
  for (std::size_t d = 0; d < factors.size(); ++d)
    if (factors[d] > 1) out.emplace_back(of.layer.einsum.dimensions[d].name, factors[d]);
  return out;
}

// Of loops that leave a rest.
Named<base::Count> last_rounds(const OfMapping& of, bool in_space) {
  Named<base::Count> out;
  for (std::size_t d = 0; d < of.layer.einsum.dimensions.size(); ++d)
    if (const nest::Factor factor = of.level().factor(in_space, static_cast<int>(d)); !factor.perfect())
      out.emplace_back(of.layer.einsum.dimensions[d].name, factor.last);
  return out;
}

std::vector<std::string> names(const OfMapping& of, const std::vector<int>& order) {
  std::vector<std::string> out;
  for (int d : order) out.push_back(of.layer.einsum.dimensions[d].name);
  return out;
}

std::vector<std::string> kept_names(const OfMapping& of) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < of.layer.einsum.dataspaces.size(); ++s)
    if (of.level().keep >> s & 1u) out.push_back(of.layer.einsum.dataspaces[s].name);
  return out;
}

std::vector<OfMapping> levels_of(const OfMapping& of) {
  std::vector<OfMapping> out;
  for (std::size_t i = of.layer.chip.storages.size(); i-- > 0;) out.push_back({of.layer, of.mapping, i});
  return out;
}

Record<OfMapping> mapping() {
  const Record<OfMapping> level = {
      {"level", "Name of the storage.", [](const OfMapping& of) { return of.layer.chip.storages[of.index].name; }},
      {"keep", "Dataspaces that the storage keeps.", kept_names},
      {"temporal", "Iterations of the loops in time, by dimension; those of 1 are left out.",
       [](const OfMapping& of) { return factors(of, of.level().temporal); }},
      {"temporal_last", "Iterations in the last round of loops that leave a remainder, by dimension.",
       [](const OfMapping& of) { return last_rounds(of, false); },
       when([](const OfMapping& of) { return !of.level().temporal_last.empty(); })},
      {"permutation", "Order of the loops in time, innermost first.",
       [](const OfMapping& of) { return names(of, of.level().temporal_order); }},
      {"spatial", "Instances of the loops in space, by dimension; those of 1 are left out.",
       [](const OfMapping& of) { return factors(of, of.level().spatial); }},
      {"spatial_last", "Instances in the last round of fan-outs that leave a remainder, by dimension.",
       [](const OfMapping& of) { return last_rounds(of, true); },
       when([](const OfMapping& of) { return !of.level().spatial_last.empty(); })},
      {"spatial_permutation", "Order of the loops in space, innermost first.",
       [](const OfMapping& of) { return names(of, of.level().spatial_order); }},
      {"split", "Loops in space on the X side, counted from the innermost.",
       [](const OfMapping& of) { return of.level().split; }}};
  return {
      {"text", "The mapping in one line.", [](const OfMapping& of) { return one_line(of.layer.einsum, of.mapping); }},
      {"levels", "Loops and dataspaces of each level, outer to inner.", levels_of, level}};
}

Record<base::Certificate> certificate() {
  Record<base::Certificate> out = proof();
  return out.add({{"seconds", "Time of the search, in seconds.", &base::Certificate::seconds},
                  {"pruned", "Partial mappings that were ruled out, by the argument that did it.", pruned}});
}

Record<Optimum> refusal() {
  const Record<nest::Conflict> conflict = {
      {"text", "The constraint, or the property of the chip.", &nest::Conflict::text},
      {"where", "Its place in a file; null where it has none.", [](const nest::Conflict& c) { return known(c.where); },
       location()}};
  return {{"infeasible", "Whether it is proven that no mapping is allowed.", &Optimum::infeasible},
          {"conflicts", "A smallest set of constraints and properties that cannot hold together.", &Optimum::conflicts,
           conflict},
          {"arithmetic", "The sums that fail.", &Optimum::arithmetic},
          {"mapping", "Null: no mapping was found.", [](const Optimum&) { return nullptr; }}};
}

// A mapping beside the optimum: what it costs, how it looks, what is proven of it.
struct DocumentChoice {
  const MappedLayer& layer;
  const Optimum& optimum;

  const nest::Evaluation& cost() const { return optimum.evaluation; }
  OfMapping mapping() const { return {layer, *optimum.mapping}; }
};

Record<DocumentChoice> choice() {
  const auto of = [](auto member) { return [member](const DocumentChoice& c) { return c.cost().*member; }; };
  using E = nest::Evaluation;
  const auto proven = [](const DocumentChoice& c) -> const base::Certificate& { return c.optimum.certificate; };
  return {{"energy_pj", "Energy of one instance, in pJ.", of(&E::energy_pj)},
          {"cycles", "Cycles of one instance.", of(&E::cycles)},
          {"edp_j_cycles", "Energy times cycles of one instance, in J*cycles.", of(&E::edp_j_cycles)},
          {"utilization", "Share of the compute units' cycles in use, 0 to 1.", of(&E::utilization)},
          {"mapping", "The mapping.", &DocumentChoice::mapping, mapping()},
          {"certificate", "What is proven of the choice.", proven, certificate()}};
}

std::vector<DocumentChoice> front(const MappedLayer& layer) {
  std::vector<DocumentChoice> out;
  for (const Optimum& point : layer.front->points)
    if (point.mapping) out.push_back({layer, point});
  return out;
}

Record<MappedLayer> pareto() {
  Record<MappedLayer> out = {
      {"pareto", "Mappings that no other one matches in energy and cycles and beats in one of them, by rising energy.",
       front, choice()},
      {"pareto_complete",
       "Whether the front is complete; false: a limit ended the search, and faster mappings may be missing.",
       [](const MappedLayer& l) { return l.front->complete; }}};
  return out.only([](const MappedLayer& l) { return l.front.has_value(); });
}

Record<MappedLayer> why() {
  const auto forced = [](const MappedLayer& l) -> const Optimum& { return l.forced->optimum; };
  const auto possible = [](const MappedLayer& l) { return l.forced->optimum.mapping.has_value(); };
  const auto impossible = [](const MappedLayer& l) { return !l.forced->optimum.mapping; };
  const Record<CostRatio> ratio = {
      {"energy", "Energy of the forced mapping over that of the best one.", &CostRatio::energy},
      {"cycles", "Cycles of the forced mapping over those of the best one.", &CostRatio::cycles},
      {"edp", "Energy-delay product of the forced mapping over that of the best one.", &CostRatio::edp}};
  const Record<LevelDifference> level = {
      {"name", "Name of the level.", &LevelDifference::name},
      {"best_energy_pj", "Energy of the level in the best mapping, in pJ.", &LevelDifference::best_pj},
      {"forced_energy_pj", "Energy of the level in the forced mapping, in pJ.", &LevelDifference::forced_pj}};
  Record<MappedLayer> none = refusal().of<MappedLayer>(forced);
  none.add({{"certificate", "What is proven of the choice.",
             [=](const MappedLayer& l) { return forced(l).certificate; }, certificate()}});
  Record<MappedLayer> some = choice().of<MappedLayer>([](const MappedLayer& l) {
    return DocumentChoice{l, l.forced->optimum};
  });
  some.add({{"ratio", "What the forced choice costs.", ratio_to_best, ratio},
            {"levels", "Levels whose energies differ, outer to inner.", level_differences, level}});
  Record<MappedLayer> out = {
      {"choice", "The forced choice, as given to `--why`.", [](const MappedLayer& l) { return l.forced->choice; }}};
  return out.add(none.only(impossible)).add(some.only(possible));
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

struct Searched {
  const base::Certificate& certificate;
  const std::optional<Certified>& check;
};

// What a search adds to a layer.
Record<MappedLayer> search() {
  const Record<Certified> certified = {
      {"agrees", "Whether the second search came to the same result; null where it did not finish within the limit.",
       [](const Certified& c) { return c.finished ? std::optional(c.agrees) : std::nullopt; }},
      {"seconds", "Time of the second search, in seconds.", &Certified::seconds}};
  Record<Searched> proven = certificate().of<Searched>([](const Searched& s) -> const auto& { return s.certificate; });
  const auto check = [](const Searched& s) -> const Certified& { return *s.check; };
  proven.add({{"certified", "With `--certify`: the result of a second search by other means.", check, certified,
               when([](const Searched& s) { return s.check.has_value(); })}});
  Record<MappedLayer> out = {
      {"objective", "What was minimised, in this order.",
       [](const MappedLayer& l) {
         std::vector<std::string> names;
         for (nest::Metric metric : l.objective) names.emplace_back(metric_name(metric));
         return names;
       },
       OneOf{{"edp", "energy", "delay"}}},
      {"interrupted", "True: an interrupt ended the search.", [](const MappedLayer&) { return true; },
       when([](const MappedLayer& l) { return l.optimum.interrupted; })},
      {"out_of_memory", "True: the memory limit ended the search.", [](const MappedLayer&) { return true; },
       when([](const MappedLayer& l) { return l.optimum.out_of_memory; })},
      {"certificate", "What is proven of the first objective (in J*cycles, pJ or cycles).",
       [](const MappedLayer& l) {
         return Searched{l.optimum.certificate, l.certified};
       },
       proven}};
  return out.only(&MappedLayer::searched);
}

Named<base::Count> dimensions(const MappedLayer& layer) {
  Named<base::Count> out;
  for (const workload::Dimension& dimension : layer.einsum.dimensions)
    out.emplace_back(dimension.name, dimension.bound);
  return out;
}

// One dimension that was rounded up.
struct RoundedDimension {
  std::string name;
  base::Count from = 1, to = 1;
};

// Of a mapping that the layer's own is compared with.
Record<nest::Evaluation> compared_cost() {
  using E = nest::Evaluation;
  return {{"energy_pj", "Energy of one instance, in pJ.", &E::energy_pj},
          {"cycles", "Cycles of one instance.", &E::cycles},
          {"edp_j_cycles", "Energy times cycles of one instance, in J*cycles.", &E::edp_j_cycles}};
}

Record<MappedLayer> padding() {
  using R = RoundedDimension;
  using E = nest::Evaluation;
  const Record<R> rounded = {{"dimension", "Name of the dimension.", &R::name},
                             {"from", "Size in the layer.", &R::from},
                             {"to", "Size that is mapped.", &R::to}};
  return {{"rounded", "Dimensions whose size was rounded up; `dimensions` has the rounded sizes.",
           [](const MappedLayer& l) {
             std::vector<R> out;
             for (const nest::Rounding& one : l.padding->rounded)
               out.push_back({l.einsum.dimensions[one.dimension].name, one.from, one.to});
             return out;
           },
           rounded},
          {"work", "Operations of the rounded sizes over those of the layer.",
           [](const MappedLayer& l) { return padded_work(*l.padding); }},
          {"sizes", "Combinations of sizes that were compared.", [](const MappedLayer& l) { return l.padding->sizes; }},
          {"unrounded", "Cost of the best mapping without rounding.",
           [](const MappedLayer& l) -> const E& { return *l.padding->unrounded; }, compared_cost(),
           when([](const MappedLayer& l) { return l.padding->unrounded.has_value(); })}};
}

Record<MappedLayer> layer(bool searched) {
  using E = nest::Evaluation;
  const auto optimum = [](const MappedLayer& l) -> const Optimum& { return l.optimum; };
  const Record<E> cost = {{"energy_pj", "Energy of one instance, in pJ.", &E::energy_pj},
                          {"cycles", "Cycles of one instance.", &E::cycles},
                          {"utilization", "Share of the compute units' cycles in use, 0 to 1.", &E::utilization},
                          {"edp_j_cycles", "Energy times cycles of one instance, in J*cycles.", &E::edp_j_cycles}};
  Record<MappedLayer> found =
      cost.of<MappedLayer>([](const MappedLayer& l) -> const E& { return l.optimum.evaluation; });
  found.add(
      {{"levels",
        "Counts and energies of each level: storages outer to inner, then the compute units, then explicit networks.",
        levels,
        WithSchema{
            list_schema(any_of({storage_level().schema(), compute_level().schema(), network_level().schema()}))}},
       {"bound_by", "Level whose bandwidth limits the run, or the compute units.",
        [](const MappedLayer& l) { return figures_of(l).bound_by; }},
       {"seconds", "Time of one instance, in seconds: its cycles at the chip's clock.",
        [](const MappedLayer& l) { return figures_of(l).seconds; }},
       {"operations_per_byte",
        "Operations a byte that passes the outermost storage in this mapping; null where none does.",
        [](const MappedLayer& l) { return figures_of(l).operations_per_byte; }},
       {"roofline_share",
        "Share of its cycles that the compute units or the outermost storage's bandwidth alone would take, 0 to 1.",
        [](const MappedLayer& l) { return figures_of(l).roofline_share; }},
       {"mapping", "The best mapping that was found, or the given one.",
        [](const MappedLayer& l) {
          return OfMapping{l, *l.optimum.mapping};
        },
        mapping()}});
  Record<MappedLayer> missing = refusal().of<MappedLayer>(optimum);
  Record<MappedLayer> out = {
      {"name", "Name of the layer: of the operator or the file.", &MappedLayer::name},
      {"instances", "Equal copies of the layer, which run one after the other.", &MappedLayer::instances},
      {"figures", "Whether energies and areas are given by an ERT or estimated.",
       [](const MappedLayer& l) { return l.estimates ? "estimated" : "given"; }, OneOf{{"estimated", "given"}}}};
  out.add(found.only(&MappedLayer::found));
  out.add(missing.only([](const MappedLayer& l) { return !l.found(); }));
  out.add({{"dimensions", "Bounds of the loops, by dimension.", dimensions}});
  out.add(sparse_record());
  if (!searched) return out;
  out.add({{"padding", "With `--factors padded` or `--pad`: sizes that were rounded up, and what that costs.",
            std::identity(), padding(), when([](const MappedLayer& l) { return l.padding.has_value(); })}});
  out.add({{"perfect",
            "With `--factors imperfect`: cost of the best mapping whose factors leave no remainder, if there is one.",
            [](const MappedLayer& l) -> const E& { return *l.imperfect->perfect; }, compared_cost(),
            when([](const MappedLayer& l) { return l.imperfect && l.imperfect->perfect.has_value(); })}});
  out.add(search()).add(pareto());
  return out.add({{"why", "With `--why CHOICE`: the best mapping that has the choice.", std::identity(), why(),
                   when([](const MappedLayer& l) { return l.forced.has_value(); })}});
}

Record<Totals> totals() {
  return {{"energy_pj", "Energy of all layers with their instances, in pJ.", &Totals::energy_pj},
          {"cycles", "Cycles of all layers with their instances.", &Totals::cycles},
          {"edp_j_cycles", "Total energy times total cycles, in J*cycles.", &Totals::edp_j_cycles},
          {"edp_seed",
           "Sum over layers of instances times energy-delay product, in J*cycles, as Timeloop-Experiments ranks.",
           &Totals::edp_seed},
          {"seconds", "Time of all layers one after the other, in seconds.", &Totals::seconds},
          {"power_w", "Energy over time, in W.", [](const Totals& t) {
             return t.seconds > 0 ? std::optional(t.energy_pj * 1e-12 / t.seconds) : std::nullopt;
           }}};
}

const std::vector<MappedLayer>& layers(const Results& document) {
  return document.mapped.layers;
}

Totals sum_of(const Results& document) {
  return verbs::totals(layers(document), document.mapped.attention.rows);
}

// What an array does in the place of layers.
Record<ArrayAttention> attention() {
  const Record<ArrayRow> row = {{"name", "Name of the attention; the figures are of one head.", &ArrayRow::name},
                                {"instances", "Heads, which run one after the other.", &ArrayRow::instances},
                                {"queries", "Queries of a head.", &ArrayRow::queries},
                                {"keys", "Keys of a head.", &ArrayRow::keys},
                                {"seconds", "Time on the array, in seconds.", &ArrayRow::seconds},
                                {"energy_pj", "Energy on the array, in pJ.", &ArrayRow::energy_pj},
                                {"cycles", "Cycles of the chip in that time, rounded up.", &ArrayRow::cycles},
                                {"edp_j_cycles", "Energy times cycles, in J*cycles.", &ArrayRow::edp_j_cycles}};
  return {{"file", "File with the answer of `sparse simulate`.", [](const ArrayAttention& a) { return a.array.name; }},
          {"density", "Share of the pairs that was kept in the simulation, 0 to 1.",
           [](const ArrayAttention& a) { return a.array.density; }},
          {"cycle_seconds", "Time of a cycle of the chip, in seconds.", &ArrayAttention::cycle_seconds},
          {"rows", "Attentions that the array computes: simulated, without proof; the sums count them.",
           &ArrayAttention::rows, row}};
}

std::vector<std::string> unmapped(const Results& document) {
  std::vector<std::string> out;
  for (const MappedLayer& layer : layers(document))
    if (!layer.found()) out.push_back(layer.name);
  return out;
}

bool all_mapped(const Results& document) {
  return unmapped(document).empty();
}

std::optional<Totals> in_all_blocks(const Results& document) {
  if (!all_mapped(document)) return std::nullopt;
  return verbs::times(sum_of(document), document.blocks);
}

// `total` and `model` are what they say or null: sums over some of the layers have names of their own.
Record<Results> result(bool searched) {
  using D = Results;
  const auto some_mapped = [](const D& d) { return !all_mapped(d) && unmapped(d).size() < layers(d).size(); };
  const auto whole_model = [](const D& d) { return d.blocks > 0 && d.selected.empty(); };
  const auto part_of_model = [](const D& d) { return d.blocks > 0 && !d.selected.empty(); };
  Record<D> out = {
      {"layers", "Layers, in the order of the model's operators or of the files' names.", layers, layer(searched)},
      {"total", "Totals of all layers; null where one has no mapping.",
       [](const D& d) { return all_mapped(d) ? std::optional(sum_of(d)) : std::nullopt; }, totals()},
      {"total_of_mapped", "Where `total` is null: totals of the layers that have a mapping.",
       [](const D& d) { return sum_of(d); }, totals(), when(some_mapped)},
      {"unmapped", "Where `total` is null: names of the layers without a mapping.", unmapped,
       when([](const D& d) { return !all_mapped(d); })},
      {"blocks", "With `--model`: number of equal blocks of the model.", &D::blocks,
       when([](const D& d) { return d.blocks > 0; })},
      {"model", "With `--model`: totals of all blocks one after the other; null where `total` is.", in_all_blocks,
       totals(), when(whole_model)},
      {"tokens_per_s", "With `--model`: new tokens a second, of all sequences, in what is mapped.",
       [](const D& d) { return d.tokens_per_s(); }, when([](const D& d) { return d.tokens_per_s().has_value(); })},
      {"area_um2", "Area of the chip, in um^2; null where a storage or the compute units have none.",
       [](const D& d) { return layers(d).empty() ? std::nullopt : area_um2(layers(d)[0].chip); }},
      {"selection", "With `--layer`: name of the layer.", &D::selected, when(part_of_model)},
      {"selection_in_all_blocks", "With `--layer`: totals of the layer in all blocks of the model.", in_all_blocks,
       totals(), when(part_of_model)}};
  if (!searched) return out;
  const auto array = [](const D& d) -> const ArrayAttention& { return d.mapped.attention; };
  const auto fused = [](const D& d) -> const std::vector<FusedPair>& { return d.fused; };
  const auto has_fused = [](const D& d) { return !d.fused.empty(); };
  out.add({{"fused_pairs", "With `--fuse auto`: the choice for each pair, and the choices it was made from.", fused,
            fused_pair(), when(has_fused)}});
  const auto has_array = [](const D& d) { return !d.mapped.attention.rows.empty(); };
  out.add({{"attention_array", "With `--attention-array`: what the array computes in the place of layers.", array,
            attention(), when(has_array)}});
  Record<D> only_front = pareto().of<D>([](const D& d) -> const auto& { return layers(d)[0]; });
  return out.add(only_front.only([](const D& d) { return layers(d).size() == 1; }));
}

// What all layers together prove.
Record<Results> summary() {
  const auto sum = [](auto member) {
    return [member](const Results& d) {
      base::Certificate out;
      for (const MappedLayer& each : layers(d)) out.*member += each.optimum.certificate.*member;
      return out.*member;
    };
  };
  return {{"optimal", "Whether the mapping of every layer is proven to be optimal.",
           [](const Results& d) {
             return std::all_of(layers(d).begin(), layers(d).end(),
                                [](const MappedLayer& l) { return l.optimum.certificate.optimal; });
           }},
          {"gap", "Largest gap of any layer, as a share.",
           [](const Results& d) {
             double gap = 0;
             for (const MappedLayer& each : layers(d)) gap = std::max(gap, each.optimum.certificate.gap);
             return gap;
           }},
          {"space", "Allowed mappings of all layers, before capacities are checked.", sum(&base::Certificate::space)},
          {"evaluated", "Mappings of all layers that were evaluated one by one.", sum(&base::Certificate::evaluated)},
          {"seconds", "Time of all searches, in seconds.", sum(&base::Certificate::seconds)}};
}

Record<MappedWork> work() {
  using Work = MappedWork;
  const Record<Work::Left> left = {
      {"what", "What is left out, in words.", &Work::Left::what},
      {"flop", "Floating-point operations, two for a multiply-accumulate; null where it is no GEMM.",
       &Work::Left::flop},
      {"share", "Its share of the operations of all GEMMs, mapped or not, 0 to 1; null where it is no GEMM.",
       &Work::Left::share}};
  using Memory = ModelMemory;
  const auto bytes = [](base::Count Memory::*words) {
    return [words](const Memory& m) { return static_cast<double>(m.*words) * m.word_bits / 8; };
  };
  const Record<Memory> memory = {
      {"storage", "Name of the storage.", &Memory::storage},
      {"capacity_bytes", "What it holds; null where the chip does not say.", &Memory::capacity_bytes},
      {"weights_bytes", "Weights, all of them, in its words.", bytes(&Memory::weights_words)},
      {"cache_bytes", "Keys, values and states that sequences keep.", bytes(&Memory::cache_words)},
      {"activation_bytes", "What the largest operator reads and writes besides weights.",
       bytes(&Memory::activation_words)},
      {"total_bytes", "All three.", &Memory::bytes}};
  return {{"model", "The model as it was given to `--model`.", &Work::model},
          {"family", "Family of the model: its `model_type`.", &Work::family},
          {"phase", "Phase of the model that is mapped.", &Work::phase, OneOf{{"prefill", "decode", "verify"}}},
          {"batch", "Sequences of a batch.", &Work::batch},
          {"tokens", "New tokens of each sequence: all of a prefill, the drafted ones of `verify`.", &Work::tokens},
          {"cached_tokens", "Tokens of each sequence that went before.", &Work::cached},
          {"max_positions",
           "Most tokens of a sequence that the model is made for, though more are mapped as well; null where the model "
           "does not say.",
           &Work::max_positions},
          {"layers", "Blocks that run.", &Work::layers},
          {"memory", "What the whole model takes of the chip's outermost storage, in bytes; left out with `--layer`.",
           &Work::memory, memory, when([](const Work& w) { return !w.memory.storage.empty(); })},
          {"left_out", "Parts of the model that are not mapped.", &Work::left_out, left}};
}

}  // namespace

Document<Results> mapping_document(bool searched) {
  const Record<Results> figures = {
      {"result", "Layers, their mappings and costs, and totals.", std::identity(), result(searched)}};
  Record<Results> keys({});
  if (searched)
    keys.add({{"config", "With `--model`: what of the model was mapped, and what was not.",
               [](const Results& r) -> const MappedWork& { return *r.work; }, work(),
               when([](const Results& r) { return r.work.has_value(); })}});
  keys.add(figures);
  if (searched)
    keys.add({{"certificate", "What is proven of all layers together.", std::identity(), summary(),
               when([](const Results& r) {
                 return std::any_of(layers(r).begin(), layers(r).end(), std::mem_fn(&MappedLayer::searched));
               })}});
  return {searched ? "map" : "eval", keys, kCompat | kInputs | kWarnings | kTiming, [](const Results& r) {
            return Envelope{.compat = r.compat, .inputs = &r.mapped.inputs, .warnings = &r.mapped.warnings};
          }};
}

}  // namespace orrery::verbs
