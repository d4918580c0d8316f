// The engines' rules once more, slowly and word by word: lists of blocks, a table of everything cached, sums over all
// requests.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {

// What the engines have in common: sequences, blocks and what is in them.
class LiteralScheduler {
 public:
  struct Sequence {
    int id = 0;
    std::vector<std::string> tokens;  // known; a token's name is its content
    int prompt = 0, most = 0;
    int computed = 0;
    int guesses = 0;  // behind the known tokens
    int turn = 0;
    int stored = 0;       // blocks that were offered to the host
    bool loaded = false;  // from the host
    bool ended = false;   // while it was loaded
    std::vector<int> blocks;
  };

  LiteralScheduler(const SchedulerLimits& limits, const std::vector<Request>& requests)
      : limits_(limits), requests_(requests) {
    for (int b = 0; b < limits.blocks; ++b) queue_.push_back(b), references_.push_back(0), hashes_.emplace_back();
  }
  virtual ~LiteralScheduler() = default;
  virtual Scheduler::Step next() = 0;
  virtual void computed(const Scheduler::Step& /*step*/) {}
  // What goes to the host: of a sequence's first `end` tokens, which a step has computed; and once it has ended.
  virtual void copy(Sequence& /*s*/, const Scheduler::Share& /*share*/, int /*end*/) {}
  virtual void copy_all(const Sequence& /*s*/) {}

  void add(int id) {
    const Request& r = requests_[static_cast<std::size_t>(id)];
    Sequence s;
    s.id = id;
    s.prompt = r.prompt;
    s.most = r.length();
    for (int t = 0; t < r.prompt; ++t) {
      const auto part = static_cast<std::size_t>(t / r.content_tokens);
      // A part of the contents that the prompt does not fill by whole blocks is shared as far as blocks are full.
      s.tokens.push_back(part < r.contents.size()
                             ? "c" + std::to_string(r.contents[part]) + "." + std::to_string(t % r.content_tokens)
                             : own(id, t));
    }
    waiting_.push_back(s);
  }

  bool idle() const { return waiting_.empty() && running_.empty(); }

  // Which sequences had a token of a step, and how many they have.
  std::vector<std::pair<int, int>> complete(const Scheduler::Step& step) {
    std::vector<std::pair<int, int>> out;
    computed(step);
    for (const Scheduler::Share& share : step.shares) {
      const auto is = [&](const Sequence& q) { return q.id == share.request; };
      const auto running = std::find_if(running_.begin(), running_.end(), is);
      std::list<Sequence>& others = std::any_of(loading_.begin(), loading_.end(), is) ? loading_ : waiting_;
      const auto other = std::find_if(others.begin(), others.end(), is);
      if (running == running_.end() && (other == others.end() || other->ended)) continue;  // with an earlier step
      Sequence& s = running != running_.end() ? *running : *other;
      const int end = share.context + share.tokens - share.guesses;
      if (late_ && running != running_.end()) publish(s, end);
      if (running != running_.end()) copy(s, share, end);
      if (end != static_cast<int>(s.tokens.size())) continue;
      const int right = accepted(limits_, s.id, end, share.guesses);
      for (int i = 0; i <= right && static_cast<int>(s.tokens.size()) < s.most; ++i)
        s.tokens.push_back(own(s.id, static_cast<int>(s.tokens.size())));
      if (running != running_.end()) {
        s.computed -= share.guesses - right;
        if (late_ && share.guesses > 0) cut(s);
        s.guesses = static_cast<int>(limits_.drafted);
      }
      out.emplace_back(s.id, static_cast<int>(s.tokens.size()) - s.prompt);
      if (static_cast<int>(s.tokens.size()) < s.most) continue;
      if (running != running_.end()) {
        copy_all(s);
        free(s);
        running_.erase(running);
      } else if (&others == &loading_) {
        s.ended = true;
      } else {
        free(s);
        waiting_.erase(other);
      }
    }
    return out;
  }

  // Every block is either free or has as many references as sequences hold it.
  bool blocks_are_conserved() const {
    std::vector<int> held(references_.size(), 0);
    for (const Sequence& s : running_)
      for (const int b : s.blocks) ++held[static_cast<std::size_t>(b)];
    for (const std::list<Sequence>* others : {&waiting_, &loading_})
      for (const Sequence& s : *others)
        for (const int b : s.blocks) ++held[static_cast<std::size_t>(b)];
    std::size_t none = 0;
    for (const int h : held) none += h == 0 ? 1 : 0;
    return held == references_ && none == queue_.size();
  }
  std::size_t free_blocks() const { return queue_.size(); }

  // What it waited for came from the host.
  void fetched(int id) {
    const auto s = std::find_if(loading_.begin(), loading_.end(), [&](const Sequence& q) { return q.id == id; });
    if (s->ended) {
      free(*s);
      loading_.erase(s);
      return;
    }
    publish(*s, s->computed);
    s->loaded = true;
    waiting_.splice(waiting_.begin(), loading_, s);
  }

