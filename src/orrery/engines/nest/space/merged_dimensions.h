// Dimensions that do the same are searched as one: rows and columns of a 1 x 1 convolution are one dimension of P Q
// positions, and the convolution is a matrix product.
//
// Two dimensions are alike if no dataspace tells them apart: each moves with both, on axes of their own by one word an
// iteration, or with neither. Every factor of P Q at some place is a factor of P times one of Q, and whichever primes a
// mapping takes, P's and Q's can be dealt to them; so both spaces have the same costs. Constraints may say no more of
// them than that both have no loop somewhere.
//
// A fan-out in X and Y can put P on one side and Q on the other. Of each fan-out those factors of P Q are listed that
// can be dealt so (mesh_axes.h). What two such fan-outs together ask for may still be more than one of P and Q has of
// some prime: the merged space then has mappings that the original has not, and is a bound of it.
#pragma once

#include <optional>
#include <vector>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

struct Merged {
  workload::Einsum einsum;
  Mapspace space;
  std::vector<std::vector<int>> parts;  // of each dimension: those of the original
};

// Nothing where no dimensions are alike.
std::optional<Merged> merge_alike(const workload::Einsum& einsum, const machine::Chip& chip, const Mapspace& space);

// The mapping of the original that a mapping of `merged` stands for. Nothing where its factors in space cannot be
// dealt, or are not within some ten thousand tries; never if fan-outs have one side each.
std::optional<Mapping> split(const Merged& merged, const workload::Einsum& original, const machine::Chip& chip,
                             const Mapping& mapping);

}  // namespace orrery::nest
