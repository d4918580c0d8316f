// What `sparse latency` is asked.
#pragma once

#include <string>

#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

struct SparseLatencyRequest {
  std::string log;  // load_balance.csv; empty: the two figures
  double density = 0, load_balance = 0;
  base::Count seq_len = 512;
};

}  // namespace orrery::verbs
