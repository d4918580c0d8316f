// What the search over tiles needs to know of a problem, and what each crossing costs under one configuration. See
// tile_search.cc for the formulation.
//
// Dimensions are those that iterate, numbered from 0. A configuration fixes fan-outs and what is kept; what is left are
// the temporal factors and the order of loops.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest::tiles {

using base::Count;
using Factors = std::array<Count, kMaxDimensions>;

struct Axis {                         // a rank that moves
  std::vector<workload::Term> terms;  // over dimensions of the problem
};

struct Dataspace {
  std::vector<Axis> axes;
  std::uint32_t relevant = 0;  // dimensions that move it
  std::uint32_t blind = 0;     // those that do not
  std::uint32_t window = 0;    // dimensions on an axis with another one: windows slide along them
  std::uint32_t shaped = 0;    // dimensions of which its words are not simply a product
  bool read_write = false;
  bool product_form = false;

  Count tile(const Factors& extents) const {
    Count words = 1;
    for (const Axis& axis : axes) {
      Count side = 1;
      for (const workload::Term& term : axis.terms) side += term.coefficient * (extents[term.dimension] - 1);
      words *= side;
    }
    return words;
  }
  // The axis of a window's dimension.
  const Axis& axis_of(int d) const;
};

struct Problem {
  const Model* model = nullptr;
  const Space* space = nullptr;
  int levels = 0;
  std::vector<int> dimension;  // of the einsum
  std::vector<Count> bound;
  std::vector<std::vector<Count>> divisors;  // of each bound
  std::vector<Dataspace> dataspaces;
  double latency = 0;
  double compute_pj = 0;
  double compute_leak = 0;
  bool whole_cycles = true;

  int dimensions() const { return static_cast<int>(dimension.size()); }
  int spaces() const { return static_cast<int>(dataspaces.size()); }
};

// Nothing where the formulation does not apply: exceptions to temporal reuse, a dimension that moves a dataspace along
// two axes, three dimensions on one axis, more ports than there is room for.
std::optional<Problem> describe(const Model& model, const Space& space);

struct Config {
  std::vector<int> choice;          // per storage: index into Space::spatial
  std::vector<std::uint32_t> keep;  // per storage
};

// Cycles that ports need for the words they move, by Crossings::port.
inline constexpr int kMostPorts = 24;
using Loads = std::array<double, kMostPorts>;

// What a fan-out does to each dataspace.
struct Fanout {
  double instances = 1;
  std::array<double, kMaxDataspaces> scatter{};    // at least: different words that leave above it for one that arrives
  std::array<double, kMaxDataspaces> partition{};  // parts in which what is seen is dealt
  std::array<double, kMaxDataspaces> transfer_pj{};  // of explicit networks, a word

  bool operator==(const Fanout&) const = default;
};
inline constexpr Factors kNothingSpread = [] {
  Factors factors{};
  factors.fill(1);
  return factors;
}();
// `inside`: what fan-outs inside spread, as far as it is known.
Fanout fanout_of(const Problem& problem, int level, const std::vector<Count>& factor,
                 const Factors& inside = kNothingSpread);

// What words cost that cross from one storage into another, under given fan-outs.
class Crossings {
 public:
  Crossings(const Problem& problem, const std::vector<Fanout>& fanouts);

  const Problem& problem() const { return *problem_; }
  double leak_pj_per_cycle() const { return leak_; }
  int ports() const { return static_cast<int>(limits_.size()); }
  double instances(int level) const { return instances_[level]; }
  double units() const { return units_; }

  // Energy of `words` of s that cross into each instance of level a (-1: each compute unit) from their keeper b; loads
  // are added where wanted. Where instances overlap along a diagonal, a bound.
  double crossing(int s, int a, int b, double words, Loads* loads) const;

  // No less than this: for each of the words that enter all instances of level a together, and once. What leaves b is
  // one word for `shared` of these, but all the words of the dataspace at least.
  struct Line {
    double entering = 0, leaving = 0, once = 0, shared = 1;
    double seen = 0;  // words that enter all instances of a together at least; 0 where that is not known
    struct Load {
      int port = 0;
      double per_word = 0, once = 0;
    };
    std::vector<Load> enters, leaves;
  };
  Line line(int s, int a, int b) const;

 private:
  double slope(int level, const Words<double>& words) const;
  void add_loads(int level, double per_word, const Words<double>& words, double once, const Words<double>& seen,
                 std::vector<Line::Load>& loads) const;
  double settle(int s, int inner, int outer, double words, Loads* loads) const;
  double pay(int level, const Words<double>& words, Loads* loads) const;

  struct Port {
    int level = 0;
    bool reads = false, writes = false;
    double limit = 0;
  };
  const Problem* problem_;
  double leak_ = 0, units_ = 1;
  std::vector<Port> limits_;             // by level
  std::vector<std::size_t> first_port_;  // of each level
  std::vector<Fanout> fanouts_;
  std::vector<std::array<double, kMaxDataspaces>>
      partition_;  // words that one instance sees over the whole run, at most
  std::vector<double> instances_, paying_;
};

// What is known once a configuration is fixed.
class Prices : public Crossings {
 public:
  Prices(const Problem& problem, const Config& config);

  bool possible() const { return possible_; }    // every dataspace is kept somewhere, and loops can do what is left
  double cycles() const { return cycles_; }      // of computing alone
  double fixed_pj() const { return fixed_pj_; }  // computes, and what the compute units ask of those that keep
  const Loads& fixed_loads() const { return fixed_loads_; }

  Count left(int d) const { return left_[d]; }                        // what the temporal loops share
  Count spread(int level, int d) const { return spread_[level][d]; }  // spatial factors up to and including S_level
  const Config& config() const { return *config_; }

  // The keeper of s outside level a, which keeps it; -1: none.
  int parent(int s, int a) const { return parent_[a][s]; }

  double crossing(int s, int a, double words, Loads* loads) const {
    return Crossings::crossing(s, a, parent_[a][s], words, loads);
  }

  // Energy, cycles and leakage as the objective sees them.
  double energy_pj(double dynamic_pj, double active) const { return dynamic_pj + leak_pj_per_cycle() * active; }
  double active(const Loads& loads) const;
  double whole(double cycles) const;

 private:
  const Config* config_;
  bool possible_ = true;
  double cycles_ = 1, fixed_pj_ = 0;
  Loads fixed_loads_{};
  Factors left_{};
  std::vector<Factors> spread_;
  std::vector<std::array<int, kMaxDataspaces>> parent_;
};

}  // namespace orrery::nest::tiles
