// What a mapping costs: traffic (traffic.cc) priced by the storages that keep each dataspace.
//
// Content ca_i is what leaves level i for whatever keeps the dataspace below it:
//     ca_i = accesses_i;  if level i bypasses s:  ca_{i+1} = ca_i * fanout_{i+1} / mult_{i+1}
// A level that keeps s and has a keeper above receives share_i = deliveries_{i+1} / fanout_{i+1} words:
//     read-only:   reads = ca_i                 fills = share_i               updates = 0
//     read-write:  reads = ca_i - partition_i   fills = share_i - partition_i updates = ca_i
// (the first update of each word has nothing to read: first-read elision). With rep_i the instances in
// use, B the words per block and `active` the cycles of the slowest level (bandwidth_stall.h):
//     E_i = rep_i * sum_s [ceil(reads/B) Er + ceil(fills/B) Ew + ceil(updates/B) Eu] + Eleak_i active rep_i
//     cycles = active + sum_i (fill latency + drain latency)
// Source: Timeloop's tile and topology model as published (ISPASS 2019) and re-derived in
// docs/model/nest.md. Cost: O(levels * dataspaces) after the traffic.
#include "orrery/engines/nest/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/describe/machine/ranges.h"
#include "orrery/engines/nest/model/bandwidth_stall.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/model/first_words.h"
#include "orrery/engines/nest/model/flows.h"
#include "orrery/engines/nest/model/imperfect_traffic.h"
#include "orrery/engines/nest/model/sliding.h"

namespace orrery::nest {

using base::Count;

namespace {

// One transfer's energy on an explicit network. A table reaches only so many destinations; a wider
// multicast is sent again to the destinations that are left.
double transfer_pj(const std::map<Count, double>& table, Count destinations, bool missing_is_free) {
  if (table.empty()) return 0;
  if (const auto exact = table.find(destinations); exact != table.end()) return exact->second;
  if (missing_is_free) return 0;
  if (const auto above = table.lower_bound(destinations); above != table.end()) return above->second;
  const auto& [widest, energy_pj] = *table.rbegin();
  if (widest < 1) return energy_pj;
  const Count rest = destinations % widest;
  const Count whole = destinations / widest;
  const double repeated = static_cast<double>(whole) * energy_pj;
  return rest == 0 ? repeated : repeated + transfer_pj(table, rest, false);
}

struct NetworkOf {
  const std::string* down = nullptr;  // carries words from level i to the level below
  const std::string* up = nullptr;
};

NetworkOf networks_below(const machine::Chip& chip, int level) {
  const machine::Storage& upper = chip.storages[level];
  NetworkOf found;
  if (!upper.network_read.empty()) found.down = &upper.network_read;
  if (!upper.network_update.empty()) found.up = &upper.network_update;
  if (level > 0) {
    const machine::Storage& lower = chip.storages[level - 1];
    if (!found.down && !lower.network_fill.empty()) found.down = &lower.network_fill;
    if (!found.up && !lower.network_drain.empty()) found.up = &lower.network_drain;
  }
  return found;
}

// The most words that a tile can hold for each of its iterations. A rank with the terms c_k over loops
// of e_k iterations spans 1 + sum c_k (e_k - 1) <= max(1, c_k) * prod e_k; a dimension that appears in
// several terms is paid once by the iterations and once more by its bound for each further term.
Count words_per_iteration(const workload::Dataspace& dataspace, const std::vector<Count>& bounds) {
  constexpr Count kMost = std::numeric_limits<Count>::max();
  Count words = 1;
  const auto times = [&](Count factor) { words = words > kMost / factor ? kMost : words * factor; };
  std::uint32_t seen = 0;
  for (const workload::Rank& rank : dataspace.ranks) {
    Count widest = 1;
    for (const workload::Term& term : rank.terms) {
      widest = std::max(widest, term.coefficient);
      const std::uint32_t bit = 1u << term.dimension;
      if (seen & bit) times(bounds[term.dimension]);
      seen |= bit;
    }
    times(widest);
  }
  return words;
}

double ratio(Count words, Count instances) {
  return static_cast<double>(words) / static_cast<double>(instances);
}

Count nearest(double words) {
  return base::saturated(std::round(words));
}

}  // namespace

Model::Model(const workload::Einsum& einsum, const machine::Chip& chip, const ModelOptions& options,
             std::vector<ReuseRules> reuse)
    : einsum_(einsum), chip_(chip), options_(options), reuse_(std::move(reuse)), shape_(shape_of(einsum)) {
  if (chip.storages.size() > kMaxLevels || einsum.dimensions.size() > kMaxDimensions ||
      einsum.dataspaces.size() > kMaxDataspaces)
    base::fail("O1010",
               fmt::format("the model supports {} storages, {} dimensions and {} dataspaces; these are {}, {} and {}",
                           kMaxLevels, kMaxDimensions, kMaxDataspaces, chip.storages.size(), einsum.dimensions.size(),
                           einsum.dataspaces.size()));
  base::Diagnostics found;
  machine::check_ranges(chip_, found);
  found.throw_if_errors();
  levels_ = priced_levels(einsum_, chip_, options_, reuse_);
  // Every count below is at most the product of all bounds, times what a sliding tile has beyond its loops, in units.
  operations_ = einsum_.operations();
  Count units = 1;
  for (const PricedLevel& level : levels_)
    units = std::max(units, *std::max_element(level.units.value.begin(), level.units.value.end()));
  base::checked_multiply(units, operations_);
  std::vector<Count> bounds;
  for (const workload::Dimension& dimension : einsum_.dimensions) bounds.push_back(dimension.bound);
  Count tiles = 0;
  for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s) {
    const Count words = einsum_.volume(static_cast<int>(s), bounds);
    tiles = base::checked_add(tiles, base::checked_multiply(units, words));  // what a storage holds that keeps all
    if (!shape_.product_form[s])
      base::checked_multiply(std::min(words, words_per_iteration(einsum_.dataspaces[s], bounds)),
                             base::checked_multiply(units, operations_));
  }
  require_listable(einsum_, shape_);
  ORRERY_CHECK(!options.count_drain_reads || options.fractional_blocks, "drain reads are counted in words, not blocks");
  if (!options.no_network_latency) add_latencies();
  for (int level = 0; level < static_cast<int>(chip_.storages.size()); ++level) {
    const NetworkOf names = networks_below(chip_, level);
    for (std::size_t n = 0; n < chip_.networks.size(); ++n) {
      const machine::Network& network = chip_.networks[n];
      if (!(names.down && *names.down == network.name) && !(names.up && *names.up == network.name)) continue;
      NetworkUse use;
      use.network = static_cast<int>(n);
      use.level = level;
      for (const workload::Dataspace& dataspace : einsum_.dataspaces) {
        auto table = network.energy_pj.find(network.per_dataspace ? network.action_name + "_" + dataspace.name
                                                                  : network.action_name);
        use.tables.push_back(table == network.energy_pj.end() ? std::map<Count, double>{} : table->second);
        // A transfer is of a word of the storage above.
        if (dataspace.bits > 0)
          for (auto& [destinations, pj] : use.tables.back())
            pj *= static_cast<double>(dataspace.bits) / chip_.storages[level].word_bits;
      }
      network_uses_.push_back(std::move(use));
    }
  }
}

