#include "orrery/runtime/tuning/selection/possible_layouts.h"

#include <algorithm>

#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/kernel_space.h"

namespace orrery::tuning {
namespace {

using Layouts = std::set<std::string>;

std::string with(std::string layout, char from, char to) {
  std::replace(layout.begin(), layout.end(), from, to);
  return layout;
}

bool keep(Layouts& layouts, const Layouts& allowed) {
  const std::size_t before = layouts.size();
  std::erase_if(layouts, [&](const std::string& one) { return allowed.count(one) == 0; });
  return layouts.size() != before;
}

// The stack has the layout q+L, its parts L, those of keys and values with k for j.
bool tie(const Graph& graph, const Operator& op, std::map<std::string, Layouts>& all) {
  const bool split = op.kind == Kind::kSplit;
  const std::string& stack = (split ? op.inputs : op.outputs).front().variable;
  bool changed = false;
  for (const Use& use : split ? op.outputs : op.inputs) {
    const bool keys = graph.variable(use.variable)->dims.find('k') != std::string::npos;
    Layouts parts, stacks;
    for (const std::string& one : all[stack])
      if (one[0] == 'q') parts.insert(keys ? with(one.substr(1), 'j', 'k') : one.substr(1));
    for (const std::string& one : all[use.variable]) stacks.insert("q" + with(one, 'k', 'j'));
    changed |= keep(all[use.variable], parts);
    changed |= keep(all[stack], stacks);
  }
  return changed;
}

}  // namespace

std::map<std::string, Layouts> possible_layouts(const Graph& graph) {
  std::map<std::string, Layouts> all;
  for (const Variable& variable : graph.variables) {
    const std::vector<std::string> orders = layouts_of(variable.dims);
    all[variable.name] = {orders.begin(), orders.end()};
  }
  for (const Operator& op : graph.operators) {
    if (op.kind != Kind::kContraction) continue;
    Layouts a, b, c;
    for (const ContractionLayout& one : contraction_space(op.einsum, graph.sizes).layouts)
      a.insert(one.a), b.insert(one.b), c.insert(one.c);
    keep(all[op.inputs[0].variable], a);
    keep(all[op.inputs[1].variable], b);
    keep(all[op.outputs[0].variable], c);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [one, other] : graph.equal) {
      changed |= keep(all[one], all[other]);
      changed |= keep(all[other], all[one]);
    }
    for (const Operator& op : graph.operators)
      if (op.kind == Kind::kSplit || op.kind == Kind::kMerge) changed |= tie(graph, op, all);
  }
  return all;
}

}  // namespace orrery::tuning
