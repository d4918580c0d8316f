// A search with some of its rules switched off: the same optimum, found the hard way. For tests, benchmarks, and the
// certificate that is checked by another search (inputs/layers/certify.h).
#pragma once

#include <cstddef>
#include <optional>

#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

struct SearchRules : SearchLimits {
  bool prune_by_bound = true;     // false: price every mapping that fits
  bool lattice = true;            // false: branch and bound even where the lattice applies
  bool tiles = false;             // true: the search over tiles wherever it applies
  bool dominance = true;          // false: open every front that its bound lets through
  bool together = true;           // false: the lattice bounds energy and cycles one by one only
  bool ceilings = true;           // false: the lattice forbids no boundary for what it loads
  bool merge = true;              // false: dimensions that do the same stay apart (merged_dimensions.h)
  double families_from = 20'000;  // configurations from which the search over tiles lists families of them
  bool nested_tiles = true;       // false: its levels are bounded without the tiles around them
  // Of the lattice: up to so many choices of what to keep under one layout are tried one by one, more are bounded
  // together first. Nothing: as many as take less time so.
  std::optional<std::size_t> few_keeps;
  // Only mappings better than this are wanted: no other is found, and `infeasible` means that there is none.
  const Evaluation* beat = nullptr;
  std::size_t most_labels = 400'000;  // of the lattice, at once; what is open beyond goes depth first
};

Optimum optimize(const Model& model, const Mapspace& space, std::vector<Metric> objective, const SearchRules& rules);

}  // namespace orrery::nest