// Of networks that are no components, which are the storage's own, and of those that are.
void Model::add_latencies() {
  for (int level = 0; level < static_cast<int>(chip_.storages.size()); ++level) {
    const machine::Storage& storage = chip_.storages[level];
    const NetworkOf names = networks_below(chip_, level);
    const machine::Network* down = names.down ? chip_.network(*names.down) : nullptr;
    const machine::Network* up = names.up ? chip_.network(*names.up) : nullptr;
    for (const Count cycles : {storage.network_fill_latency_cycles, storage.network_drain_latency_cycles,
                               down ? down->fill_latency_cycles : 0,
                               !up                              ? 0
                               : options_.drain_latency_is_fill ? up->fill_latency_cycles
                                                                : up->drain_latency_cycles})
      latency_cycles_ = with_latency(latency_cycles_, cycles, storage);
  }
}

// Tiles of a dataspace whose ranks move with one dimension each coincide or lie apart, so that no step outside a
// fan-out is as short as the way to a neighbour, and a tile that stays brings nothing new. Only compute units, and
// instances without reuse, want the same words again.
bool Model::may_link(const Mapping& mapping) const {
  if (shape_.sliding) return true;
  for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
    if (i > 0 && (reuse_.empty() || reuse_[i - 1].no_temporal_reuse == 0)) continue;
    for (const Count factor : mapping.levels[i].spatial)
      if (factor > 1) return true;
  }
  return false;
}

