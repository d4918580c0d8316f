// A label is a tile at an iterating level with the energy paid and the cycles loaded on each resource so far.
// The tables give its exact energy still to come, so that best-first order is A*:
//     bound = goal of (paid + V_i(t), slowest resource with what is still to be loaded at least,
//                      paid + weighted loads + V'_i(t))
// A label is dominated by one at the same tile that has paid no more and loaded no more. A resource that no
// open boundary touches is settled: there it is enough that the other's load stays within the cycles that this
// label needs anyway. Both continue alike, so the other's best end is no worse.
//
// When labels outgrow their room, those still open are searched depth first, which needs none: slower, exact.
// Cost: labels that stay below the best answer; each tries every divisor of three dimensions at most.
#include "orrery/engines/nest/search/lattice/lattice_labels.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {
namespace {

struct Label {
  Table::Step step;  // the last iterating level, its innermost loop, the tile after it
  double energy_pj = 0;
  std::int32_t parent = -1;
  bool closed = false;
  bool dominated = false;
};

class LabelSearch {
 public:
  LabelSearch(const LabelProblem& problem, const Goal& goal, const std::function<void(const Path&)>& leaf,
              const std::function<bool()>& stop, Tally& tally)
      : p_(problem),
        problem_(problem.boundaries.problem()),
        table_(problem.table),
        goal_(goal),
        leaf_(leaf),
        stop_(stop),
        tally_(tally),
        levels_(static_cast<int>(problem_.levels.size())),
        leak_pj_(problem.boundaries.prices().leak_pj_per_cycle()) {
    find_active();
    price_loads();
  }

  bool run() {
    seen_.resize(static_cast<std::size_t>(levels_) * table_.points());
    std::vector<double> start(active_.size());
    for (std::size_t r = 0; r < active_.size(); ++r) start[r] = p_.innermost[active_[r]];
    for (const int point : table_.tiles(0))
      if (table_.least_pj(0, point) < kNever) push({{0, -1, point}, p_.base_pj, -1, false, false}, start.data());
    while (!open_.empty()) {
      if (stop_()) return false;
      const Key bound = open_.top().first;
      const std::int32_t at = -open_.top().second;
      open_.pop();
      if (goal_.drop_from(bound)) {
        tally_.bounded += open_.size() + 1;
        return true;
      }
      if (goal_.drop(bound)) {
        ++tally_.bounded;
        continue;
      }
      const Label label = labels_[at];
      if (label.dominated) continue;
      if (label.closed) {
        show(label.parent);
        continue;
      }
      const std::vector<double> loads(loads_.begin() + at * width(), loads_.begin() + (at + 1) * width());
      if (labels_.size() > p_.most_labels) {
        path_.clear();
        collect(at);
        if (!dive(label, loads)) return false;
        continue;
      }
      parent_ = at;
      expand(label, loads.data(), [&](const Label& next, const double* sum) { push(next, sum); });
    }
    return true;
  }

 private:
  std::ptrdiff_t width() const { return static_cast<std::ptrdiff_t>(active_.size()); }

  // Resources that can be the bottleneck.
  void find_active() {
    Loads most = p_.innermost;
    for (int s = 0; s < kSpaces; ++s)
      for (int a = 0; a < levels_; ++a) {
        const int b = next_keeper(p_.keeps[s], a);
        if ((p_.keeps[s] >> a & 1) && b >= 0) p_.boundaries.add(s, a, b, 0, most);
      }
    for (int r = 0; r < problem_.resources; ++r) {
      const bool weighs = weighted_ && (p_.slow[r] > 0 || p_.traded[r] > 0);
      if (!weighs && most[r] <= p_.least_cycles) continue;
      active_.push_back(r);
      slow_.push_back(p_.slow[r]);
      traded_.push_back(p_.traded[r]);
    }
  }

  void price_loads() {
    rest_.assign((levels_ + 1) * active_.size(), 0);
    settled_.assign((levels_ + 1) * active_.size(), 1);
    for (int s = 0; s < kSpaces; ++s) {
      const std::size_t reuses = table_.axis(problem_.blind[s]).value.size();
      close_loads_[s].assign(static_cast<std::size_t>(levels_) * (levels_ + 1) * reuses * active_.size(), 0);
    }
    for (int a = levels_ - 1; a >= 0; --a) {
      for (std::size_t r = 0; r < active_.size(); ++r) {
        rest_[a * active_.size() + r] = rest_[(a + 1) * active_.size() + r];
        settled_[a * active_.size() + r] = settled_[(a + 1) * active_.size() + r];
      }
      for (int s = 0; s < kSpaces; ++s) {
        const int b = next_keeper(p_.keeps[s], a);
        if (!(p_.keeps[s] >> a & 1) || b < 0) continue;
        const std::size_t reuses = table_.axis(problem_.blind[s]).value.size();
        for (const Boundary::Load& load : p_.boundaries.at(s, a, b).loads) {
          const auto place = std::find(active_.begin(), active_.end(), load.resource);
          if (place == active_.end()) continue;
          const std::size_t r = place - active_.begin();
          rest_[a * active_.size() + r] += load.cycles.back();
          settled_[a * active_.size() + r] = 0;
          for (int i = 0; i <= a; ++i)
            for (int j = a + 1; j <= levels_; ++j)
              for (std::size_t x = 0; x < reuses; ++x)
                close_loads_[s][((static_cast<std::size_t>(i) * (levels_ + 1) + j) * reuses + x) * active_.size() +
                                r] += load.cycles[x];
        }
      }
    }
  }

