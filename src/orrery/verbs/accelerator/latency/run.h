// `orrery sparse latency`: Sanger's latency models on measured or given figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

struct SparseLatencyRequest {
  std::string log;  // load_balance.csv; empty: the two figures
  double density = 0, load_balance = 0;
  base::Count seq_len = 512;
};

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

// Throws InputError: those of formats/sanger/load_balance_rows.h.
SparseLatencyAnswer sparse_latency(const SparseLatencyRequest& request);

}  // namespace orrery::verbs
