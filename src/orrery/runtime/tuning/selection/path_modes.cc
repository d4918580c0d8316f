#include "orrery/runtime/tuning/selection/path_modes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/runtime/tuning/selection/consistency.h"

namespace orrery::tuning {
namespace {

// Where the original cuts the chain: the values' gradient goes around the softmax to the merge.
constexpr const char* kCutFrom = "dX2gamma";
constexpr const char* kCutTo = "QKV-merge";
// Left open until the rest is bound.
constexpr const char* kSkipped[] = {"SB2", "DX", "DSB2"};

struct Failed {
  std::string reason;
  bool ended = false;
};

using Stage = std::vector<std::size_t>;  // operators

std::vector<Stage> stages_of(const Graph& graph, bool backward) {
  std::vector<Stage> out;
  std::vector<char> placed(graph.operators.size());
  for (std::size_t f = 0; f < graph.operators.size(); ++f) {
    if (graph.operators[f].backward != backward || placed[f]) continue;
    Stage stage;
    for (const auto& group : graph.combined_backward)
      if (std::find(group.begin(), group.end(), graph.operators[f].name) != group.end())
        for (const std::string& member : group)
          stage.push_back(static_cast<std::size_t>(graph.find(member) - graph.operators.data()));
    if (stage.empty()) stage.push_back(f);
    for (const std::size_t member : stage) placed[member] = 1;
    out.push_back(std::move(stage));
  }
  return out;
}

bool cut(const Graph& graph, const Stage& from, const Stage& to) {
  const auto has = [&](const Stage& stage, const char* name) {
    return std::any_of(stage.begin(), stage.end(), [&](std::size_t f) { return graph.operators[f].name == name; });
  };
  return has(from, kCutFrom) && has(to, kCutTo);
}

// The tensors that one stage makes and the other takes.
std::vector<std::string> between(const Graph& graph, const Stage& from, const Stage& to) {
  std::vector<std::string> out;
  if (cut(graph, from, to)) return out;
  for (const std::size_t f : from)
    for (const Use& made : graph.operators[f].outputs)
      for (const std::size_t t : to)
        for (const Use& taken : graph.operators[t].inputs)
          if (made.variable == taken.variable && std::find(out.begin(), out.end(), made.variable) == out.end())
            out.push_back(made.variable);
  return out;
}

// Stages in depth-first preorder from the first; successors in launch order.
std::vector<Stage> chain(const Graph& graph, bool backward) {
  const std::vector<Stage> all = stages_of(graph, backward);
  std::vector<char> seen(all.size());
  std::vector<Stage> out;
  std::vector<std::size_t> stack{0};
  while (!stack.empty()) {
    const std::size_t at = stack.back();
    stack.pop_back();
    if (seen[at]) continue;
    seen[at] = 1;
    out.push_back(all[at]);
    for (std::size_t next = all.size(); next-- > 0;)
      if (!seen[next] && next != at && !between(graph, all[at], all[next]).empty()) stack.push_back(next);
  }
  return out;
}

class Binder {
 public:
  Binder(const Problem& problem, const FactorGraph& consistent, const base::Budget& budget)
      : problem_(problem),
        graph_(*problem.graph),
        rest_(consistent),
        budget_(budget),
        bound_(consistent.domains.size(), -1) {}

