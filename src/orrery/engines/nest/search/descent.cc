#include "orrery/engines/nest/search/descent.h"

#include <algorithm>
#include <limits>
#include <set>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/factor.h"

namespace orrery::nest {

using base::Count;

namespace {

// The storages that limit bandwidth, and the levels with explicit networks.
int count_ports(const machine::Chip& chip) {
  return static_cast<int>(
      std::count_if(chip.storages.begin(), chip.storages.end(), [](const machine::Storage& storage) {
        return storage.read_words_per_cycle || storage.write_words_per_cycle || storage.shared_words_per_cycle;
      }));
}

int count_network_levels(const Model& model) {
  std::set<int> levels;
  for (const Model::NetworkUse& use : model.network_uses()) levels.insert(use.level);
  return static_cast<int>(levels.size());
}

}  // namespace

template <typename Size>
bool has_room(const Model& model, const Space& space) {
  const int dataspaces = static_cast<int>(model.einsum().dataspaces.size());
  return static_cast<int>(space.dimensions().size()) <= Size::kDims &&
         (Size::kExact ? dataspaces == Size::kSpaces : dataspaces <= Size::kSpaces) &&
         count_ports(model.chip()) <= Size::kPorts && count_network_levels(model) <= Size::kNetworks;
}
template bool has_room<SmallRoom>(const Model&, const Space&);
template bool has_room<LargeRoom>(const Model&, const Space&);

template <typename Size>
Descent<Size>::Descent(const Model& model, const Space& space)
    : model_(&model),
      space_(space),
      levels_(space.levels()),
      dimensions_(static_cast<int>(space.dimensions().size())),
      dataspaces_(static_cast<int>(model.einsum().dataspaces.size())),
      operations_(static_cast<double>(model.einsum().operations())),
      latency_(static_cast<double>(model.latency_cycles())),
      compute_pj_(model.compute_pj()),
      compute_leak_(model.compute_leak_pj_per_cycle()),
      whole_cycles_(!model.options().throttle_in_doubles),
      original_(space.dimensions()) {
  ORRERY_CHECK(has_room<Size>(model, space), "the front is too small for this problem");
  const machine::Chip& chip = model.chip();
  for (int s = 0; s < dataspaces_; ++s) {
    for (int d = 0; d < dimensions_; ++d)
      if (model.shape().relevant[s] >> original_[d] & 1) relevant_[s] |= 1u << d;
    if (model.einsum().dataspaces[s].read_write) read_write_ |= 1u << s;
    product_form_[s] = model.shape().product_form[s];
  }
  int port = 0;
  leak_inside_.push_back(0);  // shifted by one: entry i covers levels < i
  for (int i = 0; i < levels_; ++i) {
    Level level;
    level.priced = model.levels()[i];
    level.least_block = level.priced.widest_block(chip.storages[i]);
    if (level.priced.limited()) level.port = port++;
    level_.push_back(level);
    leak_inside_.push_back(leak_inside_.back() + level.priced.leak_pj_per_cycle);
    std::uint32_t must = ~0u;
    for (const std::uint32_t mask : space.keeps(i)) must &= mask;
    must_keep_.push_back(space.keeps(i).empty() ? 0 : must);
    loops_move_out_.push_back(i > 0 && i + 1 < levels_ && space.loops_free(i + 1) && space.may_not_loop(i) &&
                              (model.reuse().empty() || model.reuse()[i].no_temporal_reuse == 0));

    std::vector<Spread>& spreads = spreads_.emplace_back();
    for (std::size_t k = 0; k < space.spatial(i).size(); ++k) {
      const SpatialChoice& choice = space.spatial(i)[k];
      Spread spread;
      spread.factor.fill(1);
      spread.index = static_cast<int>(k);
      spread.product = choice.product;
      for (int d = 0; d < dimensions_; ++d) spread.factor[d] = choice.factor[original_[d]];
      for (int s = 0; s < dataspaces_; ++s) {
        Count irrelevant = 1;
        for (int d = 0; d < dimensions_; ++d)
          if (!(relevant_[s] >> d & 1)) irrelevant *= spread.factor[d];
        const bool alone = !model.reuse().empty() && (model.reuse()[i].no_spatial_sharing >> s & 1);
        spread.irrelevant[s] = irrelevant;
        spread.relevant[s] = spread.product / irrelevant;
        spread.multicast[s] = alone ? 1 : irrelevant;
        spread.scatter[s] = spread.product / spread.multicast[s];
        spread.transfer_pj[s] = 0;
        for (const Model::NetworkUse& use : model.network_uses())
          if (use.level == i) {
            spread.transfer_pj[s] += model.network_transfer_pj(use, s, spread.multicast[s]);
            spread.alone = false;
          }
      }
      if (spread.product > 1) spread.alone = false;
      spreads.push_back(spread);
    }
  }
  orders_.resize(levels_);
  orders_known_.resize(levels_);
  for (int i = 0; i < levels_; ++i) {
    orders_[i].resize(std::size_t{1} << dimensions_);
    orders_known_[i].resize(std::size_t{1} << dimensions_);
  }
  for (int i = 0; i < levels_; ++i) {
    std::vector<int> uses;
    for (std::size_t u = 0; u < model.network_uses().size(); ++u)
      if (model.network_uses()[u].level == i) uses.push_back(static_cast<int>(u));
    if (!uses.empty()) networks_.emplace_back(i, std::move(uses));
  }
  network_at_.assign(levels_, -1);
  for (std::size_t k = 0; k < networks_.size(); ++k) network_at_[networks_[k].first] = static_cast<int>(k);
  list_factors();
  list_chains();
  list_forced();
}

template <typename Size>
void Descent<Size>::list_factors() {
  factors_.resize(levels_);
  most_spatial_.resize(levels_ + 1);
  most_spatial_[0].fill(1);
  for (int d = 0; d < kDims; ++d) {
    divisors_[d] =
        d < dimensions_ ? base::divisors(model_->einsum().dimensions[original_[d]].bound) : std::vector<Count>{1};
    direct_[d].assign(static_cast<std::size_t>(std::min(divisors_[d].back() + 1, kDirect)), 0);
    for (std::size_t k = 0; k < divisors_[d].size(); ++k)
      if (divisors_[d][k] < static_cast<Count>(direct_[d].size()))
        direct_[d][divisors_[d][k]] = static_cast<std::uint16_t>(k);
  }
  for (int i = 0; i < levels_; ++i) {
    most_spatial_[i + 1].fill(1);
    for (int d = 0; d < kDims; ++d) {
      Factors& table = factors_[i][d];
      if (d >= dimensions_) {
        table = {{{1}}, {true}};
        continue;
      }
      double most = 1;
      for (const Spread& spread : spreads_[i]) most = std::max(most, static_cast<double>(spread.factor[d]));
      most_spatial_[i + 1][d] = most_spatial_[i][d] * most;
      const std::vector<Count>& allowed = space_.temporal(i, original_[d]);
      for (const Count left : divisors_[d]) {
        std::vector<Count> fitting;
        for (const Count f : allowed)
          if (left % f == 0 && (i == 0 ? f == left : space_.completable_inside_spatial(i, original_[d], left / f)))
            fitting.push_back(f);
        table.factors.push_back(std::move(fitting));
        table.completable.push_back(space_.completable_inside_spatial(i, original_[d], left));
      }
    }
  }
}

template <typename Size>
void Descent<Size>::list_forced() {
  forced_.resize(levels_);
  for (int i = 0; i < levels_; ++i) {
    if (space_.keeps(i).size() != 1 || spreads_[i].size() != 1) continue;
    Forced forced;
    forced.keep = space_.keeps(i)[0];
    forced.spread = &spreads_[i][0];
    forced.temporal.fill(1);
    bool one_way = true;
    for (int d = 0; d < dimensions_ && one_way; ++d) {
      const std::vector<Count>& allowed = space_.temporal(i, original_[d]);
      one_way = allowed.size() == 1;
      if (!one_way) break;
      forced.temporal[d] = allowed[0];
      if (allowed[0] > 1) forced.iterating |= 1u << d;
    }
    if (!one_way) continue;
    const std::vector<Order>& classes = orders(i, forced.iterating);
    if (classes.size() != 1) continue;
    forced.order = classes[0];
    forced_[i] = forced;
  }
}

template <typename Size>
void Descent<Size>::list_chains() {
  chains_.resize(levels_ + 1);
  may_stop_.resize(levels_ + 1);
  most_multicast_.resize(levels_ + 1);
  most_geometric_.resize(levels_ + 1);
  most_instances_.assign(levels_ + 1, 1);
  // Shifted by one: entry i covers levels < i.
  may_stop_[0].fill(true);
  most_multicast_[0].fill(1);
  most_geometric_[0].fill(1);
  for (int i = 0; i < levels_; ++i) {
    double most = 1;
    std::array<double, kSpaces> multicast, geometric;
    multicast.fill(1);
    geometric.fill(1);
    for (const Spread& spread : spreads_[i]) {
      most = std::max(most, static_cast<double>(spread.product));
      for (int s = 0; s < dataspaces_; ++s) {
        multicast[s] = std::max(multicast[s], static_cast<double>(spread.multicast[s]));
        geometric[s] = std::max(geometric[s], static_cast<double>(spread.irrelevant[s]));
      }
    }
    most_instances_[i + 1] = most_instances_[i] * most;
    for (int s = 0; s < dataspaces_; ++s) {
      most_multicast_[i + 1][s] = most_multicast_[i][s] * multicast[s];
      most_geometric_[i + 1][s] = most_geometric_[i][s] * geometric[s];
      bool may_keep = false, may_bypass = false;
      for (const std::uint32_t mask : space_.keeps(i)) (mask >> s & 1 ? may_keep : may_bypass) = true;
      may_stop_[i + 1][s] = may_stop_[i][s] && may_bypass;
      // Chains that start at or inside level i: those further in, and those that level i begins.
      std::vector<Chain> chains;
      const std::vector<Chain>& inside = chains_[i][s];
      const double block = values_of(level_[i], s);
      if (may_bypass) chains = inside;
      if (may_keep) {
        if (may_stop_[i][s]) chains.push_back({level_[i].priced.write_pj / block, 0, i});
        for (const Chain& next : inside) {
          Chain longer = next;
          longer.fill += (level_[i].priced.write_pj + level_[i].priced.read_pj) / block;
          longer.update += (read_write_ >> s & 1 ? level_[i].priced.update_pj : 0) / block;
          chains.push_back(longer);
        }
      }
      // A chain that costs more per word and ends at the same level can never be the cheapest.
      std::vector<Chain>& kept = chains_[i + 1][s];
      for (const Chain& chain : chains) {
        const auto no_better = [](const Chain& a, const Chain& b) {
          return a.last == b.last && a.fill >= b.fill && a.update >= b.update;
        };
        if (std::any_of(kept.begin(), kept.end(), [&](const Chain& other) { return no_better(chain, other); }))
          continue;
        std::erase_if(kept, [&](const Chain& other) { return no_better(other, chain); });
        kept.push_back(chain);
      }
    }
  }
}

template <typename Size>
typename Descent<Size>::State Descent<Size>::root() const {
  State state;
  state.extent.fill(1);
  for (int d = 0; d < dimensions_; ++d) state.extent[d] = model_->einsum().dimensions[original_[d]].bound;
  state.run.fill(1);
  state.scatter.fill(1);
  state.multicast.fill(1);
  state.partition.fill(1);
  for (int s = 0; s < dataspaces_; ++s) state.partition[s] = iterations_moving(state, s);
  state.parent_partition.fill(0);
  state.parent_instances.fill(1);
  state.parent.fill(-1);
  return state;
}

template <typename Size>
Count Descent<Size>::iterations_moving(const State& state, int s) const {
  Count iterations = 1;
  for (int d = 0; d < dimensions(); ++d)
    if (relevant_[s] >> d & 1) iterations *= state.extent[d];
  return iterations;
}

template <typename Size>
Count Descent<Size>::tile(const State& state, int s) const {
  if (product_form_[s]) return iterations_moving(state, s);
  std::array<Count, kMaxDimensions> extents;
  extents.fill(1);
  for (int d = 0; d < dimensions_; ++d) extents[original_[d]] = state.extent[d];
  Count words = 1;
  for (const workload::Rank& rank : model_->einsum().dataspaces[s].ranks) {
    Count length = 1;
    for (const workload::Term& term : rank.terms) length += term.coefficient * (extents[term.dimension] - 1);
    words *= length;
  }
  return words;
}

template <typename Size>
bool Descent<Size>::fits(const State& state, int level, std::uint32_t mask) const {
  const std::optional<Count> capacity = space_.capacity(level);
  if (!capacity) return true;
  Count words = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
    words += space_.units(level, __builtin_ctz(rest)) * tile(state, __builtin_ctz(rest));
  return words <= *capacity;
}

template <typename Size>
bool Descent<Size>::uses_at_least(const State& state, int level, std::uint32_t mask, Count least) const {
  Count words = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
    words += space_.units(level, __builtin_ctz(rest)) * tile(state, __builtin_ctz(rest));
  return words >= least;
}

template <typename Size>
void Descent<Size>::pay(State& state, const Level& level, Count instances, const Words<Count>& words) const {
  state.energy_pj += energy_pj(level.priced, words, level.priced.paying(static_cast<double>(instances)));
  if (level.port < 0) return;
  state.read_words[level.port] += static_cast<double>(words.reads);
  state.write_words[level.port] += static_cast<double>(words.fills) + static_cast<double>(words.updates);
}

template <typename Size>
void Descent<Size>::settle(State& state, int s, Count crossings, Count seen) const {
  const Level& parent = level_[state.parent[s]];
  const Count content = crossings * state.scatter[s];
  pay(state, parent, state.parent_instances[s], served(parent.priced, read_write_ >> s & 1, s, content, seen));
  for (std::size_t k = 0; k < networks_.size(); ++k) {
    if (state.network_scatter[k][s] == 0) continue;
    const Count words = crossings * state.network_scatter[k][s] * state.network_instances[k];
    state.energy_pj += static_cast<double>(words) * state.network_pj[k][s];
    state.network_scatter[k][s] = 0;
  }
}

template <typename Size>
void Descent<Size>::keep(State& state, int i, std::uint32_t mask) const {
  const Level& level = level_[i];
  state.leak_pj_per_cycle += level.priced.leak_pj_per_cycle * static_cast<double>(state.instances);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int s = __builtin_ctz(rest);
    if (state.parent[s] >= 0) {
      const Count trips = level.priced.rules.no_temporal_reuse >> s & 1
                              ? state.iterations
                              : (state.run[s] == 1 ? state.iterations : state.iterations / state.run[s]);
      const Count box = tile(state, s), share = trips * box;
      // Tiles lie apart: there are as many as iterations outside them, each with all its words, holes included.
      const auto seen = [&](Count partition) {
        return product_form_[s] ? partition : partition / iterations_moving(state, s) * box;
      };
      pay(state, level, state.instances,
          received(level.priced, read_write_ >> s & 1, s, share, seen(state.partition[s])));
      settle(state, s, share, seen(state.parent_partition[s]));
    }
    for (std::size_t k = 0; k < networks_.size(); ++k) state.network_scatter[k][s] = 0;
    state.parent[s] = static_cast<std::int8_t>(i);
    state.parent_partition[s] = state.partition[s];
    state.parent_instances[s] = state.instances;
    state.scatter[s] = 1;
    state.multicast[s] = 1;
  }
}

