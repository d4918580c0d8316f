// The mapping: which engine serves a model, split how, with which limits. Plain data.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator_model.h"

namespace orrery::serving {

enum class Engine { kVllm, kTensorRtLlm, kSglang };
inline constexpr int kEngines = 3;

// What an engine does where nobody says otherwise.
struct EngineRules {
  std::string_view name;
  double memory_share = 0;             // of the memory that caches may fill:
  bool of_free_memory = false;         // of what is left once the model is loaded; else of all of it, weights included
  base::Count block_tokens = 0;        // of a cache's block
  base::Count max_sequences = 0;       // that run at once,
  base::Count max_batched_tokens = 0;  // of a step,
  base::Count small_sequences = 0;     // and both on an accelerator of less memory
  base::Count small_batched_tokens = 0;
  bool mixes = true;            // steps have prompts and decoding sequences; else prompts stop the others
  double step_seconds = 0;      // of the host, a step that nothing hides,
  double sequence_seconds = 0;  // and for each sequence in it
  bool loads_by_layer = false;  // copies from the host's memory, beside a step that needs them; else before it
  bool stays_together = false;  // users: a next request is looked at before any other goes on
};
const EngineRules& rules(Engine engine);

// A replica has tp x pp x dp accelerators. Attention is divided tp ways in each of `dp` groups with sequences and
// caches of their own; experts are spread over all tp x dp accelerators of a stage: `ep` ways whole, the rest of the
// way each is cut.
struct Deployment {
  Engine engine = Engine::kVllm;
  base::Count replicas = 1;
  base::Count tp = 1, pp = 1, ep = 1, dp = 1;
  machine::Precision precision = machine::Precision::kBf16;        // of weights and products
  machine::Precision cache_precision = machine::Precision::kBf16;  // of keys and values
  double memory_share = 0;                                         // the following: 0: the engine's
  base::Count block_tokens = 0;
  base::Count max_sequences = 0;       // of a group of attention
  base::Count max_batched_tokens = 0;  // of a step of a group
  base::Count context = 0;             // the longest sequence that the engine accepts; 0: what the load needs
  bool evicts = false;                 // TensorRT-LLM: who fits now is admitted (MAX_UTILIZATION), not to its end
  bool graphs = true;                  // steps that only decode are launched at once
  bool synchronous = false;            // a step is scheduled once the one before has ended, else while that runs
  base::Count drafted = 0;  // tokens that a step guesses of each decoding sequence, and reads beside the known one
  double acceptance = 0;    // of a guess that follows accepted ones
  double imbalance = 1.2;   // tokens of the busiest rank of experts over their mean, where they are spread

  base::Count group() const { return tp * pp * dp; }
  base::Count accelerators() const { return replicas * group(); }
  base::Count expert_tp() const { return tp * dp / ep; }

  base::Count steps_ahead() const { return synchronous ? 0 : 1; }  // scheduled while one runs
  base::Count late_steps() const;  // that begin after a user's last token and before its next request is looked at
  double host_seconds(base::Count sequences) const;  // of a step

  base::Count queries() const { return 1 + drafted; }  // of a decoding sequence in a step
  double tokens_per_step() const;                      // that it goes on by, on average,
  double tokens_per_step_variance() const;             // and the variance of that
  double steps_for(double tokens) const;               // in which it goes on by so many, where it ends, on average
  bool guesses_vary() const { return drafted > 0 && acceptance > 0 && acceptance < 1; }  // how many are right

  bool operator==(const Deployment&) const = default;
};

// With what the engine does on such an accelerator filled in.
Deployment completed(Deployment deployment, const machine::Accelerator& on);

// What of it cannot be, of any model: O2070.
void check(const Deployment& deployment, base::Diagnostics& found);

}  // namespace orrery::serving
