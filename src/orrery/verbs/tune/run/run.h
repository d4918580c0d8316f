// One layer run on this machine and measured: forward, backward, operator by operator, beside the machine's peaks.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/sample.h"
#include "orrery/runtime/kernels/machine_peaks.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/verbs/tune/layer_plan.h"
#include "orrery/verbs/tune/processor_share.h"
#include "orrery/verbs/tune/run/layer_check.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

struct TuneRunRequest {
  LayerRequest layer;
  bool training = false;
  layer::Dropout dropout;
  std::optional<base::Count> iterations, warmup;  // default: until some seconds have passed; a tenth of them
  std::uint64_t seed = 0;
  // A layout file: the layer runs operator by operator as it says. Empty: by the machine's plan where there is one,
  // else as built in; "built-in": so in any case.
  std::string layout;
  bool test = false;
  kernels::Type test_type = kernels::Type::kF64;
  bool tensors = false;                                     // keep those of the test
  base::Limits limits = {.memory = 0};                      // threads <= 0: all cores
  std::function<const std::atomic<bool>*()> interruptible;  // called before what may take long
  std::function<void(std::size_t done)> measuring;          // after each iteration
};

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

// Throws InputError: what runnable_layer says; of a layout file O1746 and O1747; O1525 where memory does not suffice;
// O1526 where time ended before one iteration did; O1511 for probabilities. Nothing runs before sizes and memory are
// checked. Warns with O1530 where other programs took much of the processors meanwhile.
TunedRun tune_run(const TuneRunRequest& request);

// Bytes that this machine has free for a process, and that limits leave it.
double free_memory();

}  // namespace orrery::verbs
