// What else there is to hold an array's simulation against: Sanger's two latency models, what this machine takes. What
// was published: run.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/attention_input.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::verbs {

// The attention of one layer, as the models see it; several sequences one after the other.
struct LatencyShape {
  base::Count matrices = 1, heads = 12;  // of all sequences; of one
  base::Count queries = 512, keys = 512, size = 64;
  base::Count rows = 64, pes = 16, ports = 64;
  double hertz = 1e9;
  double density = 0, load_balance = 0;  // of vectors of `ports` keys split over `pes` PEs ("25%-skip")
};

// Milliseconds of what each model counts of the scores and values of these heads: projections are left out of both,
// since no array simulates them. The equations are those of engines/masks/packing/latency.h with these sizes in place
// of the fixed ones; with 12 heads of 64 and the published array they are its terms.
double v1_core_ms(const LatencyShape& shape);
double v2_core_ms(const LatencyShape& shape);

// A part of the work: what a model says of it (nothing: it leaves it out), what was simulated, and why they differ.
struct LatencyLine {
  std::string part;
  std::optional<double> v1_ms, v2_ms, simulated_ms;
  std::string remark;
};

// Of a square layer of 768 features on the published array at 1 GHz: the whole of both models, projections included.
struct WholeLayer {
  double v1_ms = 0, v2_ms = 0;
  double projections_ms = 0;       // of queries, keys and values at the array's peak, as both count them
  double output_ms = 0;            // the output projection at the peak, dense as it is
  double output_as_pruned_ms = 0;  // as both count it: times density / load balance
};
std::optional<WholeLayer> whole_layer(const LatencyShape& shape);

// Attention of these numbers on this machine; medians of `turns`. Nothing where the budget leaves no time.
struct CpuTimes {
  double dense_ms = 0, sparse_ms = 0;  // the latter with the mask given, not predicted
  int threads = 0;
  std::string isa;
};
std::optional<CpuTimes> cpu_times(const masks::Mask& mask, base::Count size, int threads, int turns,
                                  const base::Budget& budget);

}  // namespace orrery::verbs
