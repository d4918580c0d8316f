// Rules, read from the engines' sources. A sequence has known tokens (prompt and produced) and computed ones; a step
// computes some of the difference. A step has a budget of tokens.
//
// vLLM (vllm/v1/core/sched/scheduler.py, kv_cache_manager.py): there are no phases.
//   1. Running sequences, in order, while it lasts: n = min(known - computed, long_prompt, budget, context - 1 -
//   computed)
//      tokens, none: the next one. Blocks for computed + n; where too few are free, the last running sequence is
//      preempted, until they suffice or it was the sequence itself, which ends this part.
//   2. If none was preempted: waiting ones, in order, while budget and max_sequences last. Of its known tokens but the
//      last, the longest chain of full blocks that is cached counts as computed. Without chunks, a rest beyond the
//      budget ends the step, and so does a lack of blocks: none overtakes.
// Preempted sequences free their blocks and wait before all others, with nothing computed. A sequence ends with its
// last token, and frees its blocks. Blocks are freed last first, so that prefixes live longest. A full block can be
// found from the step on in which its tokens are scheduled.
//
// TensorRT-LLM (batch_manager/capacityScheduler.cpp, its documents): the same order, but a prompt has blocks for all of
// it from its first step on; a request waits, and others pass it, where this step computes the block that it would
// compute first; blocks are found after their step. GUARANTEED_NO_EVICT admits who has blocks to its end beside what
// those that run need to theirs, so that none is preempted; MAX_UTILIZATION admits who fits now.
//
// Guesses, as EAGLE or MTP make them: each token that a sequence produced is followed by `drafted` guesses, which its
// next step reads beside it, as far as the budget goes; a prompt that is not read to its end and a preempted sequence
// have none. The step produces a token and one more for each guess that was right; computed are those alone. vLLM
// allocates blocks for `drafted` tokens more, keeps them, and drops the last block of a prefix hit, whose states the
// draft needs; TensorRT-LLM allocates none behind a sequence's end and frees those of wrong guesses.
//
// SGLang: prefill_first.cc. Requests that were read elsewhere (vLLM's connectors) have blocks before what is in them,
// and take no budget until they have both.
//
// Cost: a sequence of a step some nanoseconds, a block some tens.
#include "orrery/engines/serving/simulation/scheduler.h"

#include <algorithm>

#include "orrery/engines/serving/model/load.h"

