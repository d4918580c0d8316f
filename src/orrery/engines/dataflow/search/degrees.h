// The degrees of parallelism that a system can run a workload with, and which dimension of the network serves which.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/engines/dataflow/model/mapping.h"
#include "orrery/engines/dataflow/search/reason.h"

namespace orrery::dataflow {

// Degrees, and what each dimension of the network serves under them.
struct Allocation {
  Degrees degrees;
  std::vector<std::optional<Parallelism>> serves;
};

// Every allocation that the system allows, in a fixed order: sizes of dimensions rising from the first dimension on,
// then what they serve (tensor, pipeline, data, sequence). Sizes of 0 take every value for which the product is the
// number of chips. For language models, one dimension serves any one of tensor, pipeline and data parallelism, two any
// two, three all three, four also the sequence; a dimension that names none is tried with each, or
// serves none (`services_as_stated`). The global batch divides into whole micro-batches. Empty: see
// degree_contradictions.
std::vector<Allocation> allocations(const Setup& setup, const Defects& defects);

// Why there are none; empty when there are some.
std::vector<Reason> degree_contradictions(const Setup& setup, const Defects& defects);

// `setup` with sizes and services of the network filled in; the setup for lower() and evaluate().
Setup allocated(const Setup& setup, const Allocation& allocation);

// Whether the network of `setup` already states all services of `allocation`.
bool states(const Setup& setup, const Allocation& allocation);

// Tiles of a pass, fewest first. A stated size stands (or number: `tile_size_counts_tiles`); else every distinct
// ceil(sequence / tiles), or, where tiles must divide the sequence (`tiles_divide`), every divisor of it.
// Empty: the stated one does not divide the sequence and must. The first `most` of them.
std::vector<Tiling> tilings(const Setup& setup, const Degrees& degrees, const Defects& defects,
                            std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace orrery::dataflow
