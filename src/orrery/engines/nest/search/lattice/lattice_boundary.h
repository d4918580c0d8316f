// Prices and loads of every boundary under one layout, by what is reused across it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "orrery/engines/nest/search/lattice/lattice_problem.h"

namespace orrery::nest::lattice {

// The divisors of one bound, or some of them, and how they multiply.
struct Axis {
  std::vector<base::Count> value;                 // rising
  std::vector<std::vector<int>> multiples;        // indices of proper multiples within the axis, rising
  std::vector<std::vector<int>> prime_multiples;  // those of them with no other between
  // With more than `most` divisors: of those, so many that divide each other much as all do, 1 and the bound among
  // them.
  explicit Axis(base::Count bound = 1, std::size_t most = std::numeric_limits<std::size_t>::max());
};

// Axes by bound, made once each.
class Axes {
 public:
  explicit Axes(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}
  const Axis& of(base::Count bound) { return axes_.try_emplace(bound, bound, most_).first->second; }
  // How many divisors there are, whether on an axis or not.
  std::size_t divisors(base::Count bound);

 private:
  std::size_t most_;
  std::map<base::Count, Axis> axes_;
  std::map<base::Count, std::size_t> divisors_;
};

// The largest tiles that fit a level: those that no other fitting one contains, by index on the axes. Layouts that
// leave the same to the temporal loops share them where they spread alike inside the level.
class LargestTiles {
 public:
  using List = std::vector<Triple<int>>;
  // Bytes that it keeps at most.
  explicit LargestTiles(double room) : room_(room) {}
  std::shared_ptr<const List> of(const Level& level, std::uint32_t kept, const Triple<const Axis*>& axes,
                                 const Triple<base::Count>& spread, const LatticeProblem& problem);

 private:
  struct Key {
    base::Count capacity;
    std::uint32_t kept;
    Triple<const Axis*> axes;
    Triple<base::Count> spread, units;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  double room_, used_ = 0;
  std::unordered_map<Key, std::shared_ptr<const List>, Hash> lists_;
};

// A dataspace crossing from its keeper b to the next one inside, a: entries by index of the divisor that is
// reused, on the axis of the dimension that the dataspace is blind to. All fall as reuse grows.
struct Boundary {
  struct Load {
    int resource = 0;
    std::vector<double> cycles;
  };
  std::vector<double> pj;
  std::vector<Load> loads;
};

// What counts how much: energy, and each resource's cycles.
struct Criterion {
  double energy = 1;
  Loads loads{};

  // By index of the divisor that is reused.
  std::vector<double> price(const Boundary& boundary) const;
  double price(double energy_pj, const Loads& cycles) const;
};

// The energy alone; energy with what the scarcest resource's cycles are worth; that resource's cycles alone.
enum : int { kEnergy, kTogether, kScarce, kCriteria };
// A figure by each criterion; those not in use are 0.
using Least = std::array<double, kCriteria>;

// Which levels keep each dataspace: bit a of keeps[s].
using Keeps = Triple<std::uint32_t>;

// Tables filled as they are asked for. Borrows its arguments.
class Boundaries {
 public:
  Boundaries(const LatticeProblem& problem, const Prices& prices, Axes& axes, LargestTiles& largest);

  const LatticeProblem& problem() const { return *problem_; }
  const Prices& prices() const { return *prices_; }
  const Axis& axis(int d) const { return *axis_[d]; }

  const Boundary& at(int s, int a, int b);
  // What the compute units read from the innermost of what is kept.
  double innermost_pj(int s, int b) const { return innermost_pj_[s][b]; }
  const Loads& innermost_loads(int s, int b) const { return innermost_loads_[s][b]; }
  // Per point of the lattice (dimension 0 slowest), its divisors by index.
  const std::vector<Triple<int>>& points();
  // Points of the lattice (dimension 0 slowest) whose tiles of the dataspaces `kept` level a holds.
  struct Fits {
    std::vector<char> at;         // by point
    std::vector<int> list;        // rising
    std::vector<double> barrier;  // by point: infinite where it does not fit, else 0
  };
  const Fits& fits(int a, std::uint32_t kept);
  // Those of them that none of the others contains; nothing about points is kept for it.
  std::shared_ptr<const LargestTiles::List> largest(int a, std::uint32_t kept);
  // Of those that fit, the ones that the constraints on the innermost level allow.
  const std::vector<int>& starts(std::uint32_t kept);
  // Gives back what is kept by point; it is made again when asked for.
  void forget_points();
  // Adds the loads of one crossing.
  void add(int s, int a, int b, int reuse, Loads& loads);

 private:
  const LatticeProblem* problem_;
  const Prices* prices_;
  LargestTiles* largest_;
  Triple<const Axis*> axis_;
  std::vector<Triple<int>> points_;
  std::vector<Boundary> boundary_;  // [dataspace][inner level][outer level]
  std::vector<Fits> fits_;          // [level][kept]
  std::array<std::optional<std::vector<int>>, 1u << kSpaces> starts_;
  Triple<std::vector<double>> innermost_pj_;
  Triple<std::vector<Loads>> innermost_loads_;
};

// The keeper next outside level a, or -1.
inline int next_keeper(std::uint32_t keeps, int a) {
  const std::uint32_t outer = keeps >> (a + 1);
  return outer == 0 ? -1 : a + 1 + __builtin_ctz(outer);
}

}  // namespace orrery::nest::lattice