namespace orrery::serving {

std::int32_t accepted(const SchedulerLimits& limits, std::int32_t request, std::int32_t known, std::int32_t guesses) {
  base::SplitMix random(limits.seed ^ (static_cast<std::uint64_t>(request) << 32 | static_cast<std::uint64_t>(known)));
  std::int32_t right = 0;
  while (right < guesses && uniform(random) < limits.acceptance) ++right;
  return right;
}

Scheduler::Scheduler(const SchedulerLimits& limits, const std::vector<Request>& requests)
    : limits_(limits),
      requests_(requests),
      pool_(static_cast<std::int32_t>(limits.blocks)),
      states_(requests.size()),
      under_way_(static_cast<std::size_t>(limits.stages)),
      host_(limits.host_blocks) {}

void Scheduler::add(std::int32_t request) {
  State& s = state(request);
  s.known = s.prompt = requests_[static_cast<std::size_t>(request)].prompt;
  s.length = requests_[static_cast<std::size_t>(request)].length();
  s.waits = true;
  waiting_.push_back(request);
}

void Scheduler::add_read(std::int32_t request) {
  add(request);
  ++state(request).known;
  state(request).read = true;
}

// It has its blocks, and goes on before those that have none.
void Scheduler::fetched(std::int32_t request) {
  --fetching_;
  State& s = state(request);
  if (s.ended) return release(request);
  s.waits = true;
  waiting_.push_front(request);
  if (!s.loading) return;
  s.loading = false, s.loaded = true;
  fill(request, s.computed);
}

// Contents of the prompt may be others', too; everything else is the request's own.
BlockKey Scheduler::key(std::int32_t request, std::int32_t block) const {
  const Request& r = requests_[static_cast<std::size_t>(request)];
  const std::int64_t tokens = limits_.block_tokens;
  if (!r.contents.empty() && r.content_tokens % tokens == 0 && (block + 1) * tokens <= r.prompt) {
    const std::int64_t each = r.content_tokens / tokens;
    const auto place = static_cast<std::size_t>(block / each);
    if (place < r.contents.size())
      return kSharedKey | (r.contents[place] * static_cast<BlockKey>(each) + static_cast<BlockKey>(block % each));
  }
  const BlockKey own = (static_cast<BlockKey>(request) + 1) << 32 | static_cast<BlockKey>(block);
  // With guesses, a request may have two copies of a block, and is found by either.
  return limits_.drafted > 0 && limits_.schedule == Schedule::kVllm ? kSharedKey | kOwnKey | own : own;
}

std::int32_t Scheduler::limited(base::Count tokens) const {
  if (limits_.long_prompt > 0) tokens = std::min(tokens, limits_.long_prompt);
  return static_cast<std::int32_t>(tokens);
}

const Scheduler::Step& Scheduler::next() {
  step_.shares.clear();
  step_.preempted.clear();
  step_.fetching.clear();
  step_.loaded = 0;
  budget_ = limits_.max_batched_tokens;
  if (limits_.schedule == Schedule::kSglang) {
    take_turns();
    return step_;
  }
  run_on();
  if (step_.preempted.empty()) admit();
  return step_;
}

void Scheduler::take(std::int32_t request, std::int32_t tokens, base::Count hit, std::int32_t guesses) {
  step_.shares.push_back({request, tokens, static_cast<std::int32_t>(hit), guesses});
  state(request).computed = static_cast<std::int32_t>(hit) + tokens;
  budget_ -= tokens;
}

void Scheduler::run_on() {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const std::int32_t request = running_[i];
    State& s = state(request);
    base::Count tokens = std::min<base::Count>(limited(s.known + s.guesses - s.computed), budget_);
    if (limits_.context > 0) tokens = std::min<base::Count>(tokens, limits_.context - 1 - s.computed);
    if (tokens <= 0) continue;
    const auto n = static_cast<std::int32_t>(tokens);
    bool allocated = allocate(request, n);
    while (!allocated) {
      if (running_.size() == 1 && give_way(0)) {
        allocated = allocate(request, n);
        continue;
      }
      const std::int32_t last = running_.back();
      running_.pop_back();
      preempt(last);
      if (last == request) return;
      allocated = allocate(request, n);
    }
    take(request, n, s.computed, std::max(0, s.computed + n - s.known));
  }
}

// All known tokens were in a step: there is one more, and one for each guess that was right.
void Scheduler::go_on(const Share& share) {
  State& s = state(share.request);
  const std::int32_t right =
      share.guesses == 0 ? 0
                         : std::min(accepted(limits_, share.request, s.known, share.guesses), s.length - s.known - 1);
  s.known += 1 + right;
  accepted_guesses_ += right;
  s.guesses = s.waits ? 0 : static_cast<std::int32_t>(limits_.drafted);
  if (share.guesses == 0 || s.waits) return;
  s.computed = share.context + 1 + right;
  if (!late()) return;
  const auto kept = static_cast<std::size_t>(base::ceil_divide(s.computed, limits_.block_tokens));
  for (; s.blocks.size() > kept; s.blocks.pop_back()) pool_.release(s.blocks.back());
}

base::Count Scheduler::cached(std::int32_t request) const {
  std::vector<std::int32_t> hits;
  return found(request, requests_[static_cast<std::size_t>(request)].prompt, hits, false);
}

