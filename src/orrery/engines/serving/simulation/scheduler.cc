// The rules, as vllm/v1/core/sched/scheduler.py and kv_cache_manager.py have them. A sequence has known tokens (prompt
// and produced) and computed ones; a step computes some of the difference, and there are no phases.
//
// A step has a budget of tokens.
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
// Cost: a sequence of a step some nanoseconds, a block some tens.
#include "orrery/engines/serving/simulation/scheduler.h"

#include <algorithm>

namespace orrery::serving {

Scheduler::Scheduler(const SchedulerLimits& limits, const std::vector<Request>& requests)
    : limits_(limits), requests_(requests), pool_(static_cast<std::int32_t>(limits.blocks)), states_(requests.size()) {}

void Scheduler::add(std::int32_t request) {
  State& s = state(request);
  s.known = s.prompt = requests_[static_cast<std::size_t>(request)].prompt;
  s.length = requests_[static_cast<std::size_t>(request)].length();
  waiting_.push_back(request);
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
  return (static_cast<BlockKey>(request) + 1) << 32 | static_cast<BlockKey>(block);
}

std::int32_t Scheduler::limited(base::Count tokens) const {
  if (limits_.long_prompt > 0) tokens = std::min(tokens, limits_.long_prompt);
  return static_cast<std::int32_t>(tokens);
}

const Scheduler::Step& Scheduler::next() {
  step_.shares.clear();
  step_.preempted.clear();
  budget_ = limits_.max_batched_tokens;
  run_on();
  if (step_.preempted.empty()) admit();
  return step_;
}

void Scheduler::run_on() {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const std::int32_t request = running_[i];
    State& s = state(request);
    base::Count tokens = std::min<base::Count>(limited(s.known - s.computed), budget_);
    if (limits_.context > 0) tokens = std::min<base::Count>(tokens, limits_.context - 1 - s.computed);
    if (tokens <= 0) continue;
    const auto n = static_cast<std::int32_t>(tokens);
    bool allocated = allocate(request, n);
    while (!allocated) {
      const std::int32_t last = running_.back();
      running_.pop_back();
      preempt(last);
      if (last == request) return;
      allocated = allocate(request, n);
    }
    step_.shares.push_back({request, n, s.computed});
    s.computed += n;
    budget_ -= n;
  }
}

// The blocks that have the beginning of a sequence's contents, in hits_; how many tokens they are.
std::int32_t Scheduler::found(std::int32_t request, std::int32_t most) {
  hits_.clear();
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
    hits_.push_back(block);
  }
  return static_cast<std::int32_t>(static_cast<base::Count>(hits_.size()) * limits_.block_tokens);
}

void Scheduler::admit() {
  while (!waiting_.empty() && budget_ > 0 && static_cast<base::Count>(running_.size()) < limits_.max_sequences) {
    const std::int32_t request = waiting_.front();
    State& s = state(request);
    const std::int32_t hit = found(request, s.known - 1);
    const std::int32_t rest = limited(s.known - hit);
    if (!limits_.chunked && rest > budget_) return;
    const auto n = static_cast<std::int32_t>(std::min<base::Count>(rest, budget_));
    const base::Count wanted =
        base::ceil_divide(hit + n, limits_.block_tokens) - static_cast<base::Count>(hits_.size()) +
        std::count_if(hits_.begin(), hits_.end(), [&](std::int32_t block) { return pool_.is_free(block); });
    if (wanted > pool_.free()) return;
    for (const std::int32_t block : hits_) pool_.share(block);
    s.blocks.reserve(static_cast<std::size_t>(base::ceil_divide(s.length, limits_.block_tokens)));
    s.blocks.assign(hits_.begin(), hits_.end());
    s.filled = static_cast<std::int32_t>(hits_.size());
    s.computed = hit;
    hit_tokens_ += hit;
    allocate(request, n);
    waiting_.pop_front();
    running_.push_back(request);
    step_.shares.push_back({request, n, hit});
    s.computed += n;
    budget_ -= n;
  }
}

// Blocks for `tokens` more; false: too few are free, and nothing was done.
bool Scheduler::allocate(std::int32_t request, std::int32_t tokens) {
  State& s = state(request);
  const base::Count after = s.computed + static_cast<base::Count>(tokens);
  const base::Count held = static_cast<base::Count>(s.blocks.size()) * limits_.block_tokens;
  if (after > held) {
    const base::Count more = base::ceil_divide(after - held, limits_.block_tokens);
    if (more > pool_.free()) return false;
    for (base::Count i = 0; i < more; ++i) s.blocks.push_back(pool_.take());
  }
  if (!limits_.prefix_caching) return true;
  // With what is scheduled; a token that the step produces has none of its own yet.
  const base::Count known = std::min<base::Count>(after, s.known);
  for (; (s.filled + base::Count{1}) * limits_.block_tokens <= known; ++s.filled)
    pool_.fill(s.blocks[static_cast<std::size_t>(s.filled)], key(request, s.filled));
  return true;
}

void Scheduler::preempt(std::int32_t request) {
  State& s = state(request);
  for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
  s.computed = s.filled = 0;
  waiting_.push_front(request);
  step_.preempted.push_back(request);
}

void Scheduler::end(std::int32_t request) {
  State& s = state(request);
  for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
  std::vector<std::int32_t>().swap(s.blocks);
  s.ended = any_ended_ = true;
}

void Scheduler::drop_ended() {
  if (!any_ended_) return;
  std::erase_if(running_, [&](std::int32_t request) { return state(request).ended; });
  any_ended_ = false;
}

}  // namespace orrery::serving
