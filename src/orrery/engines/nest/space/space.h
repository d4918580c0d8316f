// A map space prepared for searching: the choices of every block of the nest.
//
// Constraints become, per level: allowed temporal factors of each dimension, the list of spatial factor
// vectors that fit the fan-out, the loop orders that differ in cost, and the masks of kept dataspaces.
//
// Two orders of the same loops cost the same when every dataspace keeps the same innermost run of loops
// that do not move it, so only one order per distinct combination of runs is kept, and a combination is
// dropped when another one's runs contain all of its own (longer runs never cost more).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/model/units.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/engines/nest/space/mesh_axes.h"

namespace orrery::nest {

// Which of the hardware's own limits hold; explain.cc lifts them one at a time.
struct HardwareLimits {
  std::vector<bool> capacity;  // per level; empty: all hold
  std::vector<bool> fanout;    // per level; empty: all hold
};

struct SpatialChoice {
  std::array<base::Count, kMaxDimensions> factor;  // per dimension
  base::Count product = 1;
  std::uint32_t to_x = 0;  // dimensions laid along X
};

// An order class of the loops that iterate at one level. Bit masks are over dimensions.
struct OrderChoice {
  std::array<std::uint32_t, kMaxDataspaces> run;  // loops inside the first one that moves s
  std::uint32_t open = 0;                         // bit s: no loop here moves s, the run goes on outwards
  std::vector<int> order;                         // innermost first; iterating dimensions only
};

class Space {
 public:
  // If `budget` has not enough time or memory for all spatial factor vectors, some of them are left out. With
  // `imperfect`, factors need not divide: any up to the bound may be taken, and `completable_inside_spatial` says
  // nothing.
  Space(const workload::Einsum& einsum, const machine::Chip& chip, const Mapspace& mapspace, const Shape& shape,
        const HardwareLimits& limits = {}, const base::Budget& budget = {}, bool imperfect = false);

  // False when some dimension cannot be factored at all under the constraints on it alone.
  bool possible() const { return possible_; }
  // False when something was left out: every mapping found is allowed, but some mappings cannot be found.
  bool complete() const { return complete_; }

  int levels() const { return levels_; }
  const std::vector<int>& dimensions() const { return dimensions_; }  // those that iterate (bound > 1)

  const std::vector<base::Count>& temporal(int level, int dimension) const { return temporal_[level][dimension]; }
  const std::vector<SpatialChoice>& spatial(int level) const { return (*spatial_)[level]; }
  const std::vector<std::uint32_t>& keeps(int level) const { return keeps_[level]; }
  // Classes of orders of the loops in `iterating` (mask of dimensions) at `level`; never empty.
  const std::vector<OrderChoice>& orders(int level, std::uint32_t iterating) const;

  // Whether the blocks inside S_level can still multiply to `extent` of `dimension`.
  bool completable_inside_spatial(int level, int dimension, base::Count extent) const {
    return contains(inside_spatial_[level][dimension], extent);
  }

  // In units of the level (units.h), which a value of dataspace s takes units(level, s) of.
  std::optional<base::Count> capacity(int level) const { return capacity_[level]; }
  base::Count units(int level, int s) const { return units_[level].value[s]; }
  base::Count minimum_use(int level) const { return minimum_use_[level]; }

  // Whether T_level may take any divisor of any dimension in any order / may stay empty.
  bool loops_free(int level) const;
  bool may_not_loop(int level) const;
  // Whether the dimensions that iterate may stand in any order in T_level.
  bool order_is_free(int level) const;

  // Dimensions whose place in T_level is fixed: innermost and outermost, from the inside.
  const std::vector<int>& fixed_inside(int level) const { return order_.temporal[level].inner; }
  const std::vector<int>& fixed_outside(int level) const { return order_.temporal[level].outer; }

  // Mappings that the constraints allow before capacity: factorisations x orders x splits x bypasses.
  double size() const { return size_; }

  // Full order of every dimension at a level, `iterating` loops in the given order, constraints obeyed.
  std::vector<int> full_temporal_order(int level, const std::vector<int>& iterating) const;
  // Full spatial order and split that put exactly `to_x` (among `iterating`) along X.
  std::pair<std::vector<int>, int> full_spatial_order(int level, std::uint32_t iterating, std::uint32_t to_x) const;
  // All of them that differ in what neighbours see, for a spatial factor vector (mesh_axes.h).
  std::vector<Layout> layouts(int level, const base::Count* factor) const;

 private:
  static bool contains(const std::vector<base::Count>& sorted, base::Count value);
  void allow_factors(const workload::Einsum& einsum, const Mapspace& mapspace);
  void list_spatial(const machine::Chip& chip, const Mapspace& mapspace, const HardwareLimits& limits,
                    const base::Budget& budget);
  void list_completable(const workload::Einsum& einsum);
  double count(const workload::Einsum& einsum) const;
  double perfect_factorisations(int dimension, base::Count bound) const;
  double imperfect_factorisations(int dimension, base::Count bound) const;

  int levels_ = 0;
  int all_dimensions_ = 0;
  int dataspaces_ = 0;
  bool possible_ = true;
  bool complete_ = true;
  bool imperfect_ = false;
  double size_ = 0;
  std::vector<int> dimensions_;
  std::vector<base::Count> divisors_;  // how many each dimension's bound has
  std::vector<std::uint32_t> relevant_;
  std::vector<std::vector<std::vector<base::Count>>> temporal_;             // [level][dimension], rising
  std::vector<std::vector<std::vector<base::Count>>> spatial_factors_;      // [level][dimension], rising
  std::shared_ptr<const std::vector<std::vector<SpatialChoice>>> spatial_;  // [level]; copies share it
  std::vector<std::vector<std::uint32_t>> keeps_;
  FixedOrders order_;
  std::vector<std::pair<base::Count, base::Count>> fanout_;  // along X and Y
  std::vector<std::vector<std::vector<base::Count>>> inside_spatial_;
  std::vector<Units> units_;
  std::vector<std::optional<base::Count>> capacity_;
  std::vector<base::Count> minimum_use_;
  mutable std::vector<std::map<std::uint32_t, std::vector<OrderChoice>>> orders_;
};

}  // namespace orrery::nest
