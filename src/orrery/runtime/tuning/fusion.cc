#include "orrery/runtime/tuning/fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/text/text.h"

namespace orrery::tuning {
namespace {

using base::Count;
using Names = std::vector<std::string>;

// Kernels that Substation has, by the operators whose steps they hold.
struct KnownKernel {
  const char* name;
  std::set<std::string> operators;
};
const std::vector<KnownKernel>& known_kernels() {
  static const std::vector<KnownKernel> all = {
      {"aib", {"input bias"}},
      {"softmax", {"scaled softmax", "attn dropout"}},
      {"bdrln1", {"output bias", "dropout1", "residual1", "layernorm1"}},
      {"bad", {"bias1", "activation", "dropout2"}},
      {"bdrln2", {"bias2", "dropout3", "residual2", "layernorm2"}},
      {"bsb", {"layernorm2 dW"}},
      {"blnrd1", {"layernorm2 dX", "dropout3 dX"}},
      {"bdrlb", {"dropout2 dX", "activation dX", "bias1 dW"}},
      {"ebsb", {"bias2 dW", "residual1 dX(add)", "layernorm1 dW"}},
      {"blnrd2", {"layernorm1 dX", "dropout1 dX"}},
      {"baob", {"output bias dW"}},
      {"bs", {"attn dropout dX", "scaled softmax dX"}},
      {"baib", {"input bias dW"}},
      {"bei", {"residual0 dX(add)"}},
  };
  return all;
}

bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(Names& names, const std::string& name) {
  if (!holds(names, name)) names.push_back(name);
}

bool meet(const Names& one, const Names& other) {
  return std::any_of(one.begin(), one.end(), [&](const std::string& name) { return holds(other, name); });
}

struct Group {
  std::vector<std::size_t> steps;  // rising
  std::string space, reduced;
  bool backward = false;
  bool fuses = false;  // maps and reductions do; contractions and names of parts do not
  Names reads, writes;
};

class Fusion {
 public:
  explicit Fusion(const LayerOperators& layer) : layer_(layer) {
    for (std::size_t op = 0; op < layer.operators.size(); ++op)
      for (const Step& step : layer.operators[op].steps) {
        for (const std::string& name : step.writes) maker_[name] = steps_.size();
        steps_.push_back(&step);
        operator_of_.push_back(op);
      }
  }

  std::vector<Kernel> kernels() {
    for (std::size_t step = 0; step < steps_.size(); ++step) place(step);
    std::vector<Kernel> out;
    for (const std::size_t group : launch_order()) {
      const LayerOperator& first = operator_of(groups_[group].steps.front());
      if (first.what != Class::kFree) out.push_back(kernel(groups_[group]));
    }
    return out;
  }

 private:
  const LayerOperator& operator_of(std::size_t step) const { return layer_.operators[operator_of_[step]]; }

  void place(std::size_t step) {
    const LayerOperator& op = operator_of(step);
    Group group{{step}, steps_[step]->space, steps_[step]->reduced, op.backward};
    group.fuses = op.what == Class::kNormalisation || op.what == Class::kElementWise;
    group.reads = steps_[step]->reads;
    group.writes = steps_[step]->writes;
    group_of_.push_back(groups_.size());
    groups_.push_back(std::move(group));
    while (join_last()) {
    }
  }

  // Joins the last group with the earliest that it may be one with.
  bool join_last() {
    const std::size_t last = groups_.size() - 1;
    for (std::size_t other = 0; other < last; ++other) {
      if (!alike(groups_[other], groups_[last]) || passes_between(other, last)) continue;
      Group joined = std::move(groups_[other]);
      const Group& added = groups_[last];
      joined.steps.insert(joined.steps.end(), added.steps.begin(), added.steps.end());
      std::sort(joined.steps.begin(), joined.steps.end());
      if (joined.reduced.empty()) joined.reduced = added.reduced;
      for (const std::string& name : added.reads) add_once(joined.reads, name);
      for (const std::string& name : added.writes) add_once(joined.writes, name);
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(other));
      groups_.back() = std::move(joined);
      for (std::size_t g = 0; g < groups_.size(); ++g)
        for (const std::size_t member : groups_[g].steps) group_of_[member] = g;
      return true;
    }
    return false;
  }

