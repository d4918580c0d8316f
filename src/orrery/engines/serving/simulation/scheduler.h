// vLLM's scheduler (version 1), step by step: which sequences get how many tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/serving/simulation/block_pool.h"
#include "orrery/engines/serving/simulation/request.h"

namespace orrery::serving {

struct SchedulerLimits {
  base::Count blocks = 0;
  base::Count block_tokens = 16;
  base::Count max_sequences = 256;
  base::Count max_batched_tokens = 8192;
  base::Count long_prompt = 0;  // a sequence gets at most so many tokens of a step; 0: no limit
  base::Count context = 0;      // the longest sequence; 0: no limit
  bool chunked = true;          // prompts may be cut where a step is full
  bool prefix_caching = true;
};

class Scheduler {
 public:
  struct Share {
    std::int32_t request = 0;
    std::int32_t tokens = 0;   // that are computed in this step
    std::int32_t context = 0;  // that were before
    bool operator==(const Share&) const = default;
  };
  struct Step {
    std::vector<Share> shares;            // in order
    std::vector<std::int32_t> preempted;  // in order; their blocks are free, they begin anew
  };

  // The requests must outlive it; each fits the blocks and the context by itself.
  Scheduler(const SchedulerLimits& limits, const std::vector<Request>& requests);

  void add(std::int32_t request);  // it waits from now on
  bool idle() const { return running_.empty() && waiting_.empty(); }
  std::size_t load() const { return running_.size() + waiting_.size(); }
  const Step& next();  // the next step
  // The step was computed: sequences all of whose known tokens are computed have one more. Calls
  // `token(request, produced, ended)` for each, in order; those whose output is complete end.
  template <class Token>
  void complete(const Token& token) {
    for (const Share& share : step_.shares) {
      State& s = states_[static_cast<std::size_t>(share.request)];
      if (s.computed < s.known) continue;
      ++s.known;
      token(share.request, s.known - s.prompt, s.known == s.length);
      if (s.known == s.length) end(share.request);
    }
    drop_ended();
  }

  bool decodes(const Share& share) const {
    return share.tokens == 1 && share.context >= states_[static_cast<std::size_t>(share.request)].prompt;
  }
  // Whether all of the prompt is computed with it.
  bool ends_prompt(const Share& share) const {
    return share.context + share.tokens >= states_[static_cast<std::size_t>(share.request)].prompt;
  }

  base::Count free_blocks() const { return pool_.free(); }
  base::Count hit_tokens() const { return hit_tokens_; }  // that prefix caching saved, of all admissions

 private:
  struct State {
    std::int32_t known = 0;               // tokens, of the prompt and produced
    std::int32_t computed = 0;            // of them, those in blocks
    std::int32_t filled = 0;              // blocks whose contents are complete
    std::int32_t prompt = 0, length = 0;  // as of Request, beside what is read with them
    bool ended = false;
    std::vector<std::int32_t> blocks;  // held; or, of a request that was preempted, those that it held
  };

  void run_on();
  void admit();
  bool allocate(std::int32_t request, std::int32_t tokens);
  void preempt(std::int32_t request);
  void end(std::int32_t request);
  void drop_ended();
  std::int32_t found(std::int32_t request, std::int32_t most);
  BlockKey key(std::int32_t request, std::int32_t block) const;
  std::int32_t limited(base::Count tokens) const;
  State& state(std::int32_t request) { return states_[static_cast<std::size_t>(request)]; }

  SchedulerLimits limits_;
  const std::vector<Request>& requests_;
  BlockPool pool_;
  std::vector<State> states_;
  std::vector<std::int32_t> running_;  // in the order of admission
  std::deque<std::int32_t> waiting_;
  Step step_;
  std::vector<std::int32_t> hits_;
  base::Count budget_ = 0, hit_tokens_ = 0;
  bool any_ended_ = false;
};

}  // namespace orrery::serving
