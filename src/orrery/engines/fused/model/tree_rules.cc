#include "orrery/engines/fused/model/tree_rules.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/engines/fused/model/einsum_view.h"
#include "orrery/engines/fused/model/usage.h"

namespace orrery::fused {
namespace {

using Kind = Fault::Kind;

// One branch alone.
class BranchRules {
 public:
  BranchRules(const Problem& problem, const Branch& branch, int index, std::vector<Fault>& faults)
      : view_(problem, branch.einsum), branch_(branch), index_(index), faults_(faults) {}

  void check() {
    bounds();
    hierarchy();
    holds();
    usage();
    recomputation();
  }

 private:
  template <typename... Parts>
  void say(Kind kind, int tensor, int storage, fmt::format_string<Parts...> text, Parts&&... parts) {
    faults_.push_back(
        {kind, index_, tensor, storage, view_.e.name + ": " + fmt::format(text, std::forward<Parts>(parts)...)});
  }
  const std::string& storage_name(int s) const { return view_.machine.storages[s].name; }

  void bounds() {
    std::map<int, Count> product;
    for (const Step& step : branch_.steps) {
      if (step.kind == Step::Kind::kHold) continue;
      if (!product.contains(step.variable)) product[step.variable] = 1;
      product[step.variable] *= step.count;
    }
    for (const auto& [variable, count] : product)
      if (std::find(view_.e.variables.begin(), view_.e.variables.end(), variable) == view_.e.variables.end())
        say(Kind::kShape, -1, -1, "it has no variable {}", view_.problem.variables[variable].name);
    for (const int v : view_.e.variables) {
      const Count count = product.contains(v) ? product[v] : 1;
      const Count bound = view_.bound(v);
      if (count == bound || (view_.e.copy && bound % count == 0)) continue;
      say(Kind::kShape, -1, -1, "its loops over {} make {} of {}", view_.problem.variables[v].name, count, bound);
    }
  }

  int position(const Step& step) const {
    return step.kind == Step::Kind::kHold ? view_.machine.storages[step.storage].position
                                          : view_.machine.fanouts[step.fanout].position;
  }

  void hierarchy() {
    int last = view_.machine.storages[0].position;
    for (const Step& step : branch_.steps) {
      if (step.kind == Step::Kind::kLoop) continue;
      if (position(step) < last)
        say(Kind::kHierarchy, -1, -1, "{} stands inside of what is further in",
            step.kind == Step::Kind::kHold ? storage_name(step.storage) : view_.machine.fanouts[step.fanout].name);
      last = std::max(last, position(step));
    }
    if (last >= view_.machine.units[view_.e.unit].position)
      say(Kind::kHierarchy, -1, -1, "it uses what stands inside of its unit");
  }

  void holds() {
    std::vector<std::vector<int>> held(view_.machine.storages.size(), std::vector<int>(view_.accesses()));
    std::vector<int> exchanged(view_.accesses());
    for (const Step& step : branch_.steps) {
      if (step.kind != Step::Kind::kHold) continue;
      ++held[step.storage][step.access];
      const int tensor = view_.e.accesses[step.access].tensor;
      if (step.storage == 0) say(Kind::kShape, tensor, 0, "{} holds everything without a step", storage_name(0));
      if (!step.exchange) continue;
      exchanged[step.access] = 1;
      if (view_.tensor(step.access).kind != TensorKind::kIntermediate)
        say(Kind::kShape, tensor, step.storage, "{} is no intermediate", view_.tensor(step.access).name);
      if (!view_.machine.storages[step.storage].exchange)
        say(Kind::kHierarchy, tensor, step.storage, "{} is no exchange level", storage_name(step.storage));
    }
    for (int a = 0; a < view_.accesses(); ++a) {
      held[0][a] = exchanged[a] == 0;
      for (std::size_t s = 0; s < held.size(); ++s) held_or_not(static_cast<int>(s), a, held[s][a]);
    }
  }

