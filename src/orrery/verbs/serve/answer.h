// What `serve` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/serving/search/optimize.h"
#include "orrery/engines/serving/simulation/replay.h"
#include "orrery/inputs/systems/chip_attention.h"

namespace orrery::verbs {

// Two of three measured runs like it are predicted within these shares (docs/model/serving.md).
struct ServingError {
  std::optional<double> tpot, ttft, throughput;  // absent: nobody knows; `tpot`: or no token follows another
  bool measured = false;                         // runs like it were measured, of the first two
  std::string of;  // what the runs of the first have in common with it; or why nobody knows

  void widen(double times, const std::string& beside) {
    for (std::optional<double>* share : {&tpot, &ttft, &throughput})
      if (*share) **share *= times;
    measured = false, of += beside;
  }
};

// With `--why`: the best deployment that has a choice.
struct ForcedDeployment {
  std::string choice;
  std::optional<serving::Found> best;
  std::string reason;  // why there is none
};

// With `--fuse`: the best deployment without (nothing where requests come too fast for it), and each attention that was
// asked for, whose sizes are powers of two.
struct ServedFusion {
  serving::Service apart;
  std::vector<AskedAttention> asked;
};

struct ServedAnswer {
  std::string model, system;         // the system of the best, of pools that of the decoding one
  std::string weights;               // what they are stored in
  bool as_published = false;         // the weights are in few bits, as the model's file has them
  bool caches_as_published = false;  // keys and values are, too
  std::vector<std::string> systems;  // that were asked for, as Found::machine counts them
  serving::Load load;
  std::vector<serving::Request> trace;  // empty: none was given
  bool timed = false;                   // requests come at its times
  serving::ServiceLimits limits;
  serving::Goal goal = serving::Goal::kTokensPerAccelerator;
  std::vector<serving::Found> best;  // at least one
  base::Certificate certificate;
  bool ended_early = false;
  ServingError expected_error;
  std::optional<ForcedDeployment> forced;
  std::optional<ServedFusion> fused;
  std::vector<serving::Found> front;  // with `--front`
  double offload = 0;                 // GB of the host's memory for each accelerator's keys and values; 0: none
  std::string launch;                 // a command that starts the engine so, of each pool a line
  std::optional<serving::Simulation> simulation;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
  base::Diagnostics refused;  // why the answer is no; then `best` is empty

  const serving::Found& first() const { return best.front(); }
  // What requests that come at a trace's times get is what its simulation says, where there is one: the closed form
  // knows no bursts.
  bool is_simulated() const { return timed && simulation; }
  serving::Service service() const;
  const std::optional<serving::Deployment>& prompts() const { return first().prompts; }
  // What waits depends on longer bursts than the closed form knows.
  bool is_crowded() const { return load.rate && *load.rate > 0.9 * first().service.capacity; }
  base::Count accelerators() const { return first().accelerators(); }
};

// "1 x tp 4 x pp 2".
std::string plan_text(const serving::Deployment& deployment);

}  // namespace orrery::verbs
