// Keys and values in the host's memory, as vLLM's offloading connector has them (vllm/distributed/kv_transfer,
// vllm/v1/kv_offload). Full blocks are copied there once they are computed, in the background, of the device that has
// them still; the host keeps as many as fit and drops the one that was stored or loaded longest ago.
//
// A request that is admitted looks there for the blocks behind those that the device has. If there are any, it has
// blocks for both, waits for its copies outside of the queue and without tokens of a step's budget, while those behind
// it are looked at; then it goes before all that wait, with what was loaded computed.
//
// Two assumptions, without which requests could wait for each other's blocks for ever: a load leaves a free block for
// each sequence that runs; and where one that runs alone lacks blocks, or nothing runs and the first that waits lacks
// them, the last one that waits with its copies, or with what another pool has read, gives its blocks back.
//
// TensorRT-LLM (batch_manager/kvCacheManager.cpp, kvCacheTransferManager.cpp) has a second pool there, and contents are
// in one of the two: a block that is taken while it has contents which no other has gives them to the host, whose
// oldest ones go. A request that is admitted takes blocks for what it finds there, in its own step, which begins once
// the contents are back; the host has them no more.
//
// SGLang (HiCache: mem_cache/hiradix_cache.py, managers/schedule_policy.py, with its default policy, write_through)
// copies pages once a prompt's step has computed them, and all of a request when it ends, its last token apart; each
// time they become the newest, the first ones of a sequence last. A request that is admitted takes pages for what it
// finds there behind those of the device, if it is at least 10 tokens, and is charged for what is computed alone; the
// copies come with its step, layer by layer, as fast as that needs them or the link allows. The host is larger than the
// device (the engine ends itself else), so that what goes first there is what the device dropped first: here the oldest
// go, be they on the device or not, an assumption. Of a retracted request what others may ask for is found, on the
// device as on the host.
//
// Example: blocks of 16 tokens, a prompt of 100, its first 64 tokens known. The device has 32 of them, the host the
// other 32: vLLM's request waits for them while others run, and then computes 36; TensorRT-LLM's and SGLang's computes
// these in the step that brings the 32 back.
//
// Copies to the host cost nothing here: they go the other way over a link that is free both ways.
#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {
namespace {

constexpr std::int32_t kLeastLoaded = 10;  // SGLang's load_back_threshold

}  // namespace

std::int32_t Scheduler::offloaded(std::int32_t request, std::int32_t hit) const {
  const State& s = state(request);
  if (limits_.host_blocks == 0 || s.read) return 0;
  const auto has = [&](BlockKey wanted) {
    return host_.has(wanted) && (limits_.schedule != Schedule::kSglang || (wanted & kSharedKey) != 0);
  };
  const auto first = static_cast<std::int32_t>(hit / limits_.block_tokens);
  const auto end = static_cast<std::int32_t>((s.known - 1) / limits_.block_tokens);
  std::int32_t block = first;
  while (block < end && has(key(request, block))) ++block;
  return static_cast<std::int32_t>((block - first) * limits_.block_tokens);
}

bool Scheduler::load(std::size_t place, std::int32_t hit, std::int32_t offloaded) {
  const std::int32_t request = waiting_[place];
  State& s = state(request);
  const base::Count taken = offloaded / limits_.block_tokens + taken_with_hits();
  if (taken + static_cast<base::Count>(running_.size()) > pool_.free()) return false;
  for (const std::int32_t block : hits_) pool_.share(block);
  s.blocks.assign(hits_.begin(), hits_.end());
  s.filled = static_cast<std::int32_t>(hits_.size());
  s.stored = 0;
  s.computed = hit;
  s.loading = true;
  allocate(request, offloaded);
  s.computed = hit + offloaded;
  // The beginning of a sequence is kept longest.
  for (auto block = static_cast<std::int32_t>(s.computed / limits_.block_tokens); block-- > s.filled;)
    host_.touch(key(request, block));
  hit_tokens_ += hit;
  loaded_tokens_ += offloaded;
  s.waits = false;
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  ++fetching_;
  step_.fetching.push_back({request, offloaded, hit});
  return true;
}

bool Scheduler::go_on_loaded(std::size_t place) {
  const std::int32_t request = waiting_[place];
  State& s = state(request);
  const std::int32_t rest = limited(s.known - s.computed);
  if (!limits_.chunked && rest > budget_) return false;
  const auto n = static_cast<std::int32_t>(std::min<base::Count>(rest, budget_));
  if (!allocate(request, n)) return false;
  s.loaded = s.waits = false;
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  running_.push_back(request);
  take(request, n, s.computed);
  return true;
}

// Of those that wait, from one on; false: none can.
bool Scheduler::give_way(std::size_t first) {
  for (std::size_t last = waiting_.size(); last-- > first;) {
    State& s = state(waiting_[last]);
    if (!s.loaded && (!s.read || s.blocks.empty())) continue;
    for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
    if (s.read) step_.preempted.push_back(waiting_[last]);
    s.loaded = s.read = false;
    s.computed = s.filled = 0;
    return true;
  }
  return false;
}

// What the device has of a sequence, in `hits_`, and what the host has behind that: in tokens.
std::int32_t Scheduler::found_or_copied(std::int32_t request, std::int32_t& copied) {
  const bool drafts = limits_.schedule == Schedule::kSglang && limits_.drafted > 0 && limits_.host_blocks > 0;
  std::int32_t hit = found(request, state(request).known - 1, hits_, !drafts);
  copied = offloaded(request, hit);
  // EAGLE's keys are pairs of tokens: the last page is not found.
  const auto page = static_cast<std::int32_t>(limits_.block_tokens);
  if (drafts && copied > 0)
    copied -= page;
  else if (drafts && !hits_.empty())
    hits_.pop_back(), hit -= page;
  if (limits_.schedule == Schedule::kSglang && copied < kLeastLoaded) copied = 0;
  return hit;
}

// Takes blocks for what the host has behind its computed tokens, whose contents are theirs from now on.
void Scheduler::bring(std::int32_t request, std::int32_t copied) {
  State& s = state(request);
  const auto first = static_cast<std::int32_t>(s.computed / limits_.block_tokens);
  const auto end = static_cast<std::int32_t>((s.computed + copied) / limits_.block_tokens);
  for (std::int32_t block = end; block-- > first;) {
    if (moves_copies())
      host_.remove(key(request, block));
    else
      host_.touch(key(request, block));
  }
  allocate(request, copied);
  s.computed += copied;
  fill(request, s.computed);
  loaded_tokens_ += copied;
  step_.loaded += copied;
}

void Scheduler::refresh_copies(std::int32_t request, base::Count first, base::Count end) {
  for (auto block = static_cast<std::int32_t>(end / limits_.block_tokens); block-- > first;) {
    const BlockKey one = key(request, block);
    host_.store(one);
    host_.touch(one);
  }
}

void Scheduler::store(const Share& share, base::Count known) {
  State& s = state(share.request);
  if (s.waits || s.loading || moves_copies()) return;  // what was computed is gone, or is given when it is taken
  if (limits_.schedule == Schedule::kVllm) {
    for (; (s.stored + base::Count{1}) * limits_.block_tokens <= known; ++s.stored)
      host_.store(key(share.request, s.stored));
  } else if (limits_.prefix_caching && !decodes(share)) {
    refresh_copies(share.request, s.stored, known);
    s.stored = static_cast<std::int32_t>(known / limits_.block_tokens);
  }
}

}  // namespace orrery::serving
