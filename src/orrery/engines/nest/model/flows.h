// What crosses each boundary of a mapping, once it is known which storages keep which dataspace. In words per instance:
// whole ones where all factors divide, means of the instances in use where they leave a remainder.
#pragma once

#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest {

template <typename Number>
struct Flows {
  LevelTable<Number> content;  // leaves level i for the next keeper inside it; for levels up to the outermost keeper
  LevelTable<Number> share;    // enters level i, where it is kept, from the next keeper outside; 0 at the outermost
  // Different words over the whole run: of those that leave level i, and of those that enter it, which are boxes of its
  // own. The same, unless boxes have holes.
  LevelTable<Number> seen, seen_entering;
};

}  // namespace orrery::nest
