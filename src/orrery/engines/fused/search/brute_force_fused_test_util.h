// Fused mapping without rules: every line of steps of every einsum, every combination that agrees, priced by the model.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "orrery/engines/fused/model/branch_price.h"
#include "orrery/engines/fused/model/einsum_view.h"
#include "orrery/engines/fused/model/lifetimes.h"
#include "orrery/engines/fused/model/tree_rules.h"
#include "orrery/engines/fused/search/labels.h"

namespace orrery::fused {

// What others see of a branch, and what it costs.
struct BruteLine {
  Branch branch;
  double energy = 0;
  double delay = 0;
  std::vector<Count> loops;                              // fused ones
  std::map<int, std::vector<std::pair<int, Count>>> at;  // exchanged tensors: rank and count of the loops above
  std::map<int, double> bits;                            // of their tiles
  Private own;
};

class BruteLines {
 public:
  BruteLines(const Problem& problem, int einsum, const SearchOptions& options)
      : problem_(problem), view_(problem, einsum), options_(options) {
    branch_.einsum = einsum;
    required_ = required_usage(spread_space(view_));
    for (const int v : view_.e.variables) left_[v] = view_.bound(v);
    used_.assign(problem.machine.fanouts.size(), 1);
  }
  std::vector<BruteLine> all() {
    extend(0, true);
    return std::move(lines_);
  }

 private:
  // Steps from a position of the machine on. `fused`: an exchanged tensor is still to come. Below the last one, loops
  // that no hold parts have one order, and those over one variable are one.
  void extend(int position, bool fused) {
    const bool begun = !branch_.steps.empty();
    if (fused && (!begun || branch_.steps.back().exchange)) extend(position, false);
    if (!fused) finish();
    const bool bound = !fused && begun && branch_.steps.back().kind != Step::Kind::kHold;
    const bool looped = bound && branch_.steps.back().kind == Step::Kind::kLoop;
    const int last = looped ? branch_.steps.back().variable : -1;
    for (auto& [v, left] : left_) {
      for (Count count = 2; count <= left; ++count) {
        if (left % count != 0) continue;
        left /= count;
        if (!bound || (looped && v > last)) {
          branch_.steps.push_back(loop(v, count));
          extend(position, fused);
          branch_.steps.pop_back();
        }
        spread_over(position, fused, v, count);
        left *= count;
      }
    }
    for (int s = 1; s < static_cast<int>(view_.machine.storages.size()); ++s) {
      if (view_.machine.storages[s].position < position || !view_.has_storage(s)) continue;
      for (int a = 0; a < view_.accesses(); ++a) hold_one(s, a, fused);
    }
  }

  void spread_over(int position, bool fused, int v, Count count) {
    if (fused || view_.e.copy) return;
    for (int f = 0; f < static_cast<int>(used_.size()); ++f) {
      const Fanout& fanout = view_.machine.fanouts[f];
      if (fanout.position < position || !view_.has_fanout(f) || !view_.may_spread(f, v) ||
          used_[f] * count > fanout.ways)
        continue;
      used_[f] *= count;
      branch_.steps.push_back(spread(v, f, count));
      extend(fanout.position, fused);
      branch_.steps.pop_back();
      used_[f] /= count;
    }
  }

  void hold_one(int s, int a, bool fused) {
    for (const Step& step : branch_.steps)
      if (step.kind == Step::Kind::kHold && step.storage == s && step.access == a) return;
    const bool level = view_.machine.storages[s].exchange;
    for (const bool exchange : {false, true}) {
      if (exchange && (!fused || !level || view_.tensor(a).kind != TensorKind::kIntermediate || !options_.fuse))
        continue;
      if (!exchange && (view_.e.copy || view_.keep(s, a) == Keep::kNever || (fused && !level))) continue;
      branch_.steps.push_back(hold(a, s, exchange));
      const double bits = held_bits(s);
      if (bits <= view_.capacity(s)) extend(view_.machine.storages[s].position, fused);
      branch_.steps.pop_back();
    }
  }

  double held_bits(int storage) const {
    double bits = 0;
    for (int i = 0; i < static_cast<int>(branch_.steps.size()); ++i) {
      const Step& step = branch_.steps[i];
      if (step.kind == Step::Kind::kHold && step.storage == storage)
        bits +=
            static_cast<double>(tile_words(problem_, branch_, i, step.access)) * view_.word_bits(storage, step.access);
    }
    return bits;
  }