// The blocks that have the beginning of a sequence's contents; how many tokens they are.
std::int32_t Scheduler::found(std::int32_t request, std::int32_t most, std::vector<std::int32_t>& hits,
                              bool admits) const {
  hits.clear();
  if (!limits_.prefix_caching) return 0;
  const State& s = state(request);
  const auto full = static_cast<std::int32_t>(most / limits_.block_tokens);
  for (std::int32_t b = 0; b < full; ++b) {
    const BlockKey wanted = key(request, b);
    std::int32_t block = -1;
    if ((wanted & kSharedKey) != 0)
      block = pool_.find(wanted);
    else if (static_cast<std::size_t>(b) < s.blocks.size() && pool_.has(s.blocks[static_cast<std::size_t>(b)], wanted))
      block = s.blocks[static_cast<std::size_t>(b)];
    if (block < 0) break;
    hits.push_back(block);
  }
  const bool drafts_need_it = limits_.schedule == Schedule::kVllm || limits_.schedule == Schedule::kSglang;
  if (admits && limits_.drafted > 0 && drafts_need_it && !hits.empty()) hits.pop_back();
  return static_cast<std::int32_t>(static_cast<base::Count>(hits.size()) * limits_.block_tokens);
}

// Blocks that running sequences have not yet, and need to their ends.
base::Count Scheduler::reserved() const {
  base::Count out = 0;
  for (const std::int32_t request : running_) {
    const State& s = state(request);
    const base::Count all = base::ceil_divide(base::Count{s.length} - 1, limits_.block_tokens);
    out += std::max<base::Count>(0, all - static_cast<base::Count>(s.blocks.size()));
  }
  return out;
}

// Whether the step computes the block that comes behind `computed` tokens; else it is noted as one that it does.
bool Scheduler::comes_soon(std::int32_t request, std::int32_t computed) {
  if (!limits_.prefix_caching) return false;
  const BlockKey next = key(request, static_cast<std::int32_t>(computed / limits_.block_tokens));
  if (std::find(coming_.begin(), coming_.end(), next) != coming_.end()) return true;
  if ((next & kSharedKey) != 0) coming_.push_back(next);
  return false;
}

void Scheduler::admit() {
  coming_.clear();
  if (late())
    for (const Share& share : step_.shares)
      if (!decodes(share)) comes_soon(share.request, share.context);
  for (std::size_t place = 0; place < waiting_.size() && budget_ > 0;) {
    if (static_cast<base::Count>(running_.size()) >= limits_.max_sequences) return;
    const std::size_t before = waiting_.size();
    if (!admit(place)) {
      if (!running_.empty() || !give_way(place + 1)) return;
      continue;
    }
    if (waiting_.size() == before) ++place;  // it waits for what is computed now
  }
}

// Free blocks among those that have the beginning of a sequence.
base::Count Scheduler::taken_with_hits() const {
  return std::count_if(hits_.begin(), hits_.end(), [&](std::int32_t block) { return pool_.is_free(block); });
}

// False: it must wait, and all behind it.
bool Scheduler::admit(std::size_t place) {
  const std::int32_t request = waiting_[place];
  State& s = state(request);
  const auto admitted = [&] {
    s.waits = false;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  };
  if (s.read && !s.blocks.empty()) {  // fetched
    s.read = false;
    if (!allocate(request, s.known - s.computed)) {
      s.read = true;
      return false;
    }
    admitted();
    running_.push_back(request);
    take(request, s.known - s.computed, s.computed);
    return true;
  }
  if (s.loaded) return go_on_loaded(place);
  std::int32_t copied = 0;
  const std::int32_t hit = found_or_copied(request, copied);
  if (copied > 0 && !late()) return load(place, hit, copied);
  const std::int32_t rest = limited(s.known - hit - copied);
  if (!limits_.chunked && rest > budget_ && !s.read) return false;
  if (late() && comes_soon(request, hit + copied)) return true;
  const auto n = static_cast<std::int32_t>(std::min<base::Count>(rest, budget_));
  // Of a prompt that is cut, TensorRT-LLM has blocks at once.
  const std::int32_t held = late() || s.read ? s.known - hit - (s.read ? 1 : 0) : n;
  const base::Count besides = taken_with_hits() - static_cast<base::Count>(hits_.size());
  if (base::ceil_divide(hit + base::Count{held}, limits_.block_tokens) + besides > pool_.free()) return false;
  if (limits_.schedule == Schedule::kNoEvict &&
      base::ceil_divide(base::Count{s.length} - 1, limits_.block_tokens) + besides + reserved() > pool_.free())
    return false;
  for (const std::int32_t block : hits_) pool_.share(block);
  s.blocks.reserve(static_cast<std::size_t>(base::ceil_divide(s.length, limits_.block_tokens)));
  s.blocks.assign(hits_.begin(), hits_.end());
  s.filled = static_cast<std::int32_t>(hits_.size());
  s.stored = 0;
  s.computed = hit;
  hit_tokens_ += hit;
  if (copied > 0) {
    s.waits = false;
    bring(request, copied);
  }
  allocate(request, held - copied);
  admitted();
  if (s.read) {
    s.computed = s.known - 1;
    ++fetching_;
    step_.fetching.push_back({request, s.computed - hit, hit});
    return true;
  }
  running_.push_back(request);
  take(request, n, hit + copied);
  return true;
}

