// Sizes rounded up: a dimension may run a few iterations more than it has, where its own size divides badly.
//
// The iterations beyond the size compute on padding. They are priced as all others are: a mapping of the rounded einsum
// is a mapping, perfect in every factor, and costs what Model::evaluate says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

// What a search may do with factors that do not divide a dimension's size.
enum class Factors {
  kPerfect,    // there are none
  kPadded,     // sizes are rounded up first
  kImperfect,  // loops have fewer iterations in their last round (imperfect_search.h)
};

// Sizes that a dimension of `bound` iterations may have on this chip, rising, `bound` itself first: its next multiples
// of powers of two, of the sides of arrays and of their divisors, below twice `bound`.
std::vector<base::Count> padded_sizes(base::Count bound, const machine::Chip& chip);

struct Rounding {
  int dimension = 0;  // of the einsum
  base::Count from = 1, to = 1;

  bool operator==(const Rounding&) const = default;
};

// The best of all sizes.
struct PaddedOptimum {
  Optimum optimum;
  workload::Einsum einsum;              // that `optimum` maps
  std::vector<Rounding> rounded;        // dimensions that are larger than they were; none: nothing better than perfect
  std::optional<Evaluation> unrounded;  // of the best mapping without rounding; nothing: none was found
  std::uint64_t sizes = 0;              // combinations that were searched, or excluded by a bound
};

// Every combination of padded_sizes(): as optimize(), whose limits hold for all of them together. `only`: dimensions
// that may be rounded; all where empty. With `known`, the optimum without rounding, that one is not searched again.
PaddedOptimum optimize_padded(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                              const SearchLimits& limits, const std::vector<int>& only = {},
                              const Optimum* known = nullptr);

// What some of these sizes would save, found without a search: a mapping better than `known` by single changes of a
// first one. Nothing where none of the `most` smallest combinations helps.
struct RoundingGlance {
  std::vector<Rounding> rounded;
  Evaluation evaluation;
};
std::optional<RoundingGlance> glance_at_padding(const Model& model, const Mapspace& space,
                                                const std::vector<Metric>& objective, const std::vector<int>& only,
                                                const Evaluation& known, std::size_t most);

// Dimensions whose size is a large prime, or little more than one, where rounding may pay most.
std::vector<int> awkward_dimensions(const workload::Einsum& einsum);

}  // namespace orrery::nest