  static bool alike(const Group& one, const Group& other) {
    if (!one.fuses || !other.fuses || one.backward != other.backward || one.space != other.space) return false;
    const bool both_reduce = !one.reduced.empty() && !other.reduced.empty();
    if (both_reduce && one.reduced != other.reduced) return false;
    return both_reduce || meet(one.writes, other.reads) || meet(other.writes, one.reads) ||
           meet(one.reads, other.reads);
  }

  // Groups that make what this one reads, of those that are there.
  std::set<std::size_t> before(std::size_t group) const {
    std::set<std::size_t> out;
    for (const std::string& name : groups_[group].reads) {
      const auto made = maker_.find(name);
      if (made != maker_.end() && made->second < group_of_.size() && group_of_[made->second] != group)
        out.insert(group_of_[made->second]);
    }
    return out;
  }

  // Whether a path from one group to the other leads through a third.
  bool passes_between(std::size_t one, std::size_t other) const {
    return reaches_through_others(one, other) || reaches_through_others(other, one);
  }
  bool reaches_through_others(std::size_t from, std::size_t to) const {
    std::set<std::size_t> seen;
    std::vector<std::size_t> open;
    for (const std::size_t group : before(to))
      if (group != from && seen.insert(group).second) open.push_back(group);
    while (!open.empty()) {
      const std::size_t group = open.back();
      open.pop_back();
      if (group == from) return true;
      for (const std::size_t earlier : before(group))
        if (earlier != to && seen.insert(earlier).second) open.push_back(earlier);
    }
    return false;
  }

  // Of the groups whose operands are there, the one whose last step comes first.
  std::vector<std::size_t> launch_order() const {
    std::vector<std::size_t> order;
    std::set<std::size_t> done;
    while (done.size() < groups_.size()) {
      std::size_t next = groups_.size();
      for (std::size_t group = 0; group < groups_.size(); ++group) {
        const std::set<std::size_t> wanted = before(group);
        if (done.count(group) || !std::includes(done.begin(), done.end(), wanted.begin(), wanted.end())) continue;
        if (next == groups_.size() || groups_[group].steps.back() < groups_[next].steps.back()) next = group;
      }
      ORRERY_CHECK(next < groups_.size(), "kernels that wait for each other");
      done.insert(next);
      order.push_back(next);
    }
    return order;
  }

  Kernel kernel(const Group& group) const {
    const LayerOperator& first = operator_of(group.steps.front());
    Kernel out{.what = first.what, .backward = group.backward, .einsum = first.einsum};
    out.space = group.space;
    out.reduced = group.reduced;
    std::set<std::string> known;
    for (const std::size_t step : group.steps) {
      const LayerOperator& op = operator_of(step);
      add_once(out.operators, op.name);
      known.insert(!op.activation ? op.name : op.backward ? "activation dX" : "activation");
      if (op.what == Class::kNormalisation) out.what = op.what;
      const Count flop = base::checked_multiply(steps_[step]->flop, layer_.sizes.words(steps_[step]->space));
      out.flop = base::checked_add(out.flop, flop);
    }
    out.name = base::joined(out.operators, "+");
    for (const KnownKernel& one : known_kernels())
      if (one.operators == known) out.name = one.name;
    for (const std::string& name : group.reads)
      if (!holds(group.writes, name)) out.reads.push_back(name);
    for (const std::string& name : group.writes) {
      const bool read = read_elsewhere(name, group);
      const Role role = layer_.tensor(name).role;
      const bool result = role == Role::kOutput || role == Role::kGradient;
      if (read || result || holds(layer_.kept, name)) out.writes.push_back(name);
      if (!read && !result && holds(layer_.kept, name)) out.unread.push_back(name);
    }
    return out;
  }

  bool read_elsewhere(const std::string& name, const Group& group) const {
    for (const Group& other : groups_)
      if (&other != &group && holds(other.reads, name)) return true;
    return false;
  }

  const LayerOperators& layer_;
  std::vector<const Step*> steps_;
  std::vector<std::size_t> operator_of_, group_of_;
  std::map<std::string, std::size_t> maker_;
  std::vector<Group> groups_;  // the last one is that which is placed
};

}  // namespace

std::vector<Kernel> fused_kernels(const LayerOperators& layer) {
  return Fusion(layer).kernels();
}

}  // namespace orrery::tuning