bool Model::may_link() const {
  if (shape_.sliding) return true;
  for (int i = 0; i < static_cast<int>(chip_.storages.size()); ++i)
    if ((i == 0 || (!reuse_.empty() && reuse_[i - 1].no_temporal_reuse != 0)) &&
        (chip_.fanout_x(i) > 1 || chip_.fanout_y(i) > 1))
      return true;
  return false;
}

Evaluation Model::evaluate(const Mapping& mapping) const {
  Evaluation result;
  evaluate(mapping, result);
  return result;
}

double Model::network_transfer_pj(const NetworkUse& use, int dataspace, Count destinations) const {
  return transfer_pj(use.tables[dataspace], destinations, options_.missing_multicast_is_free);
}

// What a mapping's words come to, as `settle` wants it.
template <typename Number>
struct Model::Account {
  const Flows<Number>* mean;                  // of the instances in use
  const Flows<Number>* busiest;               // decides how long the ports take
  const LevelTable<Number>* asked = nullptr;  // words that leave level i, where neighbours hand on some of them
  const LevelTable<Count>* tile;
  const LevelTable<double>* destinations;  // of a word on its way from level i to the instances just below
  const std::array<Count, kMaxLevels>* instances;
  Count compute_cycles;
  Count compute_instances;
};

namespace {

// Of whole words the sums are exact.
__int128 in_all(Count a, Count b) {
  return static_cast<__int128>(a) + b;
}
double in_all(double a, double b) {
  return a + b;
}

Count counted(Count words) {
  return words;
}
Count counted(double words) {
  return nearest(words);
}

Count all_instances(Count words, Count instances) {
  return words * instances;
}
Count all_instances(double words, Count instances) {
  return nearest(words * static_cast<double>(instances));
}

}  // namespace

template <typename Number>
void Model::settle_networks(const Account<Number>& account, const std::array<int, kMaxDataspaces>& outermost,
                            Evaluation& out) const {
  const std::size_t dataspaces = einsum_.dataspaces.size();
  for (NetworkCost& cost : out.networks) {
    cost.transfers.assign(dataspaces, 0);
    cost.destinations.assign(dataspaces, 1);
    cost.dataspace_energy_pj.assign(dataspaces, 0);
    cost.energy_pj = 0;
  }
  for (const NetworkUse& use : network_uses_) {
    NetworkCost& cost = out.networks[use.network];
    for (std::size_t s = 0; s < dataspaces; ++s) {
      if (use.level > outermost[s]) continue;
      const Count words = all_instances(account.mean->content[use.level][s], (*account.instances)[use.level]);
      // Between two numbers of destinations some words reach the one, some the other.
      const double destinations = (*account.destinations)[use.level][s];
      const Count fewer = base::saturated(destinations);
      double transfer_pj = network_transfer_pj(use, static_cast<int>(s), fewer);
      if (const double part = destinations - static_cast<double>(fewer); part > 0)
        transfer_pj += part * (network_transfer_pj(use, static_cast<int>(s), fewer + 1) - transfer_pj);
      const double energy_pj = static_cast<double>(words) * transfer_pj;
      cost.transfers[s] = base::checked_add(cost.transfers[s], words);
      cost.destinations[s] = base::saturated(std::ceil(destinations));
      cost.dataspace_energy_pj[s] += energy_pj;
      cost.energy_pj += energy_pj;
      out.energy_pj += energy_pj;
    }
  }
}

