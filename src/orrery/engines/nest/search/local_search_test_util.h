// A search that knows nothing of bounds: random walks and annealing over legal mappings, to try to beat an
// optimum that another search claims. Test-only.
//
// A move takes one prime factor of a dimension to another block, trades two factors between two blocks, turns a
// factor from time to space or back, swaps two loops, flips who keeps what, or lays a loop along the other side of
// the array. Several moves may be tried as one, so that a walk leaves places from which every single one is illegal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest::testing {

class LocalSearch {
 public:
  // `worth`: what a mapping costs, to be made small; called once for each mapping that is priced.
  using Worth = std::function<double(const Evaluation&)>;
  LocalSearch(const Model& model, const Mapspace& space, Worth worth, std::uint64_t seed)
      : model_(model), space_(space), worth_(std::move(worth)), dice_(Dice::from_seed(seed)) {
    for (const workload::Dimension& dimension : model.einsum().dimensions) {
      std::vector<base::Count> primes;
      for (const auto& [prime, exponent] : base::prime_factors(dimension.bound)) primes.push_back(prime);
      primes_.push_back(std::move(primes));
    }
  }

  bool allowed(const Mapping& mapping) const {
    return is_legal(model_.einsum(), model_.chip(), mapping) &&
           is_allowed(model_.einsum(), model_.chip(), mapping, space_);
  }

  double price(const Mapping& mapping) {
    model_.evaluate(mapping, evaluation_);
    return worth_(evaluation_);
  }

  // Legal moves at random, whatever they cost.
  Mapping wander(Mapping from, int moves) {
    for (int tries = 0; moves > 0 && tries < 20 * moves + 1000; ++tries) {
      Mapping next = from;
      change(next);
      if (!allowed(next)) continue;
      from = std::move(next);
      --moves;
    }
    return from;
  }

  // Tries `moves` moves from a legal mapping and takes those that cost no more than `heat` (a share, falling
  // to 0) above where it stands. Returns the cheapest mapping seen.
  Mapping anneal(const Mapping& from, std::int64_t moves, double heat) {
    Mapping here = from, best = from, next;
    double price_here = price(here), price_best = price_here;
    for (std::int64_t k = 0; k < moves; ++k) {
      next = here;
      for (base::Count changes = dice_.pick({1, 1, 1, 2, 3}); changes > 0; --changes) change(next);
      ++tried_;
      if (!allowed(next)) continue;
      ++priced_;
      const double now = price(next);
      const double slack = heat * (1 - static_cast<double>(k) / static_cast<double>(moves));
      if (now > price_here * (1 + slack * dice_.hundredths(0, 100))) continue;
      std::swap(here, next);
      price_here = now;
      if (now >= price_best) continue;
      price_best = now;
      best = here;
    }
    return best;
  }

  std::int64_t tried() const { return tried_; }
  std::int64_t priced() const { return priced_; }

 private:
  struct Block {
    int level;
    bool spatial;
  };
  static base::Count& factor(Mapping& mapping, const Block& block, int dimension) {
    LevelMapping& level = mapping.levels[block.level];
    return (block.spatial ? level.spatial : level.temporal)[dimension];
  }

  int levels() const { return static_cast<int>(model_.chip().storages.size()); }
  int any_level() { return static_cast<int>(dice_(0, levels() - 1)); }
  int any_dimension() { return static_cast<int>(dice_(0, static_cast<base::Count>(primes_.size()) - 1)); }
  Block any_block() { return {any_level(), dice_(0, 1) == 1}; }

  // A prime factor of `dimension` goes from one block to another, where there is one.
  void move_factor(Mapping& mapping, int dimension, const Block& from, const Block& to) {
    const std::vector<base::Count>& primes = primes_[dimension];
    if (primes.empty()) return;
    const base::Count prime = primes[dice_(0, static_cast<base::Count>(primes.size()) - 1)];
    base::Count& source = factor(mapping, from, dimension);
    if (source % prime != 0) return;
    source /= prime;
    factor(mapping, to, dimension) *= prime;
  }

  // A block in which `dimension` iterates; any block where none does.
  Block block_with(Mapping& mapping, int dimension) {
    for (int tries = 0; tries < 20; ++tries)
      if (const Block block = any_block(); factor(mapping, block, dimension) > 1) return block;
    return any_block();
  }

  void lay_out(LevelMapping& level, std::uint32_t to_x) {
    const std::vector<int> order = level.spatial_order;
    level.spatial_order.clear();
    for (const bool x : {true, false})
      for (const int d : order)
        if ((to_x >> d & 1) == x) level.spatial_order.push_back(d);
    level.split = __builtin_popcount(to_x);
  }

  void change(Mapping& mapping) {
    const int d = any_dimension();
    LevelMapping& level = mapping.levels[any_level()];
    switch (dice_(0, 9)) {
      case 0:
      case 1:
      case 2:
        return move_factor(mapping, d, block_with(mapping, d), any_block());
      case 3:
      case 4: {
        const Block a = block_with(mapping, d), b = any_block();
        move_factor(mapping, d, a, b);
        return move_factor(mapping, any_dimension(), b, a);
      }
      case 5: {
        const int i = any_level();
        const bool spatial = dice_(0, 1) == 1;
        return move_factor(mapping, d, {i, spatial}, {i, !spatial});
      }
      case 6: {
        std::vector<int>& order = level.temporal_order;
        const auto last = static_cast<base::Count>(order.size()) - 1;
        return std::swap(order[dice_(0, last)], order[dice_(0, last)]);
      }
      case 7: {  // innermost, where it decides what stays
        std::vector<int>& order = level.temporal_order;
        const auto at = std::find(order.begin(), order.end(), d);
        std::rotate(order.begin(), at, at + 1);
        return;
      }
      case 8:
        level.keep ^= 1u << dice_(0, static_cast<base::Count>(model_.einsum().dataspaces.size()) - 1);
        return;
      default: {
        std::uint32_t to_x = 0;
        for (int k = 0; k < level.split; ++k) to_x |= 1u << level.spatial_order[k];
        return lay_out(level, to_x ^ 1u << d);
      }
    }
  }

  const Model& model_;
  const Mapspace& space_;
  const Worth worth_;
  Dice dice_;
  std::vector<std::vector<base::Count>> primes_;
  Evaluation evaluation_;
  std::int64_t tried_ = 0, priced_ = 0;
};

}  // namespace orrery::nest::testing
