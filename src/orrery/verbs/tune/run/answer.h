// What `tune run` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/sample.h"
#include "orrery/runtime/kernels/machine_peaks.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/verbs/tune/layer_plan.h"
#include "orrery/verbs/tune/processor_share.h"
#include "orrery/verbs/tune/run/layer_check.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

// An operator of one pass, over all measured iterations.
struct MeasuredOperator {
  std::string name;
  bool backward = false;
  double seconds = 0;     // median
  double operations = 0;  // of products
  double bytes = 0;       // each operand read once, each result written once
  std::string bound;      // "compute" or "memory": which of the machine's peaks it comes closer to
  double of_bound = 0;    // share of that peak
};

// One iteration's operators as they ran, for a trace.
struct TracedOperator {
  std::string name;
  bool backward = false;
  double start = 0, seconds = 0;
};

struct TunedRun {
  RunnableLayer layer;
  bool training = false;
  layer::Dropout dropout;
  std::string layout;             // the file, or empty
  std::optional<LayerPlan> plan;  // of this machine and these sizes, unless a layout was asked for
  int threads = 0;
  std::string isa;
  kernels::MachinePeaks peaks;
  double peak = 0;                            // operations a second that the layer's type is held against
  ProcessorShare got, got_by_peaks;           // during the measured iterations, and while peaks were probed
  std::vector<double> forward_s, backward_s;  // of each measured iteration, in order
  base::Sample forward, backward;             // seconds
  double operations = 0;                      // of one iteration
  double saved_bytes = 0;
  std::vector<MeasuredOperator> operators;  // in the order in which they ran
  std::vector<TracedOperator> trace;        // of the measured iterations, the first some thousand
  std::optional<LayerCheck> check;
  bool ended_early = false;  // a limit or an interrupt came before all was done
  base::Diagnostics warnings;

  double seconds() const { return forward.median + backward.median; }
  double rate() const { return seconds() > 0 ? operations / seconds() : 0; }
};

}  // namespace orrery::verbs
