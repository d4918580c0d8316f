// A share h of a prompt's I tokens is in the host's memory alone: their blocks come over the link to the host, at its
// rate, L seconds for a request. When they come is the engine's rule (simulation/offloading.cc):
//
//   vLLM          before the request asks for a place, one request after the other. The link is a queue of its own: at
//                 X requests a second of load r = X L, a request waits v/2 r L / (1 - r) for those before it, v the
//                 squared coefficient of variation of the times between them (Pollaczek and Khinchine), then L. No more
//                 than 1 / L are served. Of users, X L are waiting for copies, the others run or wait for a place
//   TensorRT-LLM  in the step that reads the prompt, which begins once they are there: it takes L more for each
//   SGLang        the same, but layer by layer: of n layers, a step of C seconds takes max(C + L / n, L + C / n)
//
// Blocks that a request of vLLM's holds while its copies come are not counted: an approximation, of L in its stay.
//
// Example: 4,000 tokens of Llama 3.1 8B are 524 MB, 10 ms at 52 GB/s; to read them takes an H100 93 ms.
#include "orrery/engines/serving/model/host_copies.h"

#include <algorithm>
#include <limits>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {

HostCopies host_copies(const KvMemory& memory, const Deployment& d, const machine::Accelerator& accelerator,
                       const Load& load) {
  HostCopies out;
  out.in_step = d.engine != Engine::kVllm;
  if (!(load.host_hit > 0)) return out;
  const base::Count tokens = base::saturated(load.prompt.average() * load.host_hit + 0.5);
  const double blocks = static_cast<double>(memory.blocks_for(tokens, std::min(d.max_batched_tokens, tokens)));
  out.seconds = accelerator.host_rate() > 0 ? blocks * memory.block_bytes / accelerator.host_rate()
                                            : std::numeric_limits<double>::infinity();
  return out;
}

void add_copies(double rate, double seconds, double variation, Spread& out) {
  if (!(seconds > 0)) return;
  const double busy = rate * seconds, wait = variation / 2 * busy * seconds / (1 - busy);
  out.least += seconds;
  out.add(wait, wait * wait + busy * seconds * seconds / (3 * (1 - busy)));
}

}  // namespace orrery::serving
