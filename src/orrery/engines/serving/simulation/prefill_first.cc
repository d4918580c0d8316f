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
// Of a pipeline (scheduler_pp_mixin.py), each stage has a turn, with running sequences of its own, a stage's part of
// max_sequences, and a step once its last one is computed; turns without work are passed over. Waiting requests, free
// pages, the share and the prompt that is cut are common to all: that goes on in the next turn, and what is read of it
// can be found then. Where pages lack for it, it waits; where they lack for the last sequence of a turn, that is
// retracted as well, an assumption: the engine ends itself.
//
// With guesses (scheduler.cc), 1 + 2 `drafted` pages of each new one must be free, or sequences are retracted; pages of
// wrong guesses are freed, and hits are a page shorter, since EAGLE's keys are pairs of tokens.
//
// What another pool has read gets pages on the same condition as a prompt, finds nothing in caches (the pool that
// decodes has none), and decodes once keys and values are there; who is retracted is read here, an assumption: the
// engine keeps a copy.
//
// Not here: other orders of waiting requests.
#include <numeric>

#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {
namespace {

constexpr base::Count kMostOutput = 4096;    // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
constexpr double kLeastShare = 0.14;         // of the first one: SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR
constexpr double kDecaySteps = 600;          // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
constexpr base::Count kRetractedSteps = 20;  // SGLANG_RETRACT_DECODE_STEPS

}  // namespace

// A turn whose step is not computed yet waits, and all behind it.
void Scheduler::take_turns() {
  for (base::Count passed = 0; passed < limits_.stages && !under_way_[turn_]; ++passed) {
    step_.turn = turn_;
    budget_ = limits_.max_batched_tokens;
    if (!read_prompts()) decode();
    turn_ = (turn_ + 1) % under_way_.size();
    if (step_.empty()) continue;
    under_way_[step_.turn] = !step_.shares.empty();
    return;
  }
}

bool Scheduler::read_prompts() {
  const base::Count page = limits_.block_tokens;
  const auto pages = [&](base::Count tokens) { return base::ceil_divide(tokens, page) * page; };
  const auto further = [&](const State& s) { return std::min<base::Count>(s.length - s.known, kMostOutput); };
  const auto most = std::max<base::Count>(1, limits_.max_sequences / limits_.stages);
  double left = static_cast<double>(pool_.free() * page);
  base::Count here = 0;
  for (const std::int32_t request : running_) {
    if (request == chunked_ || state(request).turn != static_cast<std::int32_t>(turn_)) continue;
    left -= static_cast<double>(further(state(request))) * output_share_;
    ++here;
  }
  const auto reads = [&](std::int32_t request, base::Count rest, base::Count hit) {
    const bool cut = rest > budget_;
    const auto n = static_cast<std::int32_t>(cut ? budget_ / page * page : rest);
    if (n <= 0 || !allocate(request, n)) return false;
    take(request, n, hit);
    state(request).turn = static_cast<std::int32_t>(turn_);
    ++here;
    budget_ -= pages(n) - n;
    left -= static_cast<double>(pages(n) + (cut ? 0 : further(state(request))) + page);
    chunked_ = cut ? request : -1;
    return true;
  };
  if (chunked_ >= 0) {
    const State& s = state(chunked_);
    fill(chunked_, s.computed);
    if (!reads(chunked_, s.known - s.computed, s.computed)) return false;
  }
  while (!waiting_.empty() && chunked_ < 0 && budget_ > 0 && left > 0 && here < most) {
    const std::int32_t request = waiting_.front();
    State& s = state(request);
    if (s.read) {
      if (s.blocks.empty()) {
        const base::Count held = s.known - 1;
        const base::Count all = pages(held) + further(s) + page;
        if (static_cast<double>(all) >= left || !allocate(request, static_cast<std::int32_t>(held))) break;
        left -= static_cast<double>(all);
        s.computed = static_cast<std::int32_t>(held);
        step_.fetching.push_back({request, s.computed, 0});
        ++fetching_;
      } else {  // fetched
        s.read = false;
        s.turn = static_cast<std::int32_t>(turn_);
        running_.push_back(request);
        ++here;
      }
      s.waits = false;
      waiting_.pop_front();
      continue;
    }
    std::int32_t copied = 0;
    const base::Count hit = found_or_copied(request, copied), rest = s.known - hit - copied;
    const base::Count pinned =
        page * std::count_if(hits_.begin(), hits_.end(), [&](std::int32_t block) { return pool_.is_free(block); });
    if (static_cast<double>(rest + copied + further(s) + page + pinned) >= left ||
        std::min(rest, budget_) < std::min(rest, page))
      break;
    for (const std::int32_t block : hits_) pool_.share(block);
    s.blocks.assign(hits_.begin(), hits_.end());
    s.filled = static_cast<std::int32_t>(hits_.size());
    s.stored = 0;
    s.computed = static_cast<std::int32_t>(hit);
    s.waits = false;
    hit_tokens_ += hit;
    left -= static_cast<double>(pinned + copied);
    waiting_.pop_front();
    running_.push_back(request);
    if (copied > 0) bring(request, copied);
    reads(request, rest, hit + copied);
  }
  return !step_.shares.empty();
}

