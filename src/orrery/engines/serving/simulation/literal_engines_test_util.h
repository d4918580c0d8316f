// TensorRT-LLM's and SGLang's rules, slowly and word by word.
#pragma once

#include <cmath>

#include "orrery/engines/serving/simulation/literal_scheduler_test_util.h"

namespace orrery::serving {

// A capacity scheduler says who may run, in the order of arrival; a micro-batch scheduler, who has how many tokens.
class LiteralTrtllm final : public LiteralScheduler {
 public:
  LiteralTrtllm(const SchedulerLimits& limits, const std::vector<Request>& requests, bool evicts)
      : LiteralScheduler(limits, requests), evicts_(evicts) {
    late_ = gives_to_host_ = true;
    drafts_from_hits_ = false;
  }

  Scheduler::Step next() override {
    Scheduler::Step out;
    long long tokens = 0;
    // Who runs goes on. Where the next block lacks, the last one is paused; all its blocks are free.
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const int id = running_[i].id;
      const long long known = static_cast<long long>(running_[i].tokens.size());
      long long n = known + running_[i].guesses - running_[i].computed;
      if (limits_.long_prompt > 0) n = std::min<long long>(n, limits_.long_prompt);
      n = std::min<long long>(n, limits_.max_batched_tokens - tokens);
      if (limits_.context > 0) n = std::min<long long>(n, limits_.context - 1 - running_[i].computed);
      if (n <= 0) continue;
      bool paused_itself = false;
      // Guesses behind a sequence's end are kept nowhere.
      while (!allocate(running_[i], n, {}, std::min(0LL, running_[i].most - 1 - running_[i].computed - n))) {
        Sequence last = running_.back();
        running_.pop_back();
        free(last);
        last.computed = last.guesses = 0;
        waiting_.push_front(last);
        out.preempted.push_back(last.id);
        if (last.id == id) paused_itself = true;
        if (paused_itself) break;
      }
      if (paused_itself) break;
      share(out, running_[i], n, known);
      tokens += n;
    }
    if (!out.preempted.empty()) return out;
    // Blocks that prompts of this step will fill first.
    std::set<std::string> soon;
    for (const Scheduler::Share& s : out.shares)
      for (const Sequence& q : running_)
        if (q.id == s.request && s.context < q.prompt && !(s.tokens == 1 && s.context >= q.prompt))
          soon.insert(prefix(q, s.context / limits_.block_tokens));
    for (auto s = waiting_.begin(); s != waiting_.end();) {
      if (static_cast<long long>(running_.size()) >= limits_.max_sequences) break;
      if (tokens >= limits_.max_batched_tokens) break;
      const std::vector<int> hits = limits_.prefix_caching ? cached(*s) : std::vector<int>();
      const std::vector<std::string> copies = copied(*s, hits.size());
      const long long hit = static_cast<long long>(hits.size() + copies.size()) * limits_.block_tokens;
      const long long rest = static_cast<long long>(s->tokens.size()) - hit;
      long long n = limits_.long_prompt > 0 ? std::min<long long>(rest, limits_.long_prompt) : rest;
      if (!limits_.chunked && n > limits_.max_batched_tokens - tokens) break;
      if (limits_.prefix_caching && !soon.insert(prefix(*s, hit / limits_.block_tokens)).second) {
        ++s;
        continue;
      }
      if (!evicts_) {
        long long lacking = 0;
        for (const Sequence& q : running_)
          lacking += std::max(0LL, to_end(q) - static_cast<long long>(q.blocks.size()));
        long long needs = to_end(*s);
        for (const int b : hits) needs -= references_[static_cast<std::size_t>(b)] > 0 ? 1 : 0;
        if (needs + lacking > static_cast<long long>(queue_.size())) break;
      }
      long long taken = (static_cast<long long>(s->tokens.size()) + limits_.block_tokens - 1) / limits_.block_tokens;
      for (const int b : hits) taken -= references_[static_cast<std::size_t>(b)] > 0 ? 1 : 0;
      if (taken > static_cast<long long>(queue_.size())) break;
      // What comes back is not in the host any more, before blocks for it push others there.
      for (const std::string& one : copies) host_.remove(one);
      s->computed = static_cast<int>(hits.size()) * static_cast<int>(limits_.block_tokens);
      allocate(*s, static_cast<long long>(copies.size()) * limits_.block_tokens, hits);
      s->computed = static_cast<int>(hit);
      publish(*s, s->computed);
      allocate(*s, rest, {});
      out.loaded += static_cast<std::int32_t>(copies.size()) * static_cast<std::int32_t>(limits_.block_tokens);
      n = std::min<long long>(n, limits_.max_batched_tokens - tokens);
      running_.push_back(*s);
      s = waiting_.erase(s);
      share(out, running_.back(), n);
      tokens += n;
    }
    return out;
  }