// Blocks for `tokens` more; false: too few are free, and nothing was done.
bool Scheduler::allocate(std::int32_t request, std::int32_t tokens) {
  State& s = state(request);
  const base::Count after = s.computed + static_cast<base::Count>(tokens);
  base::Count needed = after;
  if (limits_.drafted > 0 && limits_.schedule == Schedule::kVllm && !s.waits) {
    needed += limits_.drafted;
    if (limits_.context > 0) needed = std::min(needed, limits_.context);
  } else if (limits_.drafted > 0 && limits_.schedule != Schedule::kSglang) {
    needed = std::min<base::Count>(needed, s.length - 1);
  }
  const base::Count held = static_cast<base::Count>(s.blocks.size()) * limits_.block_tokens;
  if (needed > held) {
    const base::Count more = base::ceil_divide(needed - held, limits_.block_tokens);
    if (more > pool_.free()) return false;
    for (base::Count i = 0; i < more; ++i) {
      s.blocks.push_back(pool_.take());
      if (limits_.host_blocks > 0 && moves_copies() && pool_.lost() != kNoKey) host_.store(pool_.lost());
    }
  }
  // With what is scheduled; a token that the step produces has none of its own yet.
  if (!late()) fill(request, std::min<base::Count>(after, s.known));
  return true;
}

// Full blocks of so many tokens can be found from now on.
void Scheduler::fill(std::int32_t request, base::Count known) {
  State& s = state(request);
  if (!limits_.prefix_caching || s.read || s.loading || (late() && s.waits)) return;
  for (; (s.filled + base::Count{1}) * limits_.block_tokens <= known; ++s.filled)
    pool_.fill(s.blocks[static_cast<std::size_t>(s.filled)], key(request, s.filled));
}

void Scheduler::preempt(std::int32_t request) {
  State& s = state(request);
  for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
  s.computed = s.filled = s.guesses = 0;
  s.waits = true;
  waiting_.push_front(request);
  step_.preempted.push_back(request);
}

void Scheduler::end(std::int32_t request) {
  State& s = state(request);
  if (s.waits || s.loading) {  // it was preempted while its last token was under way
    if (s.loaded) release(request);
    std::erase(waiting_, request);
    s.waits = false;
    s.ended = true;
    return;
  }
  if (limits_.host_blocks > 0 && limits_.schedule == Schedule::kSglang && limits_.prefix_caching)
    refresh_copies(request, 0, s.length - 1);
  if (!keeps_ended_) release(request);
  s.ended = any_ended_ = true;
}

void Scheduler::release(std::int32_t request) {
  State& s = state(request);
  for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
  std::vector<std::int32_t>().swap(s.blocks);
}

void Scheduler::drop_ended() {
  if (!any_ended_) return;
  std::erase_if(running_, [&](std::int32_t request) { return state(request).ended; });
  any_ended_ = false;
}

}  // namespace orrery::serving