template <typename Size>
void Descent<Size>::loop(State& state, int i, const std::array<Count, kDims>& temporal, const Order& order,
                         const Spread& spread) const {
  Count here = 1;
  for (int d = 0; d < dimensions(); ++d) {
    if (temporal[d] == 1) continue;
    here *= temporal[d];
    state.extent[d] /= temporal[d];
  }
  if (here > 1) {
    state.iterations *= here;
    for (int s = 0; s < dataspaces(); ++s) {
      if (order.open >> s & 1) {
        state.run[s] *= here;
        continue;
      }
      Count run = 1;
      for (std::uint32_t rest = order.run[s]; rest != 0; rest &= rest - 1) run *= temporal[__builtin_ctz(rest)];
      state.run[s] = run;
    }
  }
  if (spread.alone) return;
  const int network_here = network_at_[i];
  for (int s = 0; s < dataspaces(); ++s) {
    const Count scatter = spread.scatter[s];
    if (spread.relevant[s] > 1) state.partition[s] /= spread.relevant[s];
    state.multicast[s] *= spread.multicast[s];
    state.scatter[s] *= scatter;
    for (std::size_t k = 0; k < networks_.size(); ++k) {
      if (static_cast<int>(k) == network_here && state.parent[s] >= 0) {
        state.network_scatter[k][s] = scatter;
        state.network_pj[k][s] = spread.transfer_pj[s];
        state.network_instances[k] = state.instances;
      } else {
        state.network_scatter[k][s] *= scatter;
      }
    }
  }
  for (int d = 0; d < dimensions(); ++d)
    if (spread.factor[d] > 1) state.extent[d] /= spread.factor[d];
  state.instances *= spread.product;
}