  void finish() {
    for (const auto& [v, left] : left_)
      if (left > 1 && !view_.e.copy) return;
    if (!allowed()) return;
    BruteLine line;
    line.branch = branch_;
    describe(line);
    if (static_cast<int>(line.loops.size()) > options_.fused_loops) return;
    if (view_.e.copy && line.own.fused != copy_loops()) return;  // a copy has no other loops
    const EinsumCost cost = price(problem_, branch_);
    line.energy = cost.energy;
    line.delay = cost.latency;
    for (const BruteLine& other : lines_)
      if (other.energy == line.energy && other.delay == line.delay && other.at == line.at &&
          other.loops == line.loops && other.own.bits == line.own.bits)
        return;
    lines_.push_back(std::move(line));
  }

  int copy_loops() const {
    int loops = 0;
    for (const Step& step : branch_.steps) loops += step.kind == Step::Kind::kLoop ? 1 : 0;
    return loops;
  }

  bool allowed() const {
    for (std::size_t f = 0; f < used_.size(); ++f)
      if (used_[f] < required_[f]) return false;
    std::vector<std::vector<int>> held(view_.machine.storages.size(), std::vector<int>(view_.accesses()));
    for (int i = 0; i < static_cast<int>(branch_.steps.size()); ++i) {
      const Step& step = branch_.steps[i];
      if (step.kind != Step::Kind::kHold) continue;
      held[step.storage][step.access] = 1;
      if (!step.exchange) continue;
      for (int j = 0; j < i; ++j)
        if (branch_.steps[j].kind == Step::Kind::kLoop && !view_.relevant(step.access, branch_.steps[j].variable))
          return false;
    }
    for (int s = 1; s < static_cast<int>(held.size()); ++s)
      for (int a = 0; a < view_.accesses() && !view_.e.copy; ++a)
        if (held[s][a] == 0 && view_.keep(s, a) == Keep::kMust) return false;
    return !twice();
  }

  // Whether a variable has more fused loops than allowed.
  bool twice() const {
    std::map<int, int> times;
    int loops = fused_loops(problem_, branch_);
    for (const Step& step : branch_.steps)
      if (step.kind == Step::Kind::kLoop && loops-- > 0 && ++times[step.variable] > options_.loops_per_variable &&
          options_.loops_per_variable >= 0)
        return true;
    return false;
  }

  void describe(BruteLine& line) const {
    const int fused = fused_loops(problem_, branch_);
    line.own.fused = fused;
    line.own.bits.resize(fused + 1);
    std::vector<std::pair<int, Count>> loops;
    for (int i = 0; i < static_cast<int>(branch_.steps.size()); ++i) {
      const Step& step = branch_.steps[i];
      if (step.kind == Step::Kind::kLoop) {
        loops.emplace_back(step.variable, step.count);
        if (static_cast<int>(loops.size()) <= fused) line.loops.push_back(step.count);
      }
      if (step.kind != Step::Kind::kHold || !view_.machine.storages[step.storage].exchange) continue;
      const double bits = static_cast<double>(tile_words(problem_, branch_, i, step.access)) *
                          view_.word_bits(step.storage, step.access);
      if (!step.exchange) {
        line.own.bits[std::min<std::size_t>(loops.size(), fused)] += bits;
        continue;
      }
      const Access& access = view_.e.accesses[step.access];
      auto& at = line.at[access.tensor];
      for (const auto& [v, count] : loops)
        at.emplace_back(std::find(access.variables.begin(), access.variables.end(), v) - access.variables.begin(),
                        count);
      line.bits[access.tensor] = bits;
    }
  }

  const Problem& problem_;
  EinsumView view_;
  const SearchOptions& options_;
  Branch branch_;
  std::vector<Count> required_;
  std::map<int, Count> left_;
  std::vector<Count> used_;
  std::vector<BruteLine> lines_;
};

// The best value of the goal; kUnlimited where nothing is allowed.
class BruteForce {
 public:
  BruteForce(const Problem& problem, const SearchOptions& options) : problem_(problem), options_(options) {
    for (int e = 0; e < static_cast<int>(problem.einsums.size()); ++e) {
      lines_.push_back(BruteLines(problem, e, options).all());
      grouped_.emplace_back();
      std::stable_sort(lines_[e].begin(), lines_[e].end(), [&](const BruteLine& a, const BruteLine& b) {
        return value(a.energy, a.delay) < value(b.energy, b.delay);
      });
    }
  }
  double best(Goal goal) {
    goal_ = goal;
    best_ = kUnlimited;
    rest_.assign(lines_.size() + 1, {});
    for (std::size_t e = lines_.size(); e-- > 0;) {
      double energy = kUnlimited;
      double delay = kUnlimited;
      for (const BruteLine& line : lines_[e]) {
        energy = std::min(energy, line.energy);
        delay = std::min(delay, line.delay);
      }
      rest_[e] = {rest_[e + 1].first + energy, rest_[e + 1].second + delay};
      grouped_[e].clear();
      for (const BruteLine& line : lines_[e]) grouped_[e][old_places(e, line.at)].push_back(&line);
    }
    join(0, 0, 0);
    return best_;
  }
  const Tree& tree() const { return tree_; }  // of the last best()
  std::size_t lines() const {
    std::size_t all = 0;
    for (const auto& some : lines_) all += some.size();
    return all;
  }

