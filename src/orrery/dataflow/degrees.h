// Which degrees of parallelism a system can run a workload with, and which dimension of the network serves which.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/dataflow/mapping.h"
#include "orrery/dataflow/reason.h"

namespace orrery::dataflow {

// Degrees, and what each dimension of the network serves under them.
struct Allocation {
  Degrees degrees;
  std::vector<std::optional<Parallelism>> serves;
};

// Every allocation that the system allows, in a fixed order: sizes of dimensions rising from the first dimension on,
// then what they serve (tensor, pipeline, data, sequence). Sizes of 0 take every value for which the product is the
// number of chips. For language models, one dimension serves any one of tensor, pipeline and data parallelism, two any
// two, three all three, four also the sequence; under kCorrected a dimension that names none is tried with each, under
// DFModel's generations it serves none. The global batch divides into whole micro-batches. Empty: see
// degree_contradictions.
std::vector<Allocation> allocations(const Setup& setup, Generation generation);

// Why there are none; empty when there are some.
std::vector<Reason> degree_contradictions(const Setup& setup, Generation generation);

// `setup` with sizes and services of the network filled in; what lower() and evaluate() are to be given.
Setup allocated(const Setup& setup, const Allocation& allocation);

// Whether the network of `setup` says already all that `allocation` does about services.
bool states(const Setup& setup, const Allocation& allocation);

// Tiles of a pass, fewest first. A stated size stands (kGen1: number); else every divisor of the sequence, or, where
// the last tile may be ragged (kCorrected, kHead, kGen4 from 32768 tokens), every distinct ceil(sequence / tiles).
// Empty: the stated one does not divide the sequence and must. The first `most` of them.
std::vector<Tiling> tilings(const Setup& setup, const Degrees& degrees, Generation generation,
                            std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace orrery::dataflow