  // The best path through the chains, each for itself but for split classes; its tensors, in the order of the chain.
  struct Step {
    std::string variable;
    int value;
  };
  std::vector<Step> path(const std::vector<std::vector<Stage>>& chains, const std::vector<int>& split) {
    FactorGraph relaxed;
    std::map<std::string, int> ids;
    std::vector<std::pair<std::string, int>> steps;
    const auto id = [&](const std::string& key, int class_id) {
      const auto [at, added] = ids.emplace(key, static_cast<int>(relaxed.domains.size()));
      if (added) relaxed.domains.push_back(rest_.domains[static_cast<std::size_t>(class_id)]);
      return at->second;
    };
    std::vector<int> split_ids;
    for (const int one : split) split_ids.push_back(id(fmt::format("split {}", one), one));
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t s = 0; s < chains[c].size(); ++s) {
        const Stage& stage = chains[c][s];
        const auto before = s > 0 ? between(graph_, chains[c][s - 1], stage) : ends(stage, true);
        const auto after = s + 1 < chains[c].size() ? between(graph_, stage, chains[c][s + 1]) : ends(stage, false);
        for (const std::size_t f : stage) {
          Factor factor = rest_.factors[f];
          for (int& variable : factor.variables) {
            const std::string tensor = tensor_of(f, variable);
            const int class_id = variable;
            if (std::find(split.begin(), split.end(), class_id) != split.end())
              variable = id(fmt::format("split {}", class_id), class_id);
            else if (std::find(before.begin(), before.end(), tensor) != before.end())
              variable = id(fmt::format("edge {} {} {}", c, s, tensor), class_id);
            else if (std::find(after.begin(), after.end(), tensor) != after.end())
              variable = id(fmt::format("edge {} {} {}", c, s + 1, tensor), class_id);
            else
              variable = id(fmt::format("local {} {} {}", c, s, tensor), class_id);
          }
          relaxed.factors.push_back(std::move(factor));
        }
        for (const auto& tensor : before)
          if (ids.contains(fmt::format("edge {} {} {}", c, s, tensor)))
            steps.emplace_back(tensor, ids[fmt::format("edge {} {} {}", c, s, tensor)]);
        if (s + 1 == chains[c].size())
          for (const auto& tensor : after) {
            const std::string key = fmt::format("edge {} {} {}", c, s + 1, tensor);
            if (ids.contains(key)) steps.emplace_back(tensor, ids[key]);
          }
      }
    const Minimum found = minimize(relaxed, budget_);
    if (!found.proven()) throw Failed{"a limit ended the search for the path", true};
    if (found.infeasible) throw Failed{"no path through the chain of operators"};
    std::vector<Step> out;
    for (std::size_t i = 0; i < split.size(); ++i) bind(split[i], found.values[static_cast<std::size_t>(split_ids[i])]);
    for (const auto& [tensor, variable] : steps)
      out.push_back({tensor, found.values[static_cast<std::size_t>(variable)]});
    return out;
  }

  void bind(int class_id, int value) {
    int& known = bound_[static_cast<std::size_t>(class_id)];
    if (known >= 0 && known != value) {
      const auto& layouts = problem_.layouts[static_cast<std::size_t>(class_id)];
      throw Failed{fmt::format("{} would have to be {}, and is {} already", problem_.name(class_id),
                               layouts[static_cast<std::size_t>(value)], layouts[static_cast<std::size_t>(known)])};
    }
    known = value;
  }
  void bind(const std::vector<Step>& steps, bool skip) {
    for (const Step& step : steps) {
      if (skip && std::find(std::begin(kSkipped), std::end(kSkipped), step.variable) != std::end(kSkipped)) continue;
      bind(problem_.class_named(step.variable), step.value);
      if (step.variable != "KK") continue;  // VV := KK
      const int values = problem_.class_named("VV"), keys = problem_.class_named("KK");
      const int same = problem_.layout_number(
          values, problem_.layouts[static_cast<std::size_t>(keys)][static_cast<std::size_t>(step.value)]);
      if (same < 0) throw Failed{"VV has no measurements in the layout of KK"};
      bind(values, same);
    }
    filter();
  }

  // What is still open.
  std::vector<int> finish() {
    for (;;) {
      filter();
      const auto usable = usable_values(rest_);
      bool single = false;
      for (std::size_t v = 0; v < bound_.size(); ++v) {
        if (bound_[v] >= 0) continue;
        if (usable[v].empty()) throw Failed{fmt::format("{} has no layout left", problem_.name(static_cast<int>(v)))};
        if (usable[v].size() > 1) continue;
        bound_[v] = usable[v][0];
        single = true;
      }
      if (single) continue;
      if (std::all_of(bound_.begin(), bound_.end(), [](int value) { return value >= 0; })) return bound_;
      if (small_components()) continue;
      bind_dearest();
    }
  }

 private:
  std::vector<std::string> ends(const Stage& stage, bool first) const {
    const bool backward = graph_.operators[stage.front()].backward;
    const std::string& tensor = first ? (backward ? graph_.backward_input : graph_.forward_input)
                                      : (backward ? graph_.backward_output : graph_.forward_output);
    return {tensor};
  }
  // How an operator calls a class of its factor.
  std::string tensor_of(std::size_t f, int class_id) const {
    for (const auto* uses : {&graph_.operators[f].inputs, &graph_.operators[f].outputs})
      for (const Use& use : *uses)
        if (problem_.class_named(use.variable) == class_id) return use.variable;
    return {};
  }

