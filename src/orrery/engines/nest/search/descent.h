// One step at a time from the outermost storage inwards, each step priced exactly.
//
// A partial mapping ("Front") has fixed every loop outside storage i. Everything above is then known for
// good: the tile that crosses into i is what the outer loops leave of the bounds, and how often it
// crosses is the product of the outer loops less each dataspace's innermost run. So energies, port loads
// and capacities are settled level by level, and what remains open per dataspace is only
//     its keeper above (parent), the fan-outs since, and the run that inner loops may still lengthen.
// Fronts with equal open parts have equal futures, which is what a bound or a dominance rule needs.
//
// Templated on the sizes, so that the usual three dimensions and dataspaces fit a few cache lines.
// Source of the formulas: engines/nest/model/traffic.cc and engines/nest/model/model.cc, which evaluate every complete
// mapping.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/accounting.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// Capacity of a Front: iterating dimensions, dataspaces, storages with a bandwidth, levels with a network. With
// `exact`, there are just that many dataspaces and pads the dimensions, so that loops over both unroll.
template <int kDims_, int kSpaces_, int kPorts_, int kNetworks_, bool kExact_>
struct Room {
  static constexpr bool kExact = kExact_;
  static constexpr int kDims = kDims_, kSpaces = kSpaces_, kPorts = kPorts_, kNetworks = kNetworks_;
};
using SmallRoom = Room<3, 3, 4, 1, true>;
using LargeRoom = Room<kMaxDimensions, kMaxDataspaces, kMaxLevels, kMaxLevels, false>;

template <typename Size>
struct Front {
  static constexpr int kDims = Size::kDims, kSpaces = Size::kSpaces, kPorts = Size::kPorts, kNetworks = Size::kNetworks;
  std::array<base::Count, kDims> extent;       // what the outer loops leave of each bound
  std::array<base::Count, kSpaces> run;        // innermost unbroken run of loops that do not move s
  std::array<base::Count, kSpaces> scatter;    // relevant fan-out since the parent
  std::array<base::Count, kSpaces> multicast;  // irrelevant fan-out since the parent
  // Iterations of the dimensions that move s which one instance here does; where tiles have no holes, words it sees.
  std::array<base::Count, kSpaces> partition;
  std::array<base::Count, kSpaces> parent_partition;
  std::array<base::Count, kSpaces> parent_instances;
  std::array<std::int8_t, kSpaces> parent;  // level that keeps s above; -1: none yet
  base::Count iterations = 1;               // all temporal loops so far
  base::Count instances = 1;                // all spatial loops so far
  double energy_pj = 0;                     // settled, leakage and computes apart
  double leak_pj_per_cycle = 0;
  std::array<double, kPorts> read_words{};  // settled, per instance of each level with a bandwidth
  std::array<double, kPorts> write_words{};
  // Traffic on explicit networks that is priced once the keeper below them is known. Scatter 0: none.
  std::array<std::array<base::Count, kSpaces>, kNetworks> network_scatter{};
  std::array<std::array<double, kSpaces>, kNetworks> network_pj{};  // per word
  std::array<base::Count, kNetworks> network_instances{};
};

// The lower bounds on a completion's metrics.
struct Bounds {
  double energy_pj = 0;
  double cycles = 0;  // with latencies
  double edp_j_cycles = 0;
};

template <typename Size>
class Descent {
 public:
  static constexpr int kDims = Size::kDims, kSpaces = Size::kSpaces, kPorts = Size::kPorts, kNetworks = Size::kNetworks;
  using State = Front<Size>;

  struct Spread {
    std::array<base::Count, kDims> factor;
    base::Count product = 1;
    int index = 0;                                          // into Space::spatial(level)
    std::array<base::Count, kSpaces> multicast, scatter;    // with sharing as the rules allow it
    std::array<base::Count, kSpaces> irrelevant, relevant;  // products of the factors alone
    std::array<double, kSpaces> transfer_pj;                // of the level's networks, per word
    bool alone = true;                                      // product 1 and no network: nothing to do
  };
  struct Order {
    std::array<std::uint32_t, kSpaces> run;  // masks over compact dimensions
    std::uint32_t open = 0;
    int index = 0;  // into Space::orders(level, ...)
  };

  // Borrows `model`, which must outlive it. One per thread.
  Descent(const Model& model, const Space& space);
  Descent(const Descent&) = delete;  // `Forced` points into it
  Descent& operator=(const Descent&) = delete;

  State root() const;
  int levels() const { return levels_; }
  int dimensions() const { return Size::kExact ? kDims : dimensions_; }
  int dataspaces() const { return Size::kExact ? kSpaces : dataspaces_; }

  // Whether the tiles of `mask` fit storage `level` at this front.
  bool fits(const State& state, int level, std::uint32_t mask) const;
  // Whether they fill at least `words` of it.
  bool uses_at_least(const State& state, int level, std::uint32_t mask, base::Count words) const;
  // Lets `level` keep the dataspaces of `mask`.
  void keep(State& state, int level, std::uint32_t mask) const;
  // Places the loops of `level`: temporal factors in an order of class `order`, then the spatial ones.
  void loop(State& state, int level, const std::array<base::Count, kDims>& temporal, const Order& order,
            const Spread& spread) const;
  // The compute units below level 0 take what they need. False when a dataspace is kept nowhere.
  bool finish(State& state) const;

  Bounds bound(const State& state, int level) const { return bound(state, level, level); }  // before keep(level)
  Bounds bound_kept(const State& state, int level) const {
    return bound(state, level - 1, level);
  }  // before loop(level)
  Bounds exact(const State& finished) const;

