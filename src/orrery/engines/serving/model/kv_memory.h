// How many blocks of keys and values an engine allocates, and how many sequences they hold.
#pragma once

#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/serving/model/deployment.h"
#include "orrery/engines/serving/model/served_model.h"

namespace orrery::serving {

// Layers that fill and free their blocks together. Every group's block has `KvMemory::block_bytes`.
struct CacheGroup {
  base::Count layers = 0;
  base::Count span = 0;    // tokens whose keys are kept; 0: all
  bool state = false;      // of a fixed size: one block a sequence
  base::Count tokens = 0;  // of a block; 0: KvMemory::block_tokens
};

// Of one group of attention; bytes on its accelerator with most.
struct KvMemory {
  double total = 0;  // of the accelerator
  double weights = 0;
  double activations = 0;  // of a step of the most tokens
  double graphs = 0;       // and of libraries
  double caches = 0;       // what is left for blocks; negative: so much is lacking
  base::Count block_tokens = 0;
  double block_bytes = 0;  // on an accelerator
  base::Count blocks = 0;  // 0: the model does not fit
  std::vector<CacheGroup> groups;

  base::Count blocks_for(base::Count tokens, base::Count step_tokens) const;  // of a sequence of so many tokens
  // Sequences of so many tokens that have room beside each other while one of them computes `step_tokens` and every
  // other one a token: windows are widest while a prompt is read, and what a step computes is shared. At least 1.
  double users(base::Count tokens, base::Count step_tokens) const;
  // Tokens that the blocks hold, of endless sequences: of layers that keep all tokens.
  base::Count tokens() const;
};

// The deployment is completed() and checked.
KvMemory kv_memory(const ServedModel& model, const cluster::System& system, const Deployment& deployment);

// Sequences of so many tokens that the blocks hold at once, as engines print it: a fraction counts.
double max_concurrency(const KvMemory& memory, const Deployment& deployment, base::Count context);

// Whether TensorRT-LLM has to cut prompts (`enable_chunked_prefill`): where the longest does not fit into a step beside
// a query of every other sequence that may run, of requests of `context` tokens. Uncut, it would run alone.
bool cuts_prompts(const KvMemory& memory, const Deployment& deployment, base::Count longest, base::Count context);

}  // namespace orrery::serving