 private:
  using Places = std::map<int, std::vector<std::pair<int, Count>>>;

  double value(double energy, double delay) const { return goal_value(goal_, energy, delay); }

  void join(std::size_t e, double energy, double delay) {
    if (value(energy + rest_[e].first, delay + rest_[e].second) >= best_) return;
    if (e == lines_.size()) {
      if (!fits()) return;
      best_ = value(energy, delay);
      tree_ = {};
      for (std::size_t b = 0; b < e; ++b) {
        tree_.branches.push_back(picked_[b]->branch);
        tree_.branches.back().shared = static_cast<int>(open_before(b));
      }
      return;
    }
    Places places;  // as those before e have them
    for (const BruteLine* line : picked_) places.insert(line->at.begin(), line->at.end());
    const auto some = grouped_[e].find(old_places(e, places));
    if (some == grouped_[e].end()) return;
    for (const BruteLine* line : some->second) {
      picked_.push_back(line);
      if (agrees(e)) join(e + 1, energy + line->energy, delay + line->delay);
      picked_.pop_back();
    }
  }

  // Of the tensors of e that an einsum before it touches.

  Places old_places(std::size_t e, const Places& all) const {
    Places old;
    for (std::size_t b = 0; b < e; ++b)
      for (const Access& other : problem_.einsums[b].accesses)
        for (const Access& access : problem_.einsums[e].accesses)
          if (access.tensor == other.tensor && all.contains(access.tensor)) old[access.tensor] = all.at(access.tensor);
    return old;
  }

  // Whether the loops of the last one picked are those that are open.
  bool agrees(std::size_t e) const {
    const BruteLine& line = *picked_[e];
    const std::size_t open = open_before(e);
    if (line.loops.size() < open) return false;
    return e == 0 || std::equal(line.loops.begin(), line.loops.begin() + static_cast<std::ptrdiff_t>(open),
                                picked_[e - 1]->loops.begin());
  }

  std::size_t open_before(std::size_t e) const {
    std::size_t open = 0;
    for (std::size_t b = 0; b < e; ++b)
      for (const auto& [tensor, loops] : picked_[b]->at)
        for (std::size_t later = e; later < problem_.einsums.size(); ++later)
          for (const Access& access : problem_.einsums[later].accesses)
            if (access.tensor == tensor) open = std::max(open, loops.size());
    return open;
  }

  bool fits() const {
    std::vector<Private> own;
    std::map<int, Living> living;
    std::vector<int> shared;
    for (int b = 0; b < static_cast<int>(picked_.size()); ++b) {
      own.push_back(picked_[b]->own);
      shared.push_back(static_cast<int>(open_before(b)));
      for (const auto& [tensor, loops] : picked_[b]->at) {
        const auto [one, fresh] =
            living.try_emplace(tensor, Living{picked_[b]->bits.at(tensor), static_cast<int>(loops.size()), b, b});
        if (!fresh) one->second.last = b;
      }
    }
    std::vector<Living> tensors;
    for (const auto& [tensor, one] : living) tensors.push_back(one);
    return peak(own, tensors, shared).bits <= problem_.machine.storages[1].capacity;
  }

  const Problem& problem_;
  SearchOptions options_;
  Goal goal_ = Goal::kEdp;
  std::vector<std::vector<BruteLine>> lines_;
  std::vector<std::map<Places, std::vector<const BruteLine*>>> grouped_;
  std::vector<std::pair<double, double>> rest_;  // least energy and delay of the einsums from one on
  std::vector<const BruteLine*> picked_;
  double best_ = kUnlimited;
  Tree tree_;
};

}  // namespace orrery::fused