  const double* close_loads(int s, int i, int j, int reuse) const {
    const std::size_t reuses = table_.axis(problem_.blind[s]).value.size();
    return close_loads_[s].data() +
           ((static_cast<std::size_t>(i) * (levels_ + 1) + j) * reuses + reuse) * active_.size();
  }

  // Cycles at least of everything that continues from level `open_from`.
  double cycles(const double* loads, int open_from) const {
    double most = p_.least_cycles;
    const double* rest = rest_.data() + open_from * active_.size();
    for (std::size_t r = 0; r < active_.size(); ++r) most = std::max(most, (loads[r] + rest[r]) * (1 - kEqual));
    return problem_.whole_cycles ? std::ceil(most * (1 - kEqual)) : most;
  }

  // `to_come`: at least, by criterion.
  Key bound(double energy_pj, const double* loads, int open_from, const Least& to_come) const {
    const double least_pj = (energy_pj + to_come[kEnergy]) * (1 - kEqual);
    double active = cycles(loads, open_from);
    if (!weighted_) return goal_.whole_key(least_pj, active, leak_pj_);
    double slow = p_.slow_compute, traded = p_.traded_compute;
    for (std::size_t r = 0; r < active_.size(); ++r) slow += slow_[r] * loads[r], traded += traded_[r] * loads[r];
    const double together_pj = energy_pj + to_come[kTogether] + p_.mu * traded;
    active = std::max(active, (slow + to_come[kScarce]) * (1 - 2 * kEqual));
    return goal_.traded(goal_.whole_key(least_pj, active, leak_pj_), least_pj, active, leak_pj_,
                        together_pj * (1 - kEqual), p_.mu);
  }

  Key bound(const Label& label, const double* loads) const {
    if (label.closed) return bound(label.energy_pj, loads, levels_, {});
    const auto [level, innermost, point] = label.step;
    Least to_come{table_.least_pj(level, point)};
    if (weighted_) to_come = {to_come[kEnergy], p_.together->least_pj(level, point), p_.scarce->least_pj(level, point)};
    return bound(label.energy_pj, loads, level, to_come);
  }

  void push(const Label& label, const double* loads) {
    const Key key = bound(label, loads);
    if (goal_.drop(key)) {
      ++tally_.bounded;
      return;
    }
    if (!label.closed) {
      std::vector<std::int32_t>& here =
          seen_[static_cast<std::size_t>(label.step.level) * table_.points() + label.step.point];
      const double needed = cycles(loads, label.step.level);
      for (const std::int32_t other : here)
        if (no_worse(labels_[other].energy_pj, loads_.data() + other * width(), label.energy_pj, loads,
                     label.step.level, needed)) {
          ++tally_.dominated;
          return;
        }
      std::erase_if(here, [&](std::int32_t other) {
        const double* others = loads_.data() + other * width();
        if (!no_worse(label.energy_pj, loads, labels_[other].energy_pj, others, label.step.level,
                      cycles(others, label.step.level)))
          return false;
        ++tally_.dominated;
        return labels_[other].dominated = true;
      });
      here.push_back(static_cast<std::int32_t>(labels_.size()));
    }
    // Among equals the latest first: of many ways with the same bound, follow one to its end.
    open_.emplace(key, -static_cast<std::int32_t>(labels_.size()));
    labels_.push_back(label);
    loads_.insert(loads_.end(), loads, loads + width());
  }

  // Whether a continues no worse than b, which needs so many cycles anyway.
  bool no_worse(double a_pj, const double* a, double b_pj, const double* b, int level, double b_cycles) const {
    // Cycles that are rounded in doubles may be one more where loads are one less.
    if (!problem_.whole_cycles || !p_.dominance || (a_pj > b_pj && goal_.energy_counts())) return false;
    for (std::size_t r = 0; r < active_.size(); ++r) {
      if (a[r] <= b[r]) continue;
      if (!settled_[level * active_.size() + r] || a[r] > b_cycles) return false;
    }
    return true;
  }