template <typename Number>
void Model::settle(const Mapping& mapping, const Account<Number>& account, Evaluation& out) const {
  const int levels = static_cast<int>(levels_.size());
  const int dataspaces = static_cast<int>(einsum_.dataspaces.size());
  std::array<int, kMaxDataspaces> outermost;
  outermost.fill(-1);
  for (int s = 0; s < dataspaces; ++s)
    for (int i = levels - 1; i >= 0 && outermost[s] < 0; --i)
      if (mapping.levels[i].keep >> s & 1) outermost[s] = i;
  const auto words_of = [&](const Flows<Number>& flows, int i, int s) {
    const bool read_write = einsum_.dataspaces[s].read_write;
    Words<Number> words = served(levels_[i], read_write, s,
                                 account.asked ? (*account.asked)[i][s] : flows.content[i][s], flows.seen[i][s]);
    if (account.asked && read_write)
      words.updates = static_cast<Number>(levels_[i].units.value[s]) * flows.content[i][s];
    if (i != outermost[s]) words += received(levels_[i], read_write, s, flows.share[i][s], flows.seen_entering[i][s]);
    return words;
  };

  out.storages.resize(levels);
  out.networks.resize(chip_.networks.size());
  Count active = account.compute_cycles;
  double beyond = 0;  // as of Evaluation::beyond_cycles, without latencies
  for (int i = 0; i < levels; ++i) {
    const PricedLevel& level = levels_[i];
    StorageCost& cost = out.storages[i];
    cost.dataspaces.resize(dataspaces);
    cost.utilized_instances = (*account.instances)[i];
    cost.energy_pj = 0;
    std::array<Number, kMaxDataspaces> reads{};
    std::array<decltype(in_all(Number{}, Number{})), kMaxDataspaces> writes{};
    const double paying = level.paying(static_cast<double>(cost.utilized_instances));
    for (int s = 0; s < dataspaces; ++s) {
      DataspaceCost& use = cost.dataspaces[s];
      use = {};
      use.kept = mapping.levels[i].keep >> s & 1;
      use.tile_words = (*account.tile)[i][s];
      use.partition_words = counted(account.mean->seen_entering[i][s]);
      if (!use.kept) continue;
      const Words<Number> words = words_of(*account.mean, i, s);
      const Number each = static_cast<Number>(level.units.value[s]);
      use.reads = counted(words.reads / each);
      use.fills = counted(words.fills / each);
      use.updates = counted(words.updates / each);
      use.energy_pj = nest::energy_pj(level, words, paying);
      cost.energy_pj += use.energy_pj;
      const Words<Number> most = account.busiest == account.mean ? words : words_of(*account.busiest, i, s);
      reads[s] = most.reads;
      writes[s] = in_all(most.fills, most.updates);
    }
    const std::size_t n = static_cast<std::size_t>(dataspaces);
    const BandwidthStall slowed = bandwidth_stall(
        level, account.compute_cycles, std::span<const Number>(reads.data(), n),
        std::span<const decltype(in_all(Number{}, Number{}))>(writes.data(), n), options_.throttle_in_doubles);
    cost.cycles = slowed.cycles;
    cost.throttle = slowed.factor;
    active = std::max(active, slowed.cycles);
    beyond = std::max(beyond, slowed.beyond);
  }
  settle_totals(account.compute_cycles, account.compute_instances, active, beyond, out);
  if (!chip_.networks.empty()) settle_networks(account, outermost, out);
  out.energy_pj += out.compute.energy_pj;
  out.utilization =
      static_cast<double>(operations_) / (static_cast<double>(chip_.compute.instances) * out.needed_cycles());
  out.edp_j_cycles = out.energy_pj * out.needed_cycles() / 1e12;
}

// Leakage, cycles and computes, once it is known how long the chip is active. Energies of networks and computes are
// still to be added.
void Model::settle_totals(Count compute_cycles, Count compute_instances, Count active, double beyond,
                          Evaluation& out) const {
  const double active_cycles = beyond > 0 ? beyond : static_cast<double>(active);
  out.energy_pj = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    StorageCost& cost = out.storages[i];
    cost.leakage_pj = levels_[i].leak_pj_per_cycle * active_cycles * static_cast<double>(cost.utilized_instances);
    cost.energy_pj += cost.leakage_pj;
    out.energy_pj += cost.energy_pj;
  }

  out.active_cycles = active;
  const bool countable = !__builtin_add_overflow(active, latency_cycles_, &out.cycles) && beyond == 0;
  if (!countable) out.cycles = base::kMostCount;
  out.beyond_cycles = countable ? 0 : active_cycles + static_cast<double>(latency_cycles_);
  ComputeCost& compute = out.compute;
  compute.operations = operations_;
  compute.utilized_instances = compute_instances;
  compute.cycles = compute_cycles;
  compute.leakage_pj = compute_leak_pj_per_cycle() * active_cycles * static_cast<double>(compute_instances);
  compute.energy_pj = compute_pj() + compute.leakage_pj;
}

void Model::evaluate_imperfect(const Mapping& mapping, Evaluation& out) const {
  ImperfectTraffic traffic;
  imperfect_traffic(einsum_, shape_, mapping, reuse_, !network_uses_.empty(), traffic);
  Count cycles = traffic.compute_cycles;
  if (options_.whole_rounds) {
    cycles = 1;
    for (const LevelMapping& level : mapping.levels)
      for (const Count iterations : level.temporal) cycles = base::checked_multiply(cycles, iterations);
  }
  Account<double> account;
  account.mean = &traffic.mean;
  account.busiest = options_.whole_rounds ? &traffic.mean : &traffic.busiest;
  account.tile = &traffic.tile;
  account.destinations = &traffic.destinations;
  account.instances = &traffic.instances;
  account.compute_cycles = cycles;
  account.compute_instances = traffic.compute_instances;
  settle(mapping, account, out);
}

