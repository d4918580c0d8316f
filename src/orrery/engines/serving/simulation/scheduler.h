// The engines' schedulers, step by step: which sequences get how many tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/serving/simulation/block_pool.h"
#include "orrery/engines/serving/simulation/host_pool.h"
#include "orrery/engines/serving/simulation/request.h"

namespace orrery::serving {

enum class Schedule {
  kVllm,            // version 1
  kNoEvict,         // TensorRT-LLM's GUARANTEED_NO_EVICT: who is admitted has blocks to its end
  kMaxUtilization,  // TensorRT-LLM's MAX_UTILIZATION: who fits now is admitted, and paused where blocks lack
  kSglang,          // prompts first, in steps of their own
};

struct SchedulerLimits {
  Schedule schedule = Schedule::kVllm;
  base::Count blocks = 0;
  base::Count block_tokens = 16;
  base::Count max_sequences = 256;
  base::Count max_batched_tokens = 8192;
  base::Count long_prompt = 0;  // a sequence gets at most so many tokens of a step; 0: no limit
  base::Count context = 0;      // the longest sequence; 0: no limit
  bool chunked = true;          // prompts may be cut where a step is full
  bool prefix_caching = true;
  base::Count stages = 1;       // SGLang: each has sequences of its own, in turns
  base::Count drafted = 0;      // tokens that are guessed of a sequence that decodes, as EAGLE does; stages: 1
  double acceptance = 0;        // of a guess that follows accepted ones
  std::uint64_t seed = 1;       // of what is accepted
  base::Count host_blocks = 0;  // copies of full blocks that the host's memory holds; of one pool
};

// Of so many guesses behind the `known` tokens of a request, those that are right: the same whoever asks.
std::int32_t accepted(const SchedulerLimits& limits, std::int32_t request, std::int32_t known, std::int32_t guesses);

class Scheduler {
 public:
  struct Share {
    std::int32_t request = 0;
    std::int32_t tokens = 0;   // that are computed in this step
    std::int32_t context = 0;  // that were before
    std::int32_t guesses = 0;  // of the tokens, the last ones
    bool operator==(const Share&) const = default;
  };
  struct Step {
    std::vector<Share> shares;            // in order; none: nothing can run now
    std::vector<std::int32_t> preempted;  // in order; their blocks are free, they begin anew
    std::vector<Share> fetching;          // have blocks from now on, and wait for what comes into them
    std::int32_t loaded = 0;              // TensorRT-LLM, SGLang: tokens of the shares' that come from the host with it
    std::size_t turn = 0;                 // SGLang: whose of the stages it is
    bool empty() const { return shares.empty() && preempted.empty() && fetching.empty(); }
  };

  // The requests must outlive it; each fits the blocks and the context by itself.
  Scheduler(const SchedulerLimits& limits, const std::vector<Request>& requests);

  void add(std::int32_t request);  // it waits from now on
  // The same, of a request whose prompt was read elsewhere: it has its first token, and blocks that are filled from
  // afar once it has them, before it goes on (`fetched`). Where it is preempted, it is read here.
  void add_read(std::int32_t request);
  void fetched(std::int32_t request);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  std::size_t load() const { return running_.size() + waiting_.size() + fetching_; }
  std::size_t running() const { return running_.size(); }
  const Step& next();  // the next step; several may be under way, in stages: sequences in one are in no other
  // A step was computed: sequences all of whose known tokens were in it have one more. Calls
  // `token(request, produced, ended)` for each, in order; those whose output is complete end.
  template <class Token>
  void complete(const Step& step, const Token& token) {
    for (const Share& share : step.shares) {
      State& s = states_[static_cast<std::size_t>(share.request)];
      if (s.ended) continue;  // with an earlier step
      const std::int32_t certain = share.context + share.tokens - share.guesses;
      if (late()) fill(share.request, certain);
      if (limits_.host_blocks > 0) store(share, certain);
      if (certain < s.known) continue;
      go_on(share);
      token(share.request, s.known - s.prompt, s.known == s.length);
      if (s.known == s.length) end(share.request);
    }
    if (!step.shares.empty()) under_way_[step.turn] = false;
    drop_ended();
  }
  // Blocks of ended requests stay held until release().
  void keep_ended() { keeps_ended_ = true; }
  void release(std::int32_t request);

  // Tokens of its prompt that caches have now.
  base::Count cached(std::int32_t request) const;

  bool decodes(const Share& share) const {
    return share.tokens == 1 + share.guesses &&
           share.context >= states_[static_cast<std::size_t>(share.request)].prompt;
  }
  // Whether all of the prompt is computed with it.
  bool ends_prompt(const Share& share) const {
    return share.context + share.tokens >= states_[static_cast<std::size_t>(share.request)].prompt;
  }