template <typename Size>
bool Descent<Size>::finish(State& state) const {
  for (int s = 0; s < dataspaces(); ++s) {
    if (state.parent[s] < 0) return false;
    settle(state, s, state.iterations, state.parent_partition[s]);
  }
  return true;
}

template <typename Size>
double Descent<Size>::slowest_port(const std::array<double, kPorts>& read_words,
                                   const std::array<double, kPorts>& write_words) const {
  double cycles = 0;
  for (const Level& level : level_) {
    if (level.port < 0) continue;
    const double reads = read_words[level.port], writes = write_words[level.port];
    cycles = std::max(cycles, level.priced.port_cycles(reads, writes));
  }
  return whole_cycles_ ? std::ceil(cycles) : cycles;
}

template <typename Size>
Bounds Descent<Size>::exact(const State& state) const {
  const double active =
      std::max(static_cast<double>(state.iterations), slowest_port(state.read_words, state.write_words));
  Bounds bounds;
  bounds.energy_pj = state.energy_pj + compute_pj_ +
                     active * (state.leak_pj_per_cycle + compute_leak_ * static_cast<double>(state.instances));
  bounds.cycles = active + latency_;
  bounds.edp_j_cycles = bounds.energy_pj * bounds.cycles / 1e12;
  return bounds;
}

