// SGLang's rules (managers/scheduler.py, schedule_policy.py, schedule_batch.py), with first come first served and
// without mixed chunks.
//
// Prompts come first, in steps of their own. The one that the last step did not finish goes on; then waiting requests
// are admitted in order, while the budget of tokens and max_sequences last. Of the free tokens, those are left out that
// running sequences may still need: a share of what they have to produce, each of at most 4,096. A request needs its
// tokens that no cache has, what it may produce, and a page. A prompt beyond the budget is cut, and alone in being so.
//
// Where there is none to read, all running sequences decode. Where their next pages lack, sequences are retracted: that
// of the fewest tokens produced, of equal ones of the longest prompt, of equal ones the last. They wait behind all
// others, and only what prompts have in common is found again. The share begins at 0.7 and falls by a 600th of the way
// to a seventh of it in each step that decodes; after a retraction it is what running sequences have produced, 20
// tokens more each, of all that they may.
//
// Not here: other orders of waiting requests, host memory.
#include <numeric>

#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {
namespace {

constexpr base::Count kMostOutput = 4096;    // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
constexpr double kLeastShare = 0.14;         // of the first one: SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR
constexpr double kDecaySteps = 600;          // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
constexpr base::Count kRetractedSteps = 20;  // SGLANG_RETRACT_DECODE_STEPS

}  // namespace

bool Scheduler::read_prompts() {
  const base::Count page = limits_.block_tokens;
  const auto pages = [&](base::Count tokens) { return base::ceil_divide(tokens, page) * page; };
  const auto further = [&](const State& s) { return std::min<base::Count>(s.length - s.known, kMostOutput); };
  double left = static_cast<double>(pool_.free() * page);
  for (const std::int32_t request : running_)
    if (request != chunked_) left -= static_cast<double>(further(state(request))) * output_share_;
  const auto reads = [&](std::int32_t request, base::Count rest, base::Count hit) {
    const bool cut = rest > budget_;
    const auto n = static_cast<std::int32_t>(cut ? budget_ / page * page : rest);
    if (n <= 0 || !allocate(request, n)) return false;
    take(request, n, hit);
    budget_ -= pages(n) - n;
    left -= static_cast<double>(pages(n) + (cut ? 0 : further(state(request))) + page);
    chunked_ = cut ? request : -1;
    return true;
  };
  if (chunked_ >= 0 && !reads(chunked_, state(chunked_).known - state(chunked_).computed, state(chunked_).computed))
    return false;
  while (!waiting_.empty() && chunked_ < 0 && budget_ > 0 && left > 0 &&
         static_cast<base::Count>(running_.size()) < limits_.max_sequences) {
    const std::int32_t request = waiting_.front();
    State& s = state(request);
    const base::Count hit = found(request, s.known - 1, hits_), rest = s.known - hit;
    const base::Count pinned =
        page * std::count_if(hits_.begin(), hits_.end(), [&](std::int32_t block) { return pool_.is_free(block); });
    if (static_cast<double>(rest + further(s) + page + pinned) >= left ||
        std::min(rest, budget_) < std::min(rest, page))
      break;
    for (const std::int32_t block : hits_) pool_.share(block);
    s.blocks.assign(hits_.begin(), hits_.end());
    s.filled = static_cast<std::int32_t>(hits_.size());
    s.computed = static_cast<std::int32_t>(hit);
    s.waits = false;
    hit_tokens_ += hit;
    left -= static_cast<double>(pinned);
    waiting_.pop_front();
    running_.push_back(request);
    reads(request, rest, hit);
  }
  return !step_.shares.empty();
}

std::int32_t Scheduler::to_retract() const {
  std::int32_t out = running_.front();
  for (const std::int32_t request : running_) {
    const State &s = state(request), &least = state(out);
    const std::int32_t produced = s.known - s.prompt, fewest = least.known - least.prompt;
    if (produced < fewest || (produced == fewest && s.prompt >= least.prompt)) out = request;
  }
  return out;
}

void Scheduler::decode() {
  if (running_.empty()) {
    output_share_ = kMostOutputShare;
    return;
  }
  const auto fresh = [&] {
    return std::count_if(running_.begin(), running_.end(), [&](std::int32_t request) {
      const State& s = state(request);
      return s.known > static_cast<base::Count>(s.blocks.size()) * limits_.block_tokens;
    });
  };
  while (fresh() > pool_.free() && running_.size() > 1) {
    const std::int32_t last = to_retract();
    std::erase(running_, last);
    release(last);
    State& s = state(last);
    s.computed = s.filled = 0;
    s.waits = true;
    waiting_.push_back(last);
    step_.preempted.push_back(last);
  }
  if (step_.preempted.empty()) {
    output_share_ =
        std::max(output_share_ - kMostOutputShare * (1 - kLeastShare) / kDecaySteps, kMostOutputShare * kLeastShare);
  } else {
    base::Count produced = 0, all = 0;
    for (const std::int32_t request : running_) {
      const State& s = state(request);
      produced += s.known - s.prompt, all += s.length - s.prompt;
    }
    produced += kRetractedSteps * static_cast<base::Count>(running_.size());
    output_share_ = std::min(1.0, static_cast<double>(produced) / static_cast<double>(all + 1));
  }
  for (const std::int32_t request : running_) {
    State& s = state(request);
    allocate(request, 1);
    take(request, 1, s.computed);
  }
}

}  // namespace orrery::serving
