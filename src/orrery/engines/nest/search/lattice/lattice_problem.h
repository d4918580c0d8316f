// What the lattice search needs to know of a problem, and the price of each boundary once the fan-outs are
// fixed. See lattice.cc for the formulation.
//
// Dimensions and dataspaces are numbered so that dataspace s is blind to dimension blind[s] and to no other.
// Levels are the "real" ones: storages that may keep or loop. Pure fan-outs are folded into the spread of
// the next real level outside them.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest::lattice {

inline constexpr int kDims = 3;
inline constexpr int kSpaces = 3;

template <typename T>
using Triple = std::array<T, 3>;

struct Level {
  int storage = 0;                           // index into Chip::storages
  Triple<bool> free{};                       // dimensions that may iterate here; above level 0: any divisor or none
  Triple<std::vector<base::Count>> allowed;  // temporal factors; level 0 only
  std::uint32_t must_keep = 0, may_keep = 0;
  std::optional<base::Count> capacity;
  PricedLevel priced;
  int read_resource = -1, write_resource = -1, shared_resource = -1;  // indices into LatticeProblem::limits, or -1
};

// Bandwidths that bind somewhere: reads, writes, or both of one storage.
inline constexpr int kMostResources = 16;

// By resource: how many cycles it needs for the words it moves.
using Loads = std::array<double, kMostResources>;

inline constexpr int kMostLevels = 16;

struct LatticeProblem {
  const Model* model = nullptr;
  const Space* space = nullptr;
  Triple<int> dimension;  // Einsum dimension, or -1 for one that does not iterate
  Triple<base::Count> bound;
  Triple<int> blind;      // per dataspace
  Triple<int> dataspace;  // per dimension: the one that is blind to it
  std::uint32_t read_write = 0;
  std::vector<Level> levels;  // innermost first
  int resources = 0;
  Loads limits{};  // words per cycle of one instance
  double latency = 0;
  double compute_pj = 0;
  double compute_leak = 0;
  bool whole_cycles = true;
  int label_of(int storage) const;  // level of a storage, or -1
};

// Nothing where the formulation does not apply.
std::optional<LatticeProblem> describe(const Model& model, const Space& space);

// One choice of fan-out at every storage of the chip.
struct SpatialLayout {
  std::vector<int> choice;   // per storage: index into Space::spatial(storage)
  Triple<base::Count> left;  // bound / all spatial factors: what the temporal loops share
  double cycles = 1;         // product of `left`: the compute cycles
  double instances = 1;      // compute units in use
};
// Those whose compute cycles lie in (above, upto]; what was found until `stop` says so, and so many at most.
std::vector<SpatialLayout> layouts(const LatticeProblem& problem, double above = 0,
                                   double upto = std::numeric_limits<double>::infinity(),
                                   const std::function<bool()>& stop = {},
                                   std::size_t most = std::numeric_limits<std::size_t>::max());
// Compute cycles of a layout, at least.
double least_cycles(const LatticeProblem& problem);
// Energy of every mapping, at least: computes, and each dataspace read or updated once where everything comes from.
double compulsory_pj(const LatticeProblem& problem);

// Prices under one layout.
class Prices {
 public:
  Prices(const LatticeProblem& problem, const SpatialLayout& layout);

  // Dataspace s kept at level a and next at level b outside it, its tile crossing after `reuse` = (temporal
  // factor of its blind dimension inside a) * (its run outside a): energy of the fills of a and the reads
  // of b, all instances.
  double boundary_pj(int s, int a, int b, base::Count reuse) const;
  // Dataspace s read from its innermost keeper b by the compute units.
  double innermost_pj(int s, int b) const;
  void add_boundary(int s, int a, int b, base::Count reuse, Loads& loads) const;
  void add_innermost(int s, int b, Loads& loads) const;

  // Cycles of the slowest resource or of the compute units, at least: rounding never adds one.
  double cycles(const Loads& loads) const;
  double leak_pj_per_cycle() const { return leak_; }
  const SpatialLayout& layout() const { return *layout_; }
  // Words of dataspace s that one instance of level a holds when the temporal loops inside span `inside`.
  base::Count tile(int s, int a, const Triple<base::Count>& inside) const;
  // Product of the spatial factors of dimension d inside level a.
  base::Count spread(int a, int d) const { return at_[problem_->levels[a].storage].inside[d]; }

 private:
  struct At {
    Triple<base::Count> inside;  // spatial factors of each dimension inside the storage
    Triple<double> relevant;     // per dataspace: those of the dimensions that move it, multiplied
    double instances = 1;
    double paying = 1;             // clusters of them that pay for an access
    Triple<double> transfer_pj{};  // per word, of the networks below the storage
    bool network = false;
  };
  double networks_pj(int s, int inner_storage, int outer_storage, double per) const;
  // What a crossing is to the level that it enters, and to the one that serves it.
  Words<double> entering(int s, int a, double per) const;
  Words<double> leaving(int s, int b, double per) const;
  void add(const Level& level, const Words<double>& words, Loads& loads) const;

  const LatticeProblem* problem_;
  const SpatialLayout* layout_;
  std::vector<At> at_;   // per storage
  Triple<double> kept_;  // per dataspace: product of `left` over the dimensions that move it
  double leak_ = 0;
};

}  // namespace orrery::nest::lattice
