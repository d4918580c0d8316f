// The results that a stored point is made of.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/verbs/sweep/store/store.h"

namespace orrery::sweep {

struct StoredPart {
  std::string name;
  base::Count instances = 1;
  store::Outcome outcome;  // of one instance
};

// As the point has them; empty where it has none.
std::vector<StoredPart> parts_of(store::Store& store, const store::StudyRow& study, std::uint64_t point);

}  // namespace orrery::sweep
