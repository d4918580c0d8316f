// How many different words of a dataspace cross a boundary over the whole run, where its tiles have holes.
#pragma once

#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest {

// Words in the union of all boxes that the instances of level `inner` (-1: compute units, whose boxes are words) inside
// one instance of level `outer` hold over the run; inner <= outer.
struct DifferentWords {
  double of_all = 0;         // summed over the instances of `outer`, of dimensions that move the dataspace
  base::Count of_first = 0;  // of the instance at the first place of every fan-out
};
DifferentWords different_words(const Shape& shape, int s, const Mapping& mapping, int inner, int outer);

// The second alone, of a mapping without remainders.
base::Count different_words_of_one(const Shape& shape, int s, const Mapping& mapping, int inner, int outer);

// Reports dataspaces whose words are too many to list (O1010).
void require_listable(const workload::Einsum& einsum, const Shape& shape);

}  // namespace orrery::nest
