// Which decisions are allowed, and why not the others.
//
// A map space is what the chip itself allows (capacities, fan-outs, every dimension tiled by whole
// divisors) less what a list of constraints forbids. Each constraint remembers where the user wrote
// it, so that an empty space can be explained by the lines that contradict each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::nest {

enum class Comparison { kEqual, kAtMost, kAtLeast };

// One restriction on one level (an index into Chip::storages). Which fields count depends on `kind`.
struct Constraint {
  enum class Kind {
    kFactor,          // dimension, comparison, value; temporal or spatial
    kOrder,           // inner, outer; temporal or spatial
    kSplit,           // value: how many of the spatial order's loops go to X
    kKeep,            // dataspace, keep
    kMinParallelism,  // fraction: least share of the level's fan-out that must be used
  };
  Kind kind = Kind::kFactor;
  int level = 0;
  bool spatial = false;

  int dimension = 0;
  Comparison comparison = Comparison::kEqual;
  base::Count value = 1;

  // Dimensions fixed innermost (innermost first) and outermost (innermost first); the rest lies between.
  std::vector<int> inner, outer;

  int dataspace = 0;
  bool keep = true;

  double fraction = 0;

  std::string text;  // as the user wrote it: "D=16"
  base::Location where;
};

// Exceptions to reuse, per level and dataspace: bit s of each mask. One entry per storage.
struct ReuseRules {
  std::uint32_t no_temporal_reuse = 0;   // every iteration fetches the whole tile of this level again
  std::uint32_t no_spatial_sharing = 0;  // no multicast to, no reduction from, the instances below
  std::uint32_t read_first_update = 0;   // the first update reads the (zero) value too: no elision
  std::uint32_t no_links = 0;            // instances below take nothing from their neighbours
};

struct Parts;

struct Mapspace {
  std::vector<Constraint> constraints;
  std::vector<ReuseRules> reuse;  // empty, or one entry per storage
  // Where dimensions stand for several each (merged_dimensions.h): how those are laid out in space (mesh_axes.h).
  std::shared_ptr<const Parts> parts;
};

}  // namespace orrery::nest