  // emit(label, loads) for everything that may follow.
  template <typename Emit>
  void expand(const Label& label, const double* loads, const Emit& emit) {
    const int i = label.step.level, p = label.step.point;
    const Triple<int> index = table_.at(p);
    std::vector<double> sum(active_.size());
    int j = i + 1;
    for (; j < levels_; ++j) {
      for (int c = 0; c < kDims; ++c) {
        if (!problem_.levels[j].free[c]) continue;
        const int blind = problem_.dataspace[c];
        double closed_pj = label.energy_pj;
        for (int s = 0; s < kSpaces; ++s)
          if (s != blind) closed_pj += table_.close_pj(s, i, j, index[problem_.blind[s]]);
        if (closed_pj == kNever) continue;
        for (const int m : table_.axis(c).multiples[index[c]]) {
          const int inner = p + (m - index[c]) * table_.stride(c);
          if (!table_.fits(j, inner)) break;
          const double paid_pj = closed_pj + table_.close_pj(blind, i, j, m);
          const double above_pj = table_.least_above_pj(j, c, inner);
          if (paid_pj + above_pj == kNever) continue;
          for (std::size_t r = 0; r < active_.size(); ++r) {
            sum[r] = loads[r];
            for (int s = 0; s < kSpaces; ++s)
              sum[r] += close_loads(s, i, j, s == blind ? m : index[problem_.blind[s]])[r];
          }
          Least to_come{above_pj};
          if (weighted_)
            to_come = {above_pj, p_.together->least_above_pj(j, c, inner), p_.scarce->least_above_pj(j, c, inner)};
          const Key least = bound(paid_pj, sum.data(), j, to_come);
          if (goal_.drop(least)) {
            ++tally_.bounded;
            continue;
          }
          others({{j, c, inner}, paid_pj, parent_, false, false}, 0, inner, sum.data(), emit);
        }
      }
      if (!table_.fits(j, p)) break;
    }
    if (p != table_.full() || j != levels_) return;
    Label done{label.step, label.energy_pj, parent_, true, false};
    std::copy(loads, loads + width(), sum.begin());
    for (int s = 0; s < kSpaces; ++s) {
      const int reuse = index[problem_.blind[s]];
      done.energy_pj += table_.close_pj(s, i, levels_, reuse);
      for (std::size_t r = 0; r < active_.size(); ++r) sum[r] += close_loads(s, i, levels_, reuse)[r];
    }
    if (done.energy_pj < kNever) emit(done, sum.data());
  }

  // The other dimensions of the level take any of their multiples.
  template <typename Emit>
  void others(Label next, int d, int point, const double* loads, const Emit& emit) {
    if (d == kDims) {
      next.step.point = point;
      if (table_.least_pj(next.step.level, point) < kNever) emit(next, loads);
      return;
    }
    others(next, d + 1, point, loads, emit);
    if (d == next.step.innermost || !problem_.levels[next.step.level].free[d]) return;
    const int index = table_.at(point)[d];
    for (const int m : table_.axis(d).multiples[index])
      others(next, d + 1, point + (m - index) * table_.stride(d), loads, emit);
  }

  // Depth first; path_ ends with `label`.
  bool dive(const Label& label, const std::vector<double>& loads) {
    if (stop_()) return false;
    struct Next {
      Key key;
      Label label;
      std::vector<double> loads;
    };
    std::vector<Next> next;
    bool goes_on = true;
    const auto follow = [&] {
      std::stable_sort(next.begin(), next.end(), [](const Next& a, const Next& b) { return a.key < b.key; });
      for (const Next& child : next) {
        if (goal_.drop(child.key)) {
          ++tally_.bounded;
          continue;
        }
        if (child.label.closed) {
          leaf_(path_);
          continue;
        }
        path_.push_back(child.label.step);
        if (!dive(child.label, child.loads)) return false;
        path_.pop_back();
      }
      next.clear();
      return true;
    };
    expand(label, loads.data(), [&](const Label& child, const double* sum) {
      if (!goes_on) return;
      const Key key = bound(child, sum);
      if (goal_.drop(key))
        ++tally_.bounded;
      else
        next.push_back({key, child, {sum, sum + width()}});
      if (next.size() >= p_.most_beside) goes_on = follow();
    });
    return goes_on && follow();
  }

  void collect(std::int32_t at) {
    for (; at >= 0; at = labels_[at].parent) path_.push_back(labels_[at].step);
    std::reverse(path_.begin(), path_.end());
  }

  void show(std::int32_t at) {
    path_.clear();
    collect(at);
    leaf_(path_);
  }

  const LabelProblem& p_;
  const LatticeProblem& problem_;
  const Table& table_;
  const Goal& goal_;
  const std::function<void(const Path&)>& leaf_;
  const std::function<bool()>& stop_;
  Tally& tally_;
  const int levels_;
  const double leak_pj_;
  std::vector<int> active_;  // resources that labels carry
  const bool weighted_ = p_.together != nullptr;
  std::vector<double> slow_, traded_;        // by active resource
  std::vector<double> rest_;                 // [level][active]: loads at least of the boundaries open from there
  std::vector<char> settled_;                // [level][active]: no open boundary loads it
  Triple<std::vector<double>> close_loads_;  // [s][i][j][reuse][active]
  std::vector<Label> labels_;
  std::vector<double> loads_;                  // [label][active]
  using Entry = std::pair<Key, std::int32_t>;  // the label, negated
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
  std::vector<std::vector<std::int32_t>> seen_;
  std::int32_t parent_ = -1;  // of the labels being made
  Path path_;
};

}  // namespace

bool search_labels(const LabelProblem& problem, const Goal& goal, const std::function<void(const Path&)>& leaf,
                   const std::function<bool()>& stop, Tally& tally) {
  return LabelSearch(problem, goal, leaf, stop, tally).run();
}

}  // namespace orrery::nest::lattice
