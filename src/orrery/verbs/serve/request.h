// What `serve` is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/serving/search/optimize.h"
#include "orrery/engines/serving/simulation/replay.h"

namespace orrery::verbs {

// What weights are stored in, whatever they are multiplied in.
enum class StoredAs { kBf16, kFp8, kMxfp4, kNvfp4, kInt4 };

struct ServeRequest {
  std::string model, system;         // catalogue names or paths; of systems several, with commas between
  std::vector<std::string> ignored;  // keys of the model's config.json to leave out of account
  std::string like;                  // a `model_type` to read it as; empty: its own
  std::optional<base::Count> mtp;    // its modules that predict ahead make the guesses; 0: all that it states
  std::optional<base::Count> gpus;   // accelerators that may be taken, of each system
  // The same of each by its name, `gpus` being the most of them; empty: all alike.
  std::vector<std::pair<std::string, base::Count>> gpus_of;
  std::optional<serving::Engine> engine;
  std::optional<machine::Precision> precision, cache_precision;
  std::optional<StoredAs> weights;  // absent: as the file has them, or the precision
  std::optional<base::Count> tp, pp, ep, dp, replicas;
  std::optional<base::Count> speculate;  // tokens that a step guesses
  std::optional<double> acceptance;      // of a guess
  // Pools of their own for prompts and decoding: their degrees and replicas; both, or none.
  std::optional<serving::Deployment> prefill, decode;
  std::string prefill_system, decode_system;  // of those pools; empty: `system`
  bool pools = false;                         // search them, too
  std::optional<base::Count> max_sequences, max_batched_tokens;
  double memory_share = 0;                             // 0: the engine's
  std::optional<base::Count> isl, osl;                 // tokens of prompts and outputs
  std::optional<double> isl_deviation, osl_deviation;  // of log-normal lengths; absent: all are equally long
  std::optional<double> concurrency, rate;
  std::string measurements;  // a table of matrix products; empty: the roofline alone
  std::string trace;         // a file of requests, in the place of lengths and of how they come; empty: none
  double prefix_hit = 0, host_hit = 0;
  std::optional<base::Count> requests_per_user;
  std::optional<double> ttft_limit, tpot_limit;
  std::optional<double> load_limit;   // of the capacity, at most so much of a rate; absent: as the question needs
  std::string chip;                   // in the place of the system's accelerator; empty: its own
  bool fuse = false;                  // that chip runs attention as one operator
  std::optional<serving::Goal> goal;  // absent: least accelerators at a rate, else most tokens of each
  bool simulate = false;
  bool timeline = false;                  // of the simulation: every step
  std::optional<serving::Router> router;  // of the simulation
  bool synchronous = false;               // a step is scheduled once the one before has ended
  bool evicts = false;                    // TensorRT-LLM admits who fits now
  std::optional<double> offload;          // of the simulation: GB of the host's memory for each accelerator's caches
  base::Count requests = 0;               // to simulate; 0: some
  std::optional<std::uint64_t> seed;
  base::Count top = 1;
  bool front = false;  // what users get against what accelerators do
  std::string why;     // "tp=4": a degree to force beside the search; empty: none
  base::Limits limits;
};

}  // namespace orrery::verbs
