// Stores of shards and machines into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/verbs/sweep/store/store.h"

namespace orrery::store {

struct Merged {
  std::uint64_t studies = 0, results = 0, points = 0;  // that were new
};

// Adds the rows of `sources` to `target`, which is made where there is none. Of a point that both have, an answer stays
// before one that a bound excluded. Each source is added whole or not at all. Throws InputError: O2056 where two stores
// answer one point differently, and what opening says.
Merged merge(const std::string& target, const std::vector<std::string>& sources, const Version& version);

}  // namespace orrery::store