  void held_or_not(int s, int a, int times) {
    const int tensor = view_.e.accesses[a].tensor;
    if (times > 1) say(Kind::kShape, tensor, s, "{} holds {} twice", storage_name(s), view_.tensor(a).name);
    if (!view_.has_storage(s) || view_.e.copy) return;
    if (times == 0 && view_.keep(s, a) == Keep::kMust)
      say(Kind::kConstraint, tensor, s, "{} has to hold {}", storage_name(s), view_.tensor(a).name);
    if (times > 0 && view_.keep(s, a) == Keep::kNever)
      say(Kind::kConstraint, tensor, s, "{} may not hold {}", storage_name(s), view_.tensor(a).name);
  }

  void usage() {
    const std::vector<Count> required = required_usage(spread_space(view_));
    for (int f = 0; f < static_cast<int>(view_.machine.fanouts.size()); ++f) {
      Count used = 1;
      for (const Step& step : branch_.steps) {
        if (step.kind != Step::Kind::kSpread || step.fanout != f) continue;
        used *= step.count;
        if (step.count > 1 && !view_.may_spread(f, step.variable))
          say(Kind::kConstraint, -1, -1, "{} may not be spread over {}", view_.problem.variables[step.variable].name,
              view_.machine.fanouts[f].name);
      }
      if (used > view_.machine.fanouts[f].ways)
        say(Kind::kConstraint, -1, -1, "{} of {} instances of {}", used, view_.machine.fanouts[f].ways,
            view_.machine.fanouts[f].name);
      if (used < required[f])
        say(Kind::kConstraint, -1, -1, "{} instances of {} where {} have to be used", used,
            view_.machine.fanouts[f].name, required[f]);
    }
  }

  // A loop above the place of an exchanged tensor steps a rank of it: otherwise it would be made again in each pass.
  void recomputation() {
    std::vector<int> above;
    for (const Step& step : branch_.steps) {
      if (step.kind == Step::Kind::kLoop) above.push_back(step.variable);
      if (step.kind != Step::Kind::kHold || !step.exchange) continue;
      for (const int v : above)
        if (!view_.relevant(step.access, v))
          say(Kind::kRecomputes, view_.e.accesses[step.access].tensor, step.storage,
              "loop {} above {} in {} steps no rank of it", view_.problem.variables[v].name,
              view_.tensor(step.access).name, storage_name(step.storage));
    }
  }

  EinsumView view_;
  const Branch& branch_;
  int index_;
  std::vector<Fault>& faults_;
};

// The loops above an exchange: by rank of the tensor, and the count.
std::vector<std::pair<int, Count>> interface(const Problem& problem, const Branch& branch, int access) {
  std::vector<std::pair<int, Count>> loops;
  const std::vector<int>& ranks = problem.einsums[branch.einsum].accesses[access].variables;
  for (const Step& step : branch.steps) {
    if (step.kind == Step::Kind::kHold && step.access == access && step.exchange) return loops;
    if (step.kind != Step::Kind::kLoop) continue;
    const auto rank = std::find(ranks.begin(), ranks.end(), step.variable) - ranks.begin();
    loops.emplace_back(static_cast<int>(rank), step.count);
  }
  return {};
}

std::vector<Count> loop_counts(const Branch& branch) {
  std::vector<Count> counts;
  for (const Step& step : branch.steps)
    if (step.kind == Step::Kind::kLoop) counts.push_back(step.count);
  return counts;
}

// What branches say of the tensors that they hand on, and of the loops that they share.
class TreeRules {
 public:
  TreeRules(const Problem& problem, const Tree& tree, std::vector<Fault>& faults)
      : problem_(problem), tree_(tree), faults_(faults) {}

  void check() {
    for (int b = 0; b < static_cast<int>(tree_.branches.size()); ++b) agree(b);
    for (int b = 0; b < static_cast<int>(tree_.branches.size()); ++b) share(b);
  }

 private:
  void say(Kind kind, int branch, int tensor, std::string reason) {
    faults_.push_back({kind, branch, tensor, -1, std::move(reason)});
  }

  void agree(int b) {
    const Branch& branch = tree_.branches[b];
    const Einsum& e = problem_.einsums[branch.einsum];
    for (int a = 0; a < static_cast<int>(e.accesses.size()); ++a) {
      const int tensor = e.accesses[a].tensor;
      const Exchange at = exchange_of(problem_, branch, a);
      const auto loops = interface(problem_, branch, a);
      const auto [known, fresh] = seen_.try_emplace(tensor, Seen{at.storage, at.loops, loops});
      const Tensor& t = problem_.tensors[tensor];
      if (!fresh && (known->second.storage != at.storage || known->second.loops != loops))
        say(Kind::kDisagrees, b, tensor, fmt::format("{} exchanges {} otherwise than those before it", e.name, t.name));
      if (fresh) fuse_rules(b, tensor, at, branch, a);
    }
  }

