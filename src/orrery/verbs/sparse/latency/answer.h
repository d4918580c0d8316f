// What `sparse latency` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

struct SparseLatency {
  std::string name;  // column of the log; "given"
  double load_balance = 0, v1_ms = 0, v2_ms = 0;
};

struct SparseLatencyAnswer {
  base::Count seq_len = 0, masks = 0;  // masks of the log; 0 without one
  double density = 0;                  // mean over masks
  std::vector<SparseLatency> latencies;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
