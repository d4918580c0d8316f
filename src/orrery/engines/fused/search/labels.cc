// Labels over the graph.
//
// Einsums come one after the other. What the rest of the graph needs to know of those that came is a key: where the
// tensors that are still alive are handed on, and how often the open loops run; and a label: energy, delay, and of the
// exchange level, by depth j,
//
//   stays[j]: what stands at depth j and lives as long as open loop j + 1
//   peak[j]: the most that has been held at depth j and deeper, under open loop j
//
// At an equal key a label that is no worse in any of these makes the other one superfluous: all later tests and costs
// rise with them, and depend on nothing else.
#include "orrery/engines/fused/search/labels.h"

#include <algorithm>
#include <map>

namespace orrery::fused {
namespace {

constexpr std::uint32_t kJoinsBetweenLooks = 16;  // at the clock: a label is compared with all others of its key

struct Label {
  double energy = 0;
  double delay = 0;
  std::array<double, kMostFused> stays{};
  std::array<double, kMostFused + 1> peak{};
  int step = -1;  // in Joiner::steps_
};

struct Alive {
  int tensor = 0;
  int depth = -1;
  std::vector<int> ranks;
  double bits = 0;
};

struct State {
  std::vector<Count> loops;  // how often the open ones run
  std::vector<Alive> alive;
  std::vector<Label> labels;
};

// How a label changes when an einsum joins it under an interface.
struct Change {
  int before = 0;  // open loops
  int own = 0;     // the einsum's fused loops
  int after = 0;
  std::array<double, kMostFused + 1> opens{};  // what stood at a depth when a loop below it opens
  std::array<double, kMostFused + 1> fresh{};  // tensors that the einsum makes, by depth
  double innermost = 0;                        // all that live at the einsum's innermost depth
};

struct JoinStep {
  int parent = -1;
  const Interface* face = nullptr;
  const Mapping* mapping = nullptr;
  int shared = 0;
};

using Key = std::vector<Count>;

class Joiner {
 public:
  Joiner(const Problem& problem, const std::vector<const OperatorMappings*>& sets, const JoinOptions& options,
         const base::Budget& budget)
      : problem_(problem), sets_(sets), options_(options), ticker_(budget, kJoinsBetweenLooks), lives_(lives(problem)) {
    capacity_ = kUnlimited;
    for (const Storage& storage : problem.machine.storages)
      if (storage.exchange) capacity_ = storage.capacity;
    rest_energy_.resize(sets.size() + 1);
    rest_delay_.resize(sets.size() + 1);
    for (std::size_t e = sets.size(); e-- > 0;) {
      double energy = kUnlimited;
      double delay = kUnlimited;
      for (const Interface& face : sets[e]->interfaces)
        for (const Mapping& m : face.mappings) {
          energy = std::min(energy, m.energy);
          delay = std::min(delay, m.delay);
        }
      rest_energy_[e] = rest_energy_[e + 1] + energy;
      rest_delay_[e] = rest_delay_[e + 1] + delay;
    }
  }

  JoinResult join() {
    std::map<Key, State> states;
    states[{}].labels.emplace_back();
    for (int e = 0; e < static_cast<int>(sets_.size()); ++e) {
      std::map<Key, State> next;
      std::map<int, std::map<Key, std::vector<const Interface*>>> faces;  // by open loops
      for (const auto& [key, state] : states) {
        const int open = static_cast<int>(state.loops.size());
        if (!faces.contains(open)) faces[open] = faces_by_key(e, open);
        const auto found = faces[open].find(asked(e, state));
        if (found == faces[open].end()) continue;
        for (const Interface* face : found->second)
          if (!ticker_.was_spent()) extend(e, state, *face, next);
      }
      states = std::move(next);
      double alive = 0;
      for (auto& [key, state] : states) {
        if (options_.beam > 0) narrow(state.labels);
        alive += static_cast<double>(state.labels.size());
      }
      result_.labels = std::max(result_.labels, alive);
    }
    answer(states);
    result_.complete = !ticker_.was_spent();
    return std::move(result_);
  }

 private:
  bool old(int tensor, int e) const { return lives_[tensor].first < e; }
  int tensor_of(int e, int access) const { return problem_.einsums[e].accesses[access].tensor; }

  static void describe(Key& key, int depth, const std::vector<int>& ranks) {
    key.push_back(depth);
    key.insert(key.end(), ranks.begin(), ranks.end());
  }

  // Interfaces of e under so many open loops, by what they demand of what came before.
  std::map<Key, std::vector<const Interface*>> faces_by_key(int e, int open) const {
    std::map<Key, std::vector<const Interface*>> by;
    for (const Interface& face : sets_[e]->interfaces) {
      if (static_cast<int>(face.loops.size()) < open) continue;
      Key key;
      for (int i = 0; i < open; ++i) key.push_back(face.loops[i].count);
      for (const Handed& one : face.handed)
        if (old(tensor_of(e, one.access), e)) describe(key, one.depth, one.ranks);
      by[key].push_back(&face);
    }
    return by;
  }

  Key asked(int e, const State& state) const {
    Key key = state.loops;
    for (const Access& access : problem_.einsums[e].accesses)
      for (const Alive& one : state.alive)
        if (one.tensor == access.tensor) describe(key, one.depth, one.ranks);
    return key;
  }

