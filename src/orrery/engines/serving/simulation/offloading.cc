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
// them, the last one that waits with its copies gives its blocks back.
//
// Copies to the host cost nothing here: they go the other way over a link that is free both ways.
#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {

std::int32_t Scheduler::offloaded(std::int32_t request, std::int32_t hit) const {
  const State& s = state(request);
  if (limits_.host_blocks == 0 || s.read) return 0;
  const auto first = static_cast<std::int32_t>(hit / limits_.block_tokens);
  const auto end = static_cast<std::int32_t>((s.known - 1) / limits_.block_tokens);
  std::int32_t block = first;
  while (block < end && host_.has(key(request, block))) ++block;
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
  if (limits_.host_blocks == 0) return false;
  for (std::size_t last = waiting_.size(); last-- > first;) {
    State& s = state(waiting_[last]);
    if (!s.loaded) continue;
    for (std::size_t i = s.blocks.size(); i-- > 0;) pool_.release(s.blocks[i]);
    s.loaded = false;
    s.computed = s.filled = 0;
    return true;
  }
  return false;
}

void Scheduler::store(std::int32_t request, base::Count known) {
  State& s = state(request);
  if (s.waits || s.loading) return;  // what was computed is gone
  for (; (s.stored + base::Count{1}) * limits_.block_tokens <= known; ++s.stored) host_.store(key(request, s.stored));
}

}  // namespace orrery::serving