 private:
  // Blocks of all tokens whose keys are ever kept: the last one is never read.
  long long to_end(const Sequence& s) const { return (s.most - 1 + limits_.block_tokens - 1) / limits_.block_tokens; }
  // Names a block by what is in it and before it, be it full or not.
  std::string prefix(const Sequence& s, long long block) const {
    const auto size = static_cast<std::size_t>(limits_.block_tokens), at = static_cast<std::size_t>(block);
    if ((at + 1) * size <= static_cast<std::size_t>(s.prompt)) return text(s, at);
    return "of " + std::to_string(s.id) + " " + std::to_string(block);
  }

  bool evicts_;
};

class LiteralSglang final : public LiteralScheduler {
 public:
  LiteralSglang(const SchedulerLimits& limits, const std::vector<Request>& requests)
      : LiteralScheduler(limits, requests) {
    late_ = true;
  }

  Scheduler::Step next() override {
    for (long long passed = 0; passed < limits_.stages; ++passed) {
      if (computing_.count(turn_) > 0) break;
      Scheduler::Step out;
      out.turn = static_cast<std::size_t>(turn_);
      if (!prefill(out)) decode(out);
      const int turn = turn_;
      turn_ = turn_ + 1 == limits_.stages ? 0 : turn_ + 1;
      if (out.shares.empty() && out.preempted.empty()) continue;
      if (!out.shares.empty()) computing_.insert(turn);
      return out;
    }
    return {};
  }

  void computed(const Scheduler::Step& step) override { computing_.erase(static_cast<int>(step.turn)); }

 private:
  long long page() const { return limits_.block_tokens; }
  long long ceil(long long tokens) const { return (tokens + page() - 1) / page() * page(); }
  static long long new_tokens(const Sequence& s) {
    return std::min<long long>(s.most - static_cast<long long>(s.tokens.size()), 4096);
  }

  std::vector<Sequence*> of_turn() {
    std::vector<Sequence*> out;
    for (Sequence& s : running_)
      if (s.turn == turn_ && s.id != chunked_) out.push_back(&s);
    return out;
  }

  bool prefill(Scheduler::Step& out) {
    double remaining = static_cast<double>(queue_.size()) * static_cast<double>(page());
    for (const Sequence* s : of_turn()) remaining -= static_cast<double>(new_tokens(*s)) * ratio_;
    long long places = std::max(1LL, static_cast<long long>(limits_.max_sequences / limits_.stages));
    places -= static_cast<long long>(of_turn().size());
    long long chunk = limits_.max_batched_tokens;
    if (chunked_ >= 0) {
      Sequence& s =
          *std::find_if(running_.begin(), running_.end(), [&](const Sequence& q) { return q.id == chunked_; });
      publish(s, s.computed);
      const long long rest = static_cast<long long>(s.tokens.size()) - s.computed;
      const long long n = rest <= chunk ? rest : chunk / page() * page();
      if (!allocate(s, n, {})) return false;
      share(out, s, n);
      s.turn = turn_;
      --places;
      remaining -= static_cast<double>(ceil(n) + (n == rest ? new_tokens(s) : 0) + page());
      chunk -= ceil(n);
      if (n == rest) chunked_ = -1;
    }
    while (chunked_ < 0 && !waiting_.empty() && chunk > 0 && remaining > 0 && places > 0) {
      Sequence s = waiting_.front();
      const std::vector<std::string> copies = read_copies(s);
      const std::vector<int> hits = limits_.prefix_caching ? cached(s) : std::vector<int>();
      const long long back = static_cast<long long>(copies.size()) * page();
      const long long hit = static_cast<long long>(hits.size()) * page() + back;
      const long long rest = static_cast<long long>(s.tokens.size()) - hit;
      for (const int b : hits)  // locked, so that it cannot be evicted any more
        if (references_[static_cast<std::size_t>(b)] == 0) locked_ += page();
      const long long locked = locked_;
      locked_ = 0;
      if (static_cast<double>(rest + back + new_tokens(s) + page()) >= remaining - static_cast<double>(locked)) break;
      const long long n = rest <= chunk ? rest : chunk / page() * page();
      if (n == 0) break;
      waiting_.pop_front();
      s.computed = static_cast<int>(hit - back);
      s.turn = turn_;
      s.stored = 0;
      allocate(s, back, hits);
      s.computed = static_cast<int>(hit);
      publish(s, s.computed);
      for (auto one = copies.rbegin(); one != copies.rend(); ++one) renew(*one);
      out.loaded += static_cast<std::int32_t>(back);
      allocate(s, n, {});
      remaining -= static_cast<double>(locked + back + ceil(n) + (n == rest ? new_tokens(s) : 0) + page());
      chunk -= ceil(n);
      running_.push_back(s);
      --places;
      share(out, running_.back(), n);
      if (n < rest) chunked_ = s.id;
    }
    return !out.shares.empty();
  }