void Model::evaluate(const Mapping& mapping, Evaluation& out) const {
  const int levels = static_cast<int>(levels_.size());
  const int dataspaces = static_cast<int>(einsum_.dataspaces.size());
  ORRERY_CHECK(static_cast<int>(mapping.levels.size()) == levels, "a mapping has one entry per storage");
  if (!perfect(mapping)) return evaluate_imperfect(mapping, out);

  Traffic traffic;
  const bool linked = options_.link_transfers && may_link(mapping);
  if (shape_.sliding || linked)
    sliding(einsum_, shape_, mapping, reuse_, traffic, linked ? &chip_ : nullptr);
  else
    closed_form(einsum_, shape_, mapping, reuse_, traffic);

  Flows<Count> flows;
  LevelTable<Count> asked;          // only set with links
  LevelTable<double> wanted;        // as `content`, only set with links
  LevelTable<double> destinations;  // only set with networks
  for (int s = 0; s < dataspaces; ++s) {
    const bool united = shape_.gaps[s] && einsum_.dataspaces[s].read_write;
    int inner = -1;  // the keeper inside
    for (int i = 0; i < levels; ++i) {
      const bool below_bypasses = i > 0 && !(mapping.levels[i - 1].keep >> s & 1);
      const Count delivered = traffic.deliveries[i][s], accesses = traffic.accesses[i][s];
      Count content = accesses;
      if (below_bypasses && delivered > 0)
        content = static_cast<Count>(static_cast<__int128>(flows.content[i - 1][s]) * traffic.fanout[i] * accesses /
                                     delivered);
      if (linked) {
        wanted[i][s] = static_cast<double>(accesses);
        if (below_bypasses && delivered > 0)
          wanted[i][s] *= wanted[i - 1][s] * static_cast<double>(traffic.fanout[i]) / static_cast<double>(delivered);
        content = nearest(wanted[i][s]);
        asked[i][s] = content;
      }
      flows.content[i][s] = content;
      flows.seen[i][s] = united ? different_words_of_one(shape_, s, mapping, inner, i) : traffic.partition[i][s];
      flows.seen_entering[i][s] = united ? different_words_of_one(shape_, s, mapping, i, i) : traffic.partition[i][s];
      flows.share[i][s] = 0;
      if (!network_uses_.empty()) destinations[i][s] = accesses > 0 ? static_cast<double>(delivered / accesses) : 1;
      if (!(mapping.levels[i].keep >> s & 1)) continue;
      if (inner >= 0) {
        flows.share[inner][s] = traffic.deliveries[inner + 1][s] / traffic.fanout[inner + 1];
        if (linked) {
          // What neighbours hand on is read here, too; per instance it is the mean, so that counts need not be whole.
          const double peers = ratio(traffic.links[inner + 1][s], traffic.instances[inner]);
          asked[inner][s] = nearest(wanted[inner][s] + peers);
          const double filled = ratio(traffic.deliveries[inner + 1][s], traffic.fanout[inner + 1]) + peers;
          flows.share[inner][s] = einsum_.dataspaces[s].read_write ? nearest(filled) : base::saturated(filled);
        }
      }
      inner = i;
    }
    // Where neighbours hand on so much that less is asked for than is seen for the first time, nothing is read.
    for (int i = 0; linked && einsum_.dataspaces[s].read_write && i < levels; ++i) {
      asked[i][s] = std::max(asked[i][s], flows.seen[i][s]);
      flows.share[i][s] = std::max(flows.share[i][s], flows.seen_entering[i][s]);
    }
  }
  Account<Count> account;
  account.mean = account.busiest = &flows;
  account.asked = linked ? &asked : nullptr;
  account.tile = &traffic.tile;
  account.destinations = &destinations;
  account.instances = &traffic.instances;
  account.compute_cycles = traffic.compute_cycles;
  account.compute_instances = traffic.compute_instances;
  settle(mapping, account, out);
}

Evaluation evaluate(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                    const ModelOptions& options, const std::vector<ReuseRules>& reuse) {
  const Model model(einsum, chip, options, reuse);
  Evaluation evaluation = model.evaluate(mapping);
  require_countable(model, evaluation);
  return evaluation;
}

}  // namespace orrery::nest