 protected:
  static std::string own(int id, int place) { return "r" + std::to_string(id) + "." + std::to_string(place); }

  void share(Scheduler::Step& out, Sequence& s, long long n, long long known = 1LL << 40) {
    const long long guesses = std::max(0LL, s.computed + n - known);
    out.shares.push_back({s.id, static_cast<std::int32_t>(n), s.computed, static_cast<std::int32_t>(guesses)});
    s.computed += static_cast<int>(n);
  }

  // The text of all tokens up to a block's end: a chain of hashes that never collides.
  std::string text(const Sequence& s, std::size_t block) const {
    std::string out;
    const std::size_t end = (block + 1) * static_cast<std::size_t>(limits_.block_tokens);
    for (std::size_t t = 0; t < end; ++t) out += s.tokens[t] + " ";
    return out;
  }

  // Blocks without a computed token go.
  void cut(Sequence& s) {
    while ((static_cast<long long>(s.blocks.size()) - 1) * limits_.block_tokens >= s.computed) {
      if (--references_[static_cast<std::size_t>(s.blocks.back())] == 0) queue_.push_back(s.blocks.back());
      s.blocks.pop_back();
    }
  }

  // Behind `hits` blocks, those whose copies the host has.
  std::vector<std::string> copied(const Sequence& s, std::size_t hits) const {
    std::vector<std::string> out;
    if (limits_.host_blocks == 0) return out;
    const std::size_t most = (s.tokens.size() - 1) / static_cast<std::size_t>(limits_.block_tokens);
    for (std::size_t b = hits; b < most; ++b) {
      if (std::find(host_.begin(), host_.end(), text(s, b)) == host_.end()) break;
      out.push_back(text(s, b));
    }
    return out;
  }

  std::vector<int> cached(const Sequence& s) const {
    std::vector<int> out;
    const std::size_t most = (s.tokens.size() - 1) / static_cast<std::size_t>(limits_.block_tokens);
    for (std::size_t b = 0; b < most; ++b) {
      const auto found = table_.find(text(s, b));
      if (found == table_.end()) break;
      out.push_back(found->second.front());
    }
    if (drafts_from_hits_ && limits_.drafted > 0 && !out.empty()) out.pop_back();
    return out;
  }

  void offload(const std::string& block) {
    if (limits_.host_blocks == 0 || std::find(host_.begin(), host_.end(), block) != host_.end()) return;
    if (static_cast<long long>(host_.size()) == limits_.host_blocks) host_.pop_front();
    host_.push_back(block);
  }

  // `room`: for tokens behind them.
  bool allocate(Sequence& s, long long n, const std::vector<int>& hits, long long room = 0, bool known = true) {
    const long long wanted = (s.computed + n + room + limits_.block_tokens - 1) / limits_.block_tokens;
    long long fresh = wanted - static_cast<long long>(s.blocks.size()) - static_cast<long long>(hits.size());
    fresh = std::max<long long>(fresh, 0);
    long long taken = fresh;
    for (const int b : hits) taken += references_[static_cast<std::size_t>(b)] == 0 ? 1 : 0;
    if (taken > static_cast<long long>(queue_.size())) return false;
    for (const int b : hits) {
      if (references_[static_cast<std::size_t>(b)]++ == 0) queue_.remove(b);
      s.blocks.push_back(b);
    }
    for (long long i = 0; i < fresh; ++i) {
      const int b = queue_.front();
      queue_.pop_front();
      std::string& hash = hashes_[static_cast<std::size_t>(b)];
      if (!hash.empty()) {
        table_[hash].remove(b);
        if (table_[hash].empty()) {
          table_.erase(hash);
          if (gives_to_host_) offload(hash);
        }
        hash.clear();
      }
      references_[static_cast<std::size_t>(b)] = 1;
      s.blocks.push_back(b);
    }
    if (!late_ && known) publish(s, static_cast<int>(std::min<long long>(s.computed + n, s.tokens.size())));
    return true;
  }

  // Its full blocks of so many tokens can be found from now on.
  void publish(Sequence& s, int known) {
    if (!limits_.prefix_caching) return;
    for (std::size_t b = 0; b < s.blocks.size(); ++b) {
      std::string& hash = hashes_[static_cast<std::size_t>(s.blocks[b])];
      if (static_cast<int>((b + 1) * static_cast<std::size_t>(limits_.block_tokens)) > known || !hash.empty()) continue;
      hash = text(s, b);
      table_[hash].push_back(s.blocks[b]);
    }
  }

  void free(Sequence& s) {
    std::reverse(s.blocks.begin(), s.blocks.end());
    for (const int b : s.blocks)
      if (--references_[static_cast<std::size_t>(b)] == 0) queue_.push_back(b);
    s.blocks.clear();
  }

  const SchedulerLimits limits_;
  const std::vector<Request>& requests_;
  bool late_ = false;             // contents are found once they are computed
  bool gives_to_host_ = false;    // contents that no block has any more
  bool drafts_from_hits_ = true;  // guesses need the states of the last block that is found
  std::list<Sequence> waiting_, loading_;
  std::list<std::string> host_;  // from the one that was used longest ago
  std::vector<Sequence> running_;
  std::list<int> queue_;  // free blocks
  std::vector<int> references_;
  std::vector<std::string> hashes_;
  std::map<std::string, std::list<int>> table_;
};

