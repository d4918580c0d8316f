#include "orrery/verbs/map/fuse/draw_tree.h"

#include <algorithm>
#include <utility>

namespace orrery::verbs {
namespace {

// What of a variable is left below the first `steps` steps.
base::Count left_of(const fused::Problem& problem, const fused::Branch& branch, std::size_t steps, int variable) {
  base::Count left = problem.variables[static_cast<std::size_t>(variable)].bound;
  for (std::size_t i = 0; i < steps; ++i) {
    const fused::Step& step = branch.steps[i];
    if (step.kind != fused::Step::Kind::kHold && step.variable == variable && step.count > 0)
      left = (left + step.count - 1) / step.count;
  }
  return left;
}

class Drawing {
 public:
  Drawing(const fused::Problem& problem, const fused::Tree& tree) : problem_(problem), tree_(tree) {
    at_.assign(tree.branches.size(), 0);
  }

  std::vector<TreeNode> draw() { return body(0, tree_.branches.size(), 0); }

 private:
  const fused::Einsum& einsum_of(std::size_t b) const {
    return problem_.einsums[static_cast<std::size_t>(tree_.branches[b].einsum)];
  }

  // Branches `from` to `to`, which have `depth` loops in common.
  std::vector<TreeNode> body(std::size_t from, std::size_t to, int depth) {
    std::vector<TreeNode> made;
    if (to - from == 1) {
      alone(from, made);
      return made;
    }
    TreeNode sequence;
    sequence.kind = TreeNode::Kind::kSequence;
    std::vector<std::pair<int, int>> handed_on;
    for (std::size_t b = from; b < to; ++b) holds(b, made, handed_on);
    for (std::size_t b = from; b < to;) {
      std::size_t end = b + 1;
      while (end < to && tree_.branches[end].shared > depth) ++end;
      std::vector<TreeNode> part;
      if (end - b == 1)
        alone(b, part);
      else
        part.push_back(common(b, end, depth));
      sequence.inside.push_back(std::move(part));
      b = end;
    }
    if (sequence.inside.size() == 1)
      std::move(sequence.inside[0].begin(), sequence.inside[0].end(), std::back_inserter(made));
    else
      made.push_back(std::move(sequence));
    return made;
  }

  // The holds before a branch's next loop; a tensor that is handed on is held once.
  void holds(std::size_t b, std::vector<TreeNode>& made, std::vector<std::pair<int, int>>& handed_on) {
    const fused::Branch& branch = tree_.branches[b];
    for (; at_[b] < branch.steps.size() && branch.steps[at_[b]].kind == fused::Step::Kind::kHold; ++at_[b]) {
      const fused::Step& step = branch.steps[at_[b]];
      const std::pair key{einsum_of(b).accesses[static_cast<std::size_t>(step.access)].tensor, step.storage};
      if (step.exchange) {
        if (std::find(handed_on.begin(), handed_on.end(), key) != handed_on.end()) continue;
        handed_on.push_back(key);
      }
      made.push_back(hold(b, at_[b]));
      if (!step.exchange) made.back().of = einsum_of(b).name;
    }
  }

  TreeNode hold(std::size_t b, std::size_t i) const {
    const fused::Branch& branch = tree_.branches[b];
    const fused::Step& step = branch.steps[i];
    const fused::Einsum& einsum = einsum_of(b);
    const auto storage = static_cast<std::size_t>(step.storage);
    const auto access = static_cast<std::size_t>(step.access);
    const auto& tensor = problem_.tensors[static_cast<std::size_t>(einsum.accesses[access].tensor)];
    TreeNode node;
    node.name = tensor.name;
    node.where = problem_.machine.storages[storage].name;
    node.shared = step.exchange;
    const double word = einsum.bits.empty() ? tensor.bits : einsum.bits[storage][access];
    node.bits = word * static_cast<double>(tile_below(problem_, branch, i, step.access));
    return node;
  }

  TreeNode loop(std::size_t b, std::size_t i) const {
    const fused::Step& step = tree_.branches[b].steps[i];
    TreeNode node;
    node.kind = step.kind == fused::Step::Kind::kSpread ? TreeNode::Kind::kSpread : TreeNode::Kind::kLoop;
    node.name = problem_.variables[static_cast<std::size_t>(step.variable)].name;
    if (step.kind == fused::Step::Kind::kSpread)
      node.where = problem_.machine.fanouts[static_cast<std::size_t>(step.fanout)].name;
    node.count = step.count;
    node.tile = left_of(problem_, tree_.branches[b], i + 1, step.variable);
    return node;
  }

  // The loop that branches `from` to `to` share.
  TreeNode common(std::size_t from, std::size_t to, int depth) {
    TreeNode node = loop(from, at_[from]);
    node.shared = true;
    for (std::size_t b = from; b < to && at_[b] < tree_.branches[b].steps.size(); ++b)
      node.variables.push_back(loop(b, at_[b]).name);
    if (std::count(node.variables.begin(), node.variables.end(), node.name) == static_cast<std::ptrdiff_t>(to - from))
      node.variables.clear();
    for (std::size_t b = from; b < to; ++b)
      if (at_[b] < tree_.branches[b].steps.size()) ++at_[b];
    node.inside.push_back(body(from, to, depth + 1));
    return node;
  }

  // What is left of a branch.
  void alone(std::size_t b, std::vector<TreeNode>& made) {
    const fused::Branch& branch = tree_.branches[b];
    std::vector<TreeNode>* list = &made;
    for (; at_[b] < branch.steps.size(); ++at_[b]) {
      const bool holds = branch.steps[at_[b]].kind == fused::Step::Kind::kHold;
      list->push_back(holds ? hold(b, at_[b]) : loop(b, at_[b]));
      if (holds) continue;
      TreeNode& opened = list->back();
      opened.inside.emplace_back();
      list = &opened.inside[0];
    }
    TreeNode compute;
    compute.kind = TreeNode::Kind::kCompute;
    compute.name = einsum_of(b).name;
    compute.where = problem_.machine.units[static_cast<std::size_t>(einsum_of(b).unit)].name;
    list->push_back(std::move(compute));
  }

  const fused::Problem& problem_;
  const fused::Tree& tree_;
  std::vector<std::size_t> at_;  // by branch: the next step
};

}  // namespace

base::Count tile_below(const fused::Problem& problem, const fused::Branch& branch, std::size_t steps, int access) {
  base::Count words = 1;
  const auto& accesses = problem.einsums[static_cast<std::size_t>(branch.einsum)].accesses;
  for (const int variable : accesses[static_cast<std::size_t>(access)].variables)
    words *= left_of(problem, branch, steps, variable);
  return words;
}

std::vector<TreeNode> nodes_of(const fused::Problem& problem, const fused::Tree& tree) {
  if (tree.branches.empty()) return {};
  return Drawing(problem, tree).draw();
}

}  // namespace orrery::verbs