  void filter() {
    if (budget_.spent()) throw Failed{"a limit ended it", true};
    for (Factor& factor : rest_.factors) {
      Factor kept{factor.name, factor.variables, {}, {}};
      for (std::size_t r = 0; r < factor.rows(); ++r) {
        bool fits = true;
        for (std::size_t i = 0; i < factor.variables.size() && fits; ++i) {
          const int value = bound_[static_cast<std::size_t>(factor.variables[i])];
          fits = value < 0 || factor.row(r)[i] == value;
        }
        if (!fits) continue;
        kept.values.insert(kept.values.end(), factor.row(r), factor.row(r) + factor.variables.size());
        kept.costs.push_back(factor.costs[r]);
      }
      if (kept.rows() == 0)
        throw Failed{fmt::format("{} was not measured with the layouts that were bound", factor.name)};
      factor = std::move(kept);
    }
    if (make_consistent(rest_, budget_) != Consistency::kConsistent)
      throw Failed{"the layouts that were bound leave none for the rest"};
  }

  bool open(int variable) const { return bound_[static_cast<std::size_t>(variable)] < 0; }

  // Operators that open variables tie, where they are three or fewer: all their choices are tried.
  bool small_components() {
    std::vector<char> seen(rest_.factors.size());
    bool any = false;
    for (std::size_t first = 0; first < rest_.factors.size(); ++first) {
      std::vector<std::size_t> part{first};
      if (seen[first] || std::none_of(rest_.factors[first].variables.begin(), rest_.factors[first].variables.end(),
                                      [&](int v) { return open(v); }))
        continue;
      seen[first] = 1;
      for (std::size_t at = 0; at < part.size(); ++at)
        for (const int v : rest_.factors[part[at]].variables)
          for (std::size_t f = 0; open(v) && f < rest_.factors.size(); ++f) {
            const auto& other = rest_.factors[f].variables;
            if (seen[f] || std::find(other.begin(), other.end(), v) == other.end()) continue;
            seen[f] = 1;
            part.push_back(f);
          }
      if (part.size() > 3) continue;
      FactorGraph small{rest_.domains, {}};
      for (const std::size_t f : part) small.factors.push_back(rest_.factors[f]);
      const Minimum found = minimize(small, budget_);
      if (!found.found) throw Failed{"a limit ended it", true};
      for (const Factor& factor : small.factors)
        for (const int v : factor.variables)
          if (open(v)) bound_[static_cast<std::size_t>(v)] = found.values[static_cast<std::size_t>(v)];
      any = true;
    }
    return any;
  }

  void bind_dearest() {
    const Factor* dearest = nullptr;
    std::size_t row = 0;
    for (const Factor& factor : rest_.factors) {
      if (std::none_of(factor.variables.begin(), factor.variables.end(), [&](int v) { return open(v); })) continue;
      const auto least =
          static_cast<std::size_t>(std::min_element(factor.costs.begin(), factor.costs.end()) - factor.costs.begin());
      if (dearest != nullptr && factor.costs[least] <= dearest->costs[row]) continue;
      dearest = &factor;
      row = least;
    }
    for (std::size_t i = 0; i < dearest->variables.size(); ++i)
      bound_[static_cast<std::size_t>(dearest->variables[i])] = dearest->row(row)[i];
  }

  const Problem& problem_;
  const Graph& graph_;
  FactorGraph rest_;
  const base::Budget& budget_;
  std::vector<int> bound_;
};

}  // namespace

ModeOutcome run_mode(const Problem& problem, const FactorGraph& consistent, Mode mode, const std::vector<int>& split,
                     const base::Budget& budget) {
  const std::vector<Stage> forward = chain(*problem.graph, false), backward = chain(*problem.graph, true);
  try {
    Binder binder(problem, consistent, budget);
    if (mode == Mode::kCombined) {
      const auto steps = binder.path({forward, backward}, split);
      binder.bind(steps, false);
    } else {
      const bool forward_first = mode == Mode::kForwardFirst;
      for (const auto* one : {forward_first ? &forward : &backward, forward_first ? &backward : &forward}) {
        const auto steps = binder.path({*one}, {});
        binder.bind(steps, true);
      }
    }
    ModeOutcome out;
    out.selection = evaluate(problem, binder.finish());
    if (!out.selection) out.reason = "invalid: its layouts break a rule";
    return out;
  } catch (const Failed& failed) {
    return {std::nullopt, failed.reason, failed.ended};
  }
}

}  // namespace orrery::tuning