  void fuse_rules(int b, int tensor, const Exchange& at, const Branch& branch, int access) {
    for (const FuseRule& rule : problem_.fuse) {
      if (rule.tensor != tensor) continue;
      const auto loops = interface(problem_, branch, access);
      std::vector<int> ranks;
      std::vector<Count> tile;
      for (const int v : problem_.einsums[branch.einsum].accesses[access].variables)
        tile.push_back(problem_.variables[v].bound);
      for (const auto& [rank, count] : loops) {
        ranks.push_back(rank);
        if (rank < static_cast<int>(tile.size())) tile[rank] /= count;
      }
      bool kept = (rule.at < 0 || rule.at == at.storage) && (!rule.loops_given || rule.loops == ranks);
      for (std::size_t r = 0; r < rule.tile.size(); ++r) kept = kept && (rule.tile[r] == 0 || rule.tile[r] == tile[r]);
      if (!kept)
        say(Kind::kConstraint, b, tensor,
            fmt::format("{} is not exchanged as its fuse constraint says", problem_.tensors[tensor].name));
    }
  }

  // Open loops before a branch: those above the deepest tensor that lives on both sides.
  void share(int b) {
    const Branch& branch = tree_.branches[b];
    int open = 0;
    for (const auto& [tensor, seen] : seen_)
      if (alive_across(tensor, b)) open = std::max(open, seen.depth);
    const std::string& name = problem_.einsums[branch.einsum].name;
    if (branch.shared != open)
      say(Kind::kTree, b, -1, fmt::format("{} shares {} loops where {} are open", name, branch.shared, open));
    if (b == 0 || branch.shared == 0) return;
    const std::vector<Count> mine = loop_counts(branch);
    const std::vector<Count> before = loop_counts(tree_.branches[b - 1]);
    if (fused_loops(problem_, branch) < branch.shared)
      say(Kind::kTree, b, -1, fmt::format("{} has fewer fused loops than are open", name));
    for (int i = 0; i < branch.shared; ++i)
      if (i >= static_cast<int>(mine.size()) || i >= static_cast<int>(before.size()) || mine[i] != before[i])
        say(Kind::kTree, b, -1, fmt::format("loop {} of {} is not that of the einsum before it", i + 1, name));
  }

  bool alive_across(int tensor, int b) const {
    bool before = false;
    bool after = false;
    for (int i = 0; i < static_cast<int>(tree_.branches.size()); ++i)
      for (const Access& access : problem_.einsums[tree_.branches[i].einsum].accesses)
        if (access.tensor == tensor) (i < b ? before : after) = true;
    return before && after;
  }

  struct Seen {
    int storage = 0;
    int depth = 0;
    std::vector<std::pair<int, Count>> loops;
  };

  const Problem& problem_;
  const Tree& tree_;
  std::vector<Fault>& faults_;
  std::map<int, Seen> seen_;
};

}  // namespace

std::vector<Fault> broken_rules(const Problem& problem, const Tree& tree) {
  std::vector<Fault> faults;
  std::vector<int> times(problem.einsums.size());
  for (const Branch& branch : tree.branches) ++times[branch.einsum];
  for (std::size_t e = 0; e < times.size(); ++e)
    if (times[e] != 1)
      faults.push_back(
          {Kind::kShape, -1, -1, -1, fmt::format("{} has {} branches", problem.einsums[e].name, times[e])});
  for (int b = 0; b < static_cast<int>(tree.branches.size()); ++b)
    BranchRules(problem, tree.branches[b], b, faults).check();
  TreeRules(problem, tree, faults).check();
  return faults;
}

bool countable(const std::vector<Fault>& faults) {
  return std::none_of(faults.begin(), faults.end(), [](const Fault& f) { return f.kind == Kind::kShape; });
}

}  // namespace orrery::fused