class LiteralVllm final : public LiteralScheduler {
 private:
  void copy(Sequence& s, const Scheduler::Share& /*share*/, int end) override {
    for (; (s.stored + 1) * limits_.block_tokens <= end; ++s.stored)
      offload(text(s, static_cast<std::size_t>(s.stored)));
  }

  // Where the engine would stand still: who has copies and cannot go on returns its blocks.
  bool give_way(bool runs) {
    if (!runs && !running_.empty()) return false;
    for (auto s = waiting_.rbegin(); s != waiting_.rend(); ++s) {
      if (!runs && &*s == &waiting_.front()) return false;
      if (!s->loaded) continue;
      free(*s);
      s->loaded = false;
      s->computed = 0;
      return true;
    }
    return false;
  }

 public:
  using LiteralScheduler::LiteralScheduler;
  Scheduler::Step next() override {
    Scheduler::Step out;
    long long budget = limits_.max_batched_tokens;
    std::size_t index = 0;
    bool stopped = false;
    while (index < running_.size() && budget > 0 && !stopped) {
      const int id = running_[index].id;
      const long long known = static_cast<long long>(running_[index].tokens.size());
      long long n = known + running_[index].guesses - running_[index].computed;
      if (limits_.long_prompt > 0 && n > limits_.long_prompt) n = limits_.long_prompt;
      n = std::min(n, budget);
      if (limits_.context > 0) n = std::min<long long>(n, limits_.context - 1 - running_[index].computed);
      if (n <= 0) {
        ++index;
        continue;
      }
      for (;;) {
        long long room = limits_.drafted;
        if (limits_.context > 0) room = std::min<long long>(room, limits_.context - running_[index].computed - n);
        if (allocate(running_[index], n, {}, room)) break;
        if (running_.size() == 1 && give_way(true)) continue;
        Sequence victim = running_.back();
        running_.pop_back();
        free(victim);
        victim.computed = victim.guesses = 0;
        out.preempted.push_back(victim.id);
        waiting_.push_front(victim);
        if (victim.id == id) {
          stopped = true;
          break;
        }
      }
      if (stopped) break;
      share(out, running_[index], n, known);
      budget -= n;
      ++index;
    }
    if (!out.preempted.empty()) return out;
    while (!waiting_.empty() && budget > 0 && static_cast<long long>(running_.size()) < limits_.max_sequences) {
      Sequence& s = waiting_.front();
      std::vector<int> hits = limits_.prefix_caching && !s.loaded ? cached(s) : std::vector<int>();
      const long long hit = s.loaded ? s.computed : static_cast<long long>(hits.size()) * limits_.block_tokens;
      std::vector<std::list<std::string>::iterator> copies;
      for (auto b = static_cast<std::size_t>(hit / limits_.block_tokens); !s.loaded && limits_.host_blocks > 0; ++b) {
        if (static_cast<long long>(b + 1) * limits_.block_tokens > static_cast<long long>(s.tokens.size()) - 1) break;
        const auto copy = std::find(host_.begin(), host_.end(), text(s, b));
        if (copy == host_.end()) break;
        copies.push_back(copy);
      }
      if (!copies.empty()) {
        const long long more = static_cast<long long>(copies.size()) * limits_.block_tokens;
        s.computed = static_cast<int>(hit);
        // One block stays free for each that runs.
        long long taken = static_cast<long long>(copies.size() + running_.size());
        for (const int b : hits) taken += references_[static_cast<std::size_t>(b)] == 0 ? 1 : 0;
        if (taken > static_cast<long long>(queue_.size()) || !allocate(s, more, hits, 0, false)) {
          s.computed = 0;
          if (give_way(false)) continue;
          break;
        }
        std::reverse(copies.begin(), copies.end());
        for (const auto& copy : copies) host_.splice(host_.end(), host_, copy);
        out.fetching.push_back({s.id, static_cast<std::int32_t>(more), s.computed});
        s.computed += static_cast<int>(more);
        s.stored = 0;
        loading_.splice(loading_.end(), waiting_, waiting_.begin());
        continue;
      }
      long long n = static_cast<long long>(s.tokens.size()) - hit;
      if (limits_.long_prompt > 0 && n > limits_.long_prompt) n = limits_.long_prompt;
      if (!limits_.chunked && n > budget) break;
      n = std::min(n, budget);
      s.computed = static_cast<int>(hit);
      if (!allocate(s, n, hits)) {
        if (!s.loaded) s.computed = 0;
        if (give_way(false)) continue;
        break;
      }
      if (!s.loaded) s.stored = 0;
      s.loaded = false;
      running_.push_back(s);
      waiting_.pop_front();
      share(out, running_.back(), n);
      budget -= n;
    }
    return out;
  }
};

}  // namespace orrery::serving
