// A loop tree of AccelForge's files back from its nodes: each einsum's branch is what stands on the way from the root
// to it, and loops that it has in common with the einsum before it are shared.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/verbs/map/fuse/draw_tree.h"

namespace orrery::verbs {
namespace {

[[noreturn]] void not_of_files(const base::Location& where, const std::string& what) {
  base::fail("O2112", what, where, "a tree goes with the files and the `--define`s that it was found for");
}

template <typename Named>
int index_of(const std::vector<Named>& list, const std::string& name, const char* what, const base::Location& where) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Named& one) { return one.name == name; });
  if (found == list.end()) not_of_files(where, fmt::format("the files have no {} `{}`", what, name));
  return static_cast<int>(found - list.begin());
}

class Branches {
 public:
  explicit Branches(const fused::Problem& problem) : problem_(problem) {}

  fused::Tree read(const std::vector<TreeNode>& nodes) {
    walk(nodes);
    return std::move(tree_);
  }

 private:
  // A list ends in an operator, a loop or a sequence, or it is of no use.
  void walk(const std::vector<TreeNode>& nodes) {
    const std::size_t outside = way_.size();
    for (const TreeNode& node : nodes) {
      if (node.kind == TreeNode::Kind::kCompute) {
        branch(node);
      } else if (node.kind == TreeNode::Kind::kSequence) {
        for (const std::vector<TreeNode>& part : node.inside) walk(part);
      } else {
        way_.push_back(&node);
        first_.emplace(&node, tree_.branches.size());
        if (node.kind != TreeNode::Kind::kHold) walk(node.inside[0]);
      }
    }
    way_.resize(outside);
  }

  void branch(const TreeNode& compute) {
    fused::Branch made;
    made.einsum = index_of(problem_.einsums, compute.name, "einsum", compute.from);
    const fused::Einsum& einsum = problem_.einsums[static_cast<std::size_t>(made.einsum)];
    if (compute.where != problem_.machine.units[static_cast<std::size_t>(einsum.unit)].name)
      not_of_files(compute.from, fmt::format("`{}` does not run on `{}`", compute.name, compute.where));
    const bool follows = !tree_.branches.empty();
    for (const TreeNode* node : way_) {
      if (node->kind == TreeNode::Kind::kHold) {
        hold(*node, einsum, made);
        continue;
      }
      const int variable = index_of(problem_.variables, variable_of(*node), "rank variable", node->from);
      const bool in_space = node->kind == TreeNode::Kind::kSpread;
      if (!in_space && follows && std::find(before_.begin(), before_.end(), node) != before_.end()) ++made.shared;
      made.steps.push_back(
          in_space ? fused::spread(variable, index_of(problem_.machine.fanouts, node->where, "fan-out", node->from),
                                   node->count)
                   : fused::loop(variable, node->count));
    }
    before_ = way_;
    tree_.branches.push_back(std::move(made));
  }

  std::string variable_of(const TreeNode& loop) const {
    if (loop.variables.empty()) return loop.name;
    const std::size_t at = tree_.branches.size() - first_.at(&loop);
    if (at >= loop.variables.size()) not_of_files(loop.from, "a loop has fewer `variables` than einsums that share it");
    return loop.variables[at];
  }

  void hold(const TreeNode& node, const fused::Einsum& einsum, fused::Branch& made) const {
    const int storage = index_of(problem_.machine.storages, node.where, "storage", node.from);
    const int tensor = index_of(problem_.tensors, node.name, "tensor", node.from);
    if (!node.of.empty() && node.of != einsum.name) return;
    bool held = false;
    for (int a = 0; a < static_cast<int>(einsum.accesses.size()); ++a) {
      const fused::Step step = fused::hold(a, storage, node.shared);
      if (einsum.accesses[static_cast<std::size_t>(a)].tensor != tensor ||
          std::find(made.steps.begin(), made.steps.end(), step) != made.steps.end())
        continue;
      made.steps.push_back(step);
      held = true;
      if (!node.shared) return;
    }
    if (!held && !node.shared)
      not_of_files(node.from, fmt::format("`{}` is kept by `{}`, which does not touch it: name the einsum as `of`",
                                          node.name, einsum.name));
  }

  const fused::Problem& problem_;
  fused::Tree tree_;
  std::vector<const TreeNode*> way_, before_;     // holds and loops from the root to an einsum; to the last one
  std::map<const TreeNode*, std::size_t> first_;  // the first branch below
};

}  // namespace

fused::Tree tree_of(const fused::Problem& problem, const std::vector<TreeNode>& nodes) {
  return Branches(problem).read(nodes);
}

}  // namespace orrery::verbs