  // The state after e, and how labels get there.
  State after(int e, const State& state, const Interface& face, Change& change) const {
    State next;
    change.before = static_cast<int>(state.loops.size());
    change.own = static_cast<int>(face.loops.size());
    const auto lives_on = [&](const Alive& one) {
      if (one.depth == change.own) change.innermost += one.bits;
      if (lives_[one.tensor].last > e) {
        change.after = std::max(change.after, one.depth);
        next.alive.push_back(one);
      }
    };
    for (const Alive& one : state.alive) {
      if (one.depth == change.before) change.opens[one.depth] += one.bits;
      lives_on(one);
    }
    for (const Handed& one : face.handed) {
      const int tensor = tensor_of(e, one.access);
      if (old(tensor, e)) continue;
      if (one.depth >= 0) change.fresh[one.depth] += one.bits;
      lives_on({tensor, one.depth, one.ranks, one.bits});
    }
    for (int i = 0; i < change.after; ++i) next.loops.push_back(face.loops[i].count);
    return next;
  }

  void extend(int e, const State& state, const Interface& face, std::map<Key, State>& next) {
    Change change;
    State to = after(e, state, face, change);
    Key key = to.loops;
    for (const Alive& one : to.alive) {
      key.push_back(-2);
      describe(key, one.depth, one.ranks);
    }
    const auto [at, fresh] = next.try_emplace(std::move(key));
    if (fresh) at->second = std::move(to);
    for (const Label& label : state.labels)
      for (const Mapping& mapping : face.mappings) {
        if (ticker_.spent()) return;
        ++result_.joins;
        Label made = label;
        made.energy += mapping.energy;
        made.delay += mapping.delay;
        if (goal_value(options_.goal, made.energy + rest_energy_[e + 1], made.delay + rest_delay_[e + 1]) >
                options_.incumbent * (1 + 1e-9) &&
            !options_.front) {
          ++result_.bounded;
          continue;
        }
        if (!fits(made, mapping, change)) {
          ++result_.over_capacity;
          continue;
        }
        insert(at->second.labels, made, label.step, face, mapping, change.before);
      }
  }

  // Holds what the mapping holds; closes the loops that end with it.
  bool fits(Label& label, const Mapping& mapping, const Change& change) const {
    for (int j = change.before; j < change.own; ++j) {
      label.stays[j] = j == change.before ? change.opens[j] : 0;
      label.peak[j + 1] = 0;
    }
    for (int j = 0; j < change.own; ++j) label.stays[j] += mapping.held[j] + change.fresh[j];
    double& innermost = label.peak[change.own];
    innermost = std::max(innermost, mapping.held[change.own] + change.innermost);
    double outside = 0;
    for (int j = 0; j <= change.own; ++j) {
      if (outside + label.peak[j] > capacity_) return false;
      if (j < change.own) outside += label.stays[j];
    }
    for (int j = change.own; j > change.after; --j) {
      label.peak[j - 1] = std::max(label.peak[j - 1], label.stays[j - 1] + label.peak[j]);
      label.stays[j - 1] = 0;
      label.peak[j] = 0;
    }
    label.peak[0] = 0;
    return true;
  }

  static bool no_worse(const Label& a, const Label& b) {
    if (a.energy > b.energy || a.delay > b.delay) return false;
    for (int j = 0; j < kMostFused; ++j)
      if (a.stays[j] > b.stays[j] || a.peak[j + 1] > b.peak[j + 1]) return false;
    return true;
  }

  void insert(std::vector<Label>& labels, Label& made, int parent, const Interface& face, const Mapping& mapping,
              int shared) {
    for (const Label& other : labels)
      if (no_worse(other, made)) {
        ++result_.dominated;
        return;
      }
    result_.dominated += static_cast<double>(std::erase_if(labels, [&](const Label& o) { return no_worse(made, o); }));
    made.step = static_cast<int>(steps_.size());
    steps_.push_back({parent, &face, &mapping, shared});
    labels.push_back(made);
  }

  double value(const Label& label) const { return goal_value(options_.goal, label.energy, label.delay); }

  void narrow(std::vector<Label>& labels) const {
    if (labels.size() <= options_.beam) return;
    std::partial_sort(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(options_.beam), labels.end(),
                      [&](const Label& a, const Label& b) { return value(a) < value(b); });
    labels.resize(options_.beam);
  }

  void answer(const std::map<Key, State>& states) {
    std::vector<const Label*> ends;
    for (const auto& [key, state] : states)
      for (const Label& label : state.labels) ends.push_back(&label);
    std::sort(ends.begin(), ends.end(), [&](const Label* a, const Label* b) {
      if (!options_.front) return value(*a) < value(*b);
      return a->energy != b->energy ? a->energy < b->energy : a->delay < b->delay;
    });
    for (const Label* label : ends) {
      if (options_.front && !result_.answers.empty() && label->delay >= result_.answers.back().delay) continue;
      Joined one{label->energy, label->delay, {}};
      for (int s = label->step; s >= 0; s = steps_[s].parent)
        one.picks.push_back({steps_[s].face, steps_[s].mapping, steps_[s].shared});
      std::reverse(one.picks.begin(), one.picks.end());
      result_.answers.push_back(std::move(one));
      if (!options_.front) return;
    }
  }

  const Problem& problem_;
  const std::vector<const OperatorMappings*>& sets_;
  JoinOptions options_;
  base::Ticker ticker_;
  std::vector<Life> lives_;
  double capacity_ = kUnlimited;
  std::vector<double> rest_energy_, rest_delay_;  // of einsum e and those after it, at least
  std::vector<JoinStep> steps_;
  JoinResult result_;
};

}  // namespace

double goal_value(Goal goal, double energy, double delay) {
  return goal == Goal::kEnergy ? energy : goal == Goal::kDelay ? delay : energy * delay;
}

JoinResult join(const Problem& problem, const std::vector<const OperatorMappings*>& sets, const JoinOptions& options,
                const base::Budget& budget) {
  return Joiner(problem, sets, options, budget).join();
}

}  // namespace orrery::fused