template <typename Size>
Bounds Descent<Size>::bound(const State& state, int keeping, int spreading) const {
  const double instances = static_cast<double>(state.instances);
  double energy_pj = state.energy_pj + compute_pj_;
  std::array<double, kPorts> reads = state.read_words, writes = state.write_words;
  // No dimension spreads further than its constraints and what is left of it allow.
  std::array<double, kDims> reach;
  double most_instances = 1;
  for (int d = 0; d < dimensions(); ++d) {
    reach[d] = std::min(static_cast<double>(state.extent[d]), most_spatial_[spreading + 1][d]);
    most_instances *= reach[d];
  }
  most_instances = std::min(most_instances, most_instances_[spreading + 1]);
  const auto most_multicast = [&](int s, int level) {
    double most = 1;
    for (int d = 0; d < dimensions(); ++d)
      if (!(relevant_[s] >> d & 1)) most *= std::min(reach[d], most_spatial_[level + 1][d]);
    return std::min(most, most_multicast_[level + 1][s]);
  };
  for (int s = 0; s < dataspaces(); ++s) {
    const bool read_write = read_write_ >> s & 1;
    // Were s kept here, all instances together would be filled with this many words; keepers further in
    // need at least as many, whatever the inner loops are.
    Count volume = 1;
    for (int d = 0; d < dimensions(); ++d)
      if (relevant_[s] >> d & 1) volume *= state.extent[d];
    const double fill = instances *
                        static_cast<double>((state.run[s] == 1 ? state.iterations : state.iterations / state.run[s])) *
                        static_cast<double>(volume);
    const double elided = read_write ? instances * static_cast<double>(state.partition[s]) : 0;
    const double refill = std::max(0.0, fill - elided);
    const int parent = int{state.parent[s]};
    double cheapest = std::numeric_limits<double>::infinity(), least_reads = cheapest;
    const double multicast = static_cast<double>(state.multicast[s]);
    const double parent_elided =
        parent >= 0 && read_write && !level_[parent].priced.reads_first(s)
            ? static_cast<double>(state.parent_partition[s]) * static_cast<double>(state.parent_instances[s])
            : 0;
    const auto parent_cost = [&](double words) {
      const Level& above = level_[parent];
      if (!read_write) return words * above.priced.read_pj / values_of(above, s);
      return (std::max(0.0, words - parent_elided) * above.priced.read_pj + words * above.priced.update_pj) /
             values_of(above, s);
    };
    if (parent >= 0 && may_stop_[keeping + 1][s]) {
      least_reads = operations_ / (multicast * most_multicast(s, spreading));
      cheapest = parent_cost(least_reads);
    }
    const double first = parent >= 0 ? parent_cost(fill / multicast) : 0;
    for (const Chain& chain : chains_[keeping + 1][s]) {
      const Level& last = level_[chain.last];
      const double words = operations_ / most_multicast(s, chain.last);
      double cost = first;
      if (read_write) {
        const double seen = elided * most_geometric_[spreading + 1][s] / most_geometric_[chain.last + 1][s];
        cost +=
            (std::max(0.0, words - seen) * last.priced.read_pj + words * last.priced.update_pj) / values_of(last, s);
      } else {
        cost += words * last.priced.read_pj / values_of(last, s);
      }
      if (parent >= 0) cost += chain.fill * refill + chain.update * fill;
      cheapest = std::min(cheapest, cost);
    }
    if (!chains_[keeping + 1][s].empty()) least_reads = std::min(least_reads, fill / multicast);
    energy_pj += cheapest;
    if (parent >= 0 && level_[parent].port >= 0 && std::isfinite(least_reads)) {
      const double each = static_cast<double>(state.parent_instances[s]) / units_of_value(level_[parent], s);
      const int port = level_[parent].port;
      reads[port] += (read_write ? std::max(0.0, least_reads - parent_elided) : least_reads) / each;
      if (read_write) writes[port] += least_reads / each;
    }
  }
  const double active = std::max({operations_ / (instances * most_instances), static_cast<double>(state.iterations),
                                  slowest_port(reads, writes) * (1 - 1e-12)});
  Bounds bounds;
  bounds.energy_pj = energy_pj + active * (state.leak_pj_per_cycle + instances * leak_inside_[keeping + 1]) +
                     compute_leak_ * std::max(operations_, instances * active);
  bounds.cycles = active + latency_;
  bounds.edp_j_cycles = bounds.energy_pj * bounds.cycles / 1e12;
  return bounds;
}