  base::Count free_blocks() const { return pool_.free(); }
  base::Count hit_tokens() const { return hit_tokens_; }        // that prefix caching saved, of all admissions
  base::Count loaded_tokens() const { return loaded_tokens_; }  // the same, from the host's memory
  base::Count accepted_guesses() const { return accepted_guesses_; }

 private:
  // SGLang's SGLANG_INIT_NEW_TOKEN_RATIO.
  static constexpr double kMostOutputShare = 0.7;
  struct State {
    std::int32_t known = 0;               // tokens, of the prompt and produced
    std::int32_t computed = 0;            // of them, those in blocks
    std::int32_t filled = 0;              // blocks whose contents are complete
    std::int32_t guesses = 0;             // tokens behind the known ones that its next step may read
    std::int32_t turn = 0;                // SGLang: of the stages
    std::int32_t prompt = 0, length = 0;  // as of Request, beside what is read with them
    bool ended = false;
    bool waits = false;                    // among waiting ones
    bool read = false;                     // elsewhere, and not here yet
    bool loading = false, loaded = false;  // from the host's memory (vLLM); it is there, and the request waits
    std::int32_t stored = 0;               // blocks that were offered to the host's memory
    std::vector<std::int32_t> blocks;      // held; or, of a request that was preempted, those that it held
  };

  // Contents are found once they are computed, not from the step on in which they are scheduled.
  bool late() const { return limits_.schedule != Schedule::kVllm; }
  void run_on();
  void admit();
  bool admit(std::size_t place);
  base::Count reserved() const;
  bool comes_soon(std::int32_t request, std::int32_t computed);
  void take_turns();
  bool read_prompts();
  void decode();
  void retract(std::int32_t request);
  std::int32_t to_retract() const;
  bool lacks_pages() const;
  void go_on(const Share& share);
  bool load(std::size_t place, std::int32_t hit, std::int32_t offloaded);
  bool go_on_loaded(std::size_t place);
  bool give_way(std::size_t first);
  std::int32_t offloaded(std::int32_t request, std::int32_t hit) const;
  std::int32_t found_or_copied(std::int32_t request, std::int32_t& copied);
  void store(const Share& share, base::Count known);
  void refresh_copies(std::int32_t request, base::Count first, base::Count end);
  void bring(std::int32_t request, std::int32_t copied);
  bool moves_copies() const {
    return limits_.schedule == Schedule::kNoEvict || limits_.schedule == Schedule::kMaxUtilization;
  }
  base::Count taken_with_hits() const;
  void take(std::int32_t request, std::int32_t tokens, base::Count hit, std::int32_t guesses = 0);
  bool allocate(std::int32_t request, std::int32_t tokens);
  void fill(std::int32_t request, base::Count known);
  void preempt(std::int32_t request);
  void end(std::int32_t request);
  void drop_ended();
  // `admits`: those that it is admitted with, which may be fewer.
  std::int32_t found(std::int32_t request, std::int32_t most, std::vector<std::int32_t>& hits, bool admits) const;
  BlockKey key(std::int32_t request, std::int32_t block) const;
  std::int32_t limited(base::Count tokens) const;
  State& state(std::int32_t request) { return states_[static_cast<std::size_t>(request)]; }
  const State& state(std::int32_t request) const { return states_[static_cast<std::size_t>(request)]; }

  SchedulerLimits limits_;
  const std::vector<Request>& requests_;
  BlockPool pool_;
  std::vector<State> states_;
  std::vector<std::int32_t> running_;  // in the order of admission
  std::deque<std::int32_t> waiting_;
  Step step_;
  std::vector<std::int32_t> hits_;
  std::vector<BlockKey> coming_;  // contents that the step computes, of which others may wait
  base::Count budget_ = 0, hit_tokens_ = 0;
  std::size_t fetching_ = 0;
  std::int32_t chunked_ = -1;  // SGLang: the prompt that a step did not finish
  double output_share_ =
      kMostOutputShare;  // SGLang: of what running sequences may still produce, the part that admission leaves
  bool any_ended_ = false, keeps_ended_ = false;
  std::size_t turn_ = 0;                // SGLang
  std::vector<bool> under_way_;         // steps of the turns
  std::vector<std::int32_t> decoding_;  // of the turn
  HostPool host_;
  base::Count accepted_guesses_ = 0, loaded_tokens_ = 0;
};

}  // namespace orrery::serving
