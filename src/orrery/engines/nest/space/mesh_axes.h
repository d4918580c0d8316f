// Mesh axes: which of the dimensions that a fan-out spreads lie along X and which along Y.
//
// A dimension lies on one side, unless it stands for several that are searched as one (merged_dimensions.h): then each
// of its parts does, and what factor lies where is one of the ways to deal the factor to the parts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// What constraints say of the order of a block's loops.
struct FixedOrder {
  std::vector<int> inner, outer;  // dimensions with a fixed place, each from the inside
  std::optional<int> split;       // in space: how many dimensions lie along X

  // The place of a dimension among `all`; -1: it may have any between those that are fixed.
  int place_of(int dimension, int all) const;
};

struct FixedOrders {
  std::vector<FixedOrder> temporal, spatial;  // by level
};
FixedOrders fixed_orders(const Mapspace& mapspace, int levels, int dimensions);

// Dimensions that are searched as one.
struct Parts {
  std::vector<std::vector<int>> of;  // of each dimension: those that it stands for
  std::vector<base::Count> bound;    // of each part
  std::vector<FixedOrder> spatial;   // of the parts' loops, by level
};

// Of the dimensions in `iterating`, those along X, if factors fit in some way; `factor`: of all dimensions.
std::optional<std::uint32_t> lay_out(const FixedOrder& order, int dimensions, std::uint32_t iterating,
                                     const base::Count* factor, base::Count fanout_x, base::Count fanout_y);

// The order of every dimension in space and its split that put just `to_x`, of those that iterate, along X.
std::pair<std::vector<int>, int> full_order(const FixedOrder& order, int dimensions, std::uint32_t iterating,
                                            std::uint32_t to_x);

// The orders and splits of loops in space that these factors of all dimensions may take, one for each order of the
// loops that iterate: costs see no more of a layout.
using Layout = std::pair<std::vector<int>, int>;
std::vector<Layout> layouts(const FixedOrder& order, int dimensions, const base::Count* factor, base::Count fanout_x,
                            base::Count fanout_y);

// All ways to deal the factors of dimensions to their parts, of each of which `left` is left, until `use` says that one
// is good. False: none is.
bool each_dealing(const Parts& parts, const base::Count* factor, std::vector<base::Count>& left,
                  const std::function<bool(const std::vector<base::Count>&)>& use);

// The same for dimensions with parts. Those of which some part lies along X.
std::optional<std::uint32_t> lay_out(const Parts& parts, int level, const base::Count* factor, base::Count fanout_x,
                                     base::Count fanout_y);

}  // namespace orrery::nest