  // Pages for the next tokens, guesses among them; of several, as many as drafts may take.
  bool room(const std::vector<Sequence*>& all) const {
    long long begin = 0, needed = 0;
    for (const Sequence* s : all) {
      const long long known = static_cast<long long>(s->tokens.size()), held = static_cast<long long>(s->blocks.size());
      if (known > held * page()) ++begin;
      needed += std::max(0LL, ceil(known + s->guesses) / page() - held);
    }
    const long long free = static_cast<long long>(queue_.size());
    return needed <= free && (all.size() == 1 || begin * (2 * limits_.drafted + 1) <= free);
  }

  void decode(Scheduler::Step& out) {
    if (running_.empty()) ratio_ = 0.7;
    if (of_turn().empty()) return;
    for (;;) {
      const std::vector<Sequence*> all = of_turn();
      if (all.empty() || room(all) || (limits_.stages == 1 && all.size() == 1)) break;
      // The most produced first, then the shortest prompts; the last one of that order goes.
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < all.size(); ++i) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto produced = [&](std::size_t i) { return static_cast<int>(all[i]->tokens.size()) - all[i]->prompt; };
        return std::pair(produced(a), -all[a]->prompt) > std::pair(produced(b), -all[b]->prompt);
      });
      Sequence last = *all[order.back()];
      std::erase_if(running_, [&](const Sequence& q) { return q.id == last.id; });
      // What it produced, and what of its prompt is its own, is not found again.
      forget(last);
      free(last);
      last.computed = last.guesses = 0;
      waiting_.push_back(last);
      out.preempted.push_back(last.id);
    }
    const std::vector<Sequence*> all = of_turn();
    if (out.preempted.empty()) {
      ratio_ = std::max(ratio_ - (0.7 - 0.098) / 600, 0.098);
    } else {
      long long produced = 0, most = 0;
      for (const Sequence* s : all)
        produced += static_cast<long long>(s->tokens.size()) - s->prompt, most += s->most - s->prompt;
      ratio_ = std::min(
          1.0, static_cast<double>(produced + 20 * static_cast<long long>(all.size())) / static_cast<double>(most + 1));
    }
    for (Sequence* s : all) {
      const long long known = static_cast<long long>(s->tokens.size());
      allocate(*s, 1 + s->guesses, {});
      share(out, *s, 1 + s->guesses, known);
    }
  }

  // The newest one there.
  void renew(const std::string& page) {
    offload(page);
    host_.remove(page);
    host_.push_back(page);
  }
  void renew(const Sequence& s, int first, int end) {
    for (int b = end / static_cast<int>(page()); b-- > first;) renew(text(s, static_cast<std::size_t>(b)));
  }
  bool copies() const { return limits_.host_blocks > 0 && limits_.prefix_caching; }
  void copy(Sequence& s, const Scheduler::Share& share, int end) override {
    if (!copies() || (share.context >= s.prompt && share.tokens == 1 + share.guesses)) return;
    renew(s, s.stored, end);
    s.stored = end / static_cast<int>(page());
  }
  void copy_all(const Sequence& s) override {
    if (copies()) renew(s, 0, static_cast<int>(s.tokens.size()) - 1);
  }

  // Pages behind those of the device that others might have read, where that is worth it; with drafts one less.
  std::vector<std::string> read_copies(const Sequence& s) {
    if (!copies()) return {};
    drafts_from_hits_ = false;
    std::vector<std::string> out = copied(s, cached(s).size());
    const std::string own = "r" + std::to_string(s.id) + ".";
    while (!out.empty() && out.back().find(own) != std::string::npos) out.pop_back();
    drafts_from_hits_ = out.empty();
    if (!out.empty() && limits_.drafted > 0) out.pop_back();
    if (static_cast<long long>(out.size()) * page() < 10) out.clear();
    return out;
  }

  // Blocks whose contents no other request can ask for.
  void forget(const Sequence& s) {
    for (const int b : s.blocks) {
      std::string& hash = hashes_[static_cast<std::size_t>(b)];
      if (hash.find("r" + std::to_string(s.id) + ".") == std::string::npos) continue;
      table_[hash].remove(b);
      if (table_[hash].empty()) table_.erase(hash);
      hash.clear();
    }
  }

  double ratio_ = 0.7;
  int chunked_ = -1, turn_ = 0;
  std::set<int> computing_;  // turns
  long long locked_ = 0;
};

}  // namespace orrery::serving