std::int32_t Scheduler::to_retract() const {
  std::int32_t out = decoding_.front();
  for (const std::int32_t request : decoding_) {
    const State &s = state(request), &least = state(out);
    const std::int32_t produced = s.known - s.prompt, fewest = least.known - least.prompt;
    if (produced < fewest || (produced == fewest && s.prompt >= least.prompt)) out = request;
  }
  return out;
}

void Scheduler::retract(std::int32_t request) {
  std::erase(running_, request);
  std::erase(decoding_, request);
  release(request);
  State& s = state(request);
  s.computed = s.filled = s.guesses = 0;
  s.waits = true;
  waiting_.push_back(request);
  step_.preempted.push_back(request);
}

bool Scheduler::lacks_pages() const {
  base::Count fresh = 0, needed = 0;
  for (const std::int32_t request : decoding_) {
    const State& s = state(request);
    const auto held = static_cast<base::Count>(s.blocks.size());
    if (s.known > held * limits_.block_tokens) ++fresh;
    needed += std::max<base::Count>(0, base::ceil_divide(s.known + s.guesses, limits_.block_tokens) - held);
  }
  // One alone is not asked for room to guess.
  if (decoding_.size() > 1) needed = std::max(needed, fresh * (1 + 2 * limits_.drafted));
  return needed > pool_.free();
}

void Scheduler::decode() {
  if (running_.empty()) output_share_ = kMostOutputShare;
  decoding_.clear();
  for (const std::int32_t request : running_)
    if (request != chunked_ && state(request).turn == static_cast<std::int32_t>(turn_)) decoding_.push_back(request);
  if (decoding_.empty()) return;
  // One fits by itself, but not always beside those that wait with keys and values from elsewhere.
  const bool others = fetching_ > 0 || std::any_of(waiting_.begin(), waiting_.end(), [&](std::int32_t request) {
                        return state(request).read && !state(request).blocks.empty();
                      });
  const std::size_t least = limits_.stages > 1 || others ? 0 : 1;
  while (decoding_.size() > least && lacks_pages()) retract(to_retract());
  if (step_.preempted.empty()) {
    output_share_ =
        std::max(output_share_ - kMostOutputShare * (1 - kLeastShare) / kDecaySteps, kMostOutputShare * kLeastShare);
  } else {
    base::Count produced = 0, all = 0;
    for (const std::int32_t request : decoding_) {
      const State& s = state(request);
      produced += s.known - s.prompt, all += s.length - s.prompt;
    }
    produced += kRetractedSteps * static_cast<base::Count>(decoding_.size());
    output_share_ = std::min(1.0, static_cast<double>(produced) / static_cast<double>(all + 1));
  }
  for (const std::int32_t request : decoding_) {
    State& s = state(request);
    allocate(request, 1 + s.guesses);
    take(request, 1 + s.guesses, s.computed, s.guesses);
  }
}

}  // namespace orrery::serving