  const std::vector<Spread>& spreads(int level) const { return spreads_[level]; }
  const std::vector<Order>& orders(int level, std::uint32_t iterating);
  const std::vector<std::uint32_t>& keeps(int level) const { return space_.keeps(level); }
  // The only thing that a level can do, where constraints leave no choice; null otherwise.
  struct Forced {
    std::uint32_t keep = 0, iterating = 0;
    std::array<base::Count, kDims> temporal;
    Order order;
    const Spread* spread = nullptr;
  };
  const Forced* forced(int level) const { return forced_[level] ? &*forced_[level] : nullptr; }
  // A level that keeps nothing needs no loops: whatever it iterates, the level outside it could iterate as well, next
  // to its own loops of that dimension, where every dataspace's run is at least as long. True when constraints let the
  // outer level do so, which makes loops at this level superfluous.
  bool loops_move_out(int level) const { return loops_move_out_[level]; }
  std::uint32_t must_keep(int level) const { return must_keep_[level]; }
  // Factors of dimension d that T_level may take when it shares `left` iterations with the blocks inside
  // S_level, and which those can complete. At level 0: `left` itself or nothing.
  const std::vector<base::Count>& factors(int level, int d, base::Count left) const {
    return factors_[level][d].factors[divisor_index(d, left)];
  }

  bool completable_inside_spatial(int level, int d, base::Count extent) const {
    return factors_[level][d].completable[divisor_index(d, extent)];
  }

  LevelMapping realise(int level, std::uint32_t keep, const std::array<base::Count, kDims>& temporal,
                       const Order& order, std::uint32_t iterating, const Spread& spread) const;

 private:
  // How a dataspace may be kept from some level inwards: the levels between the first and the last keeper
  // cost `fill` pJ per word filled and `update` pJ per word updated; `last` feeds the compute units.
  struct Chain {
    double fill = 0, update = 0;
    int last = 0;
  };
  struct Level {
    PricedLevel priced;
    double least_block = 1;  // units that one payment may buy: of all the instances that share it
    int port = -1;           // slot in Front::read_words, or -1
  };
  static double units_of_value(const Level& level, int s) { return static_cast<double>(level.priced.units.value[s]); }
  static double values_of(const Level& level, int s) {  // of s, that one payment may buy
    return level.least_block / units_of_value(level, s);
  }

  // Levels up to `keeping` may still keep, S_`spreading` and further in may still spread.
  Bounds bound(const State& state, int keeping, int spreading) const;
  // Settles words of one dataspace at `level`, of which `instances` are in use.
  void pay(State& state, const Level& level, base::Count instances, const Words<base::Count>& words) const;
  base::Count iterations_moving(const State& state, int s) const;  // within the tile
  base::Count tile(const State& state, int s) const;
  void settle(State& state, int s, base::Count crossings, base::Count seen) const;
  void list_chains();
  double slowest_port(const std::array<double, kPorts>& reads, const std::array<double, kPorts>& writes) const;
  void list_factors();
  void list_forced();

  const Model* model_;
  Space space_;  // a copy: it lists orders when first asked for them
  int levels_, dimensions_, dataspaces_;
  double operations_;
  double latency_;
  double compute_pj_, compute_leak_;
  bool whole_cycles_;
  std::vector<int> original_;  // compact dimension -> Einsum dimension
  std::vector<Level> level_;
  std::array<std::uint32_t, kSpaces> relevant_{};
  std::uint32_t read_write_ = 0;
  std::array<bool, kSpaces> product_form_{};
  std::vector<std::vector<Spread>> spreads_;
  std::vector<std::uint32_t> must_keep_;
  std::vector<bool> loops_move_out_;
  std::vector<std::optional<Forced>> forced_;
  std::vector<std::vector<std::vector<Order>>> orders_;  // [level][iterating]
  std::vector<std::vector<bool>> orders_known_;
  struct Factors {  // by index of the divisor that is left
    std::vector<std::vector<base::Count>> factors;
    std::vector<char> completable;  // whether the blocks inside S_level can do all of it
  };
  // Divisors of a bound are looked up by value: directly below kDirect, by bisection above.
  static constexpr base::Count kDirect = 1 << 16;
  std::size_t divisor_index(int d, base::Count divisor) const {
    if (divisor < static_cast<base::Count>(direct_[d].size())) return direct_[d][divisor];
    return std::lower_bound(divisors_[d].begin(), divisors_[d].end(), divisor) - divisors_[d].begin();
  }
  std::array<std::vector<base::Count>, kDims> divisors_;
  std::array<std::vector<std::uint16_t>, kDims> direct_;
  std::vector<std::array<Factors, kDims>> factors_;      // [level][dimension]
  std::vector<std::array<double, kDims>> most_spatial_;  // of each dimension, over S_level .. S_0
  std::vector<int> network_at_;                          // slot in networks_, or -1
  // Bounds: [level][dataspace].
  std::vector<std::array<std::vector<Chain>, kSpaces>> chains_;
  std::vector<std::array<bool, kSpaces>> may_stop_;          // no keeper at `level` or inside is allowed
  std::vector<std::array<double, kSpaces>> most_multicast_;  // over S_level .. S_0
  std::vector<std::array<double, kSpaces>> most_geometric_;  // the same, sharing forbidden or not
  std::vector<double> most_instances_;                       // over S_level .. S_0
  std::vector<double> leak_inside_;                          // sum over levels <= level
  // Levels with explicit networks, and their uses (into Model::network_uses()).
  std::vector<std::pair<int, std::vector<int>>> networks_;
};

// Whether a problem on a chip fits SmallRoom / LargeRoom.
template <typename Size>
bool has_room(const Model& model, const Space& space);

extern template class Descent<SmallRoom>;
extern template class Descent<LargeRoom>;

}  // namespace orrery::nest