template <typename Size>
const std::vector<typename Descent<Size>::Order>& Descent<Size>::orders(int level, std::uint32_t iterating) {
  if (!orders_known_[level][iterating]) {
    orders_known_[level][iterating] = true;
    std::uint32_t original = 0;
    for (int d = 0; d < dimensions_; ++d)
      if (iterating >> d & 1) original |= 1u << original_[d];
    const std::vector<OrderChoice>& choices = space_.orders(level, original);
    for (std::size_t k = 0; k < choices.size(); ++k) {
      Order order;
      order.open = choices[k].open;
      order.index = static_cast<int>(k);
      for (int s = 0; s < dataspaces_; ++s) {
        order.run[s] = 0;
        for (int d = 0; d < dimensions_; ++d)
          if (choices[k].run[s] >> original_[d] & 1) order.run[s] |= 1u << d;
      }
      orders_[level][iterating].push_back(order);
    }
  }
  return orders_[level][iterating];
}

template <typename Size>
LevelMapping Descent<Size>::realise(int level, std::uint32_t keep, const std::array<Count, kDims>& temporal,
                                    const Order& order, std::uint32_t iterating, const Spread& spread) const {
  LevelMapping mapping;
  const std::size_t all = model_->einsum().dimensions.size();
  mapping.temporal.assign(all, 1);
  mapping.spatial.assign(all, 1);
  std::uint32_t original = 0, spread_over = 0;
  for (int d = 0; d < dimensions_; ++d) {
    mapping.temporal[original_[d]] = temporal[d];
    mapping.spatial[original_[d]] = spread.factor[d];
    if (iterating >> d & 1) original |= 1u << original_[d];
    if (spread.factor[d] > 1) spread_over |= 1u << original_[d];
  }
  std::vector<int> inner = space_.orders(level, original)[order.index].order;
  for (int d = 0; d < static_cast<int>(all); ++d)
    if ((original >> d & 1) && std::find(inner.begin(), inner.end(), d) == inner.end()) inner.push_back(d);
  mapping.temporal_order = space_.full_temporal_order(level, inner);
  std::tie(mapping.spatial_order, mapping.split) =
      space_.full_spatial_order(level, spread_over, space_.spatial(level)[spread.index].to_x);
  mapping.keep = keep;
  return mapping;
}

template class Descent<SmallRoom>;
template class Descent<LargeRoom>;

}  // namespace orrery::nest
