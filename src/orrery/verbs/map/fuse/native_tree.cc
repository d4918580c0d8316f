#include "orrery/verbs/map/fuse/native_tree.h"

#include <utility>

namespace orrery::verbs {
namespace {

TreeNode loop_node(TreeNode::Kind kind, std::string name, base::Count count, base::Count tile) {
  TreeNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.count = count;
  node.tile = tile;
  return node;
}

// The nest of an operator, outside in, without the loops over turns.
std::vector<TreeNode> nest_nodes(const Chain& chain, const GroupPart& part, const Turns& turns) {
  const LayerQuestion& question = chain[part.place].question;
  std::vector<TreeNode> line;
  std::vector<base::Count> left;
  for (const workload::Dimension& d : question.einsum.dimensions) left.push_back(d.bound);
  for (std::size_t l = part.mapping.levels.size(); l-- > 0;) {
    const nest::LevelMapping& level = part.mapping.levels[l];
    const machine::Storage& storage = question.chip->storages[l];
    for (std::size_t s = 0; s < question.einsum.dataspaces.size() && !storage.pass_through; ++s) {
      const nest::DataspaceCost& cost = part.cost.storages[l].dataspaces[s];
      const std::string& name = question.einsum.dataspaces[s].name;
      if (!cost.kept) continue;
      TreeNode node;
      node.name = tensor_name(chain, part, s);
      node.where = storage.name;
      node.bits = static_cast<double>(cost.tile_words) * bits_of(chain, part, l, s);
      node.shared = (name == "Inputs" && part.takes == l) || (name == "Outputs" && part.hands_on == l);
      line.push_back(std::move(node));
    }
    const auto add = [&](TreeNode::Kind kind, int dimension, base::Count count) {
      const auto d = static_cast<std::size_t>(dimension);
      if (kind == TreeNode::Kind::kLoop && l + 1 == part.mapping.levels.size()) {
        const base::Count over = turns_over(chain, part, turns, dimension);
        count /= over;
        left[d] /= over;
      }
      if (count <= 1) return;
      left[d] /= count;
      line.push_back(loop_node(kind, question.einsum.dimensions[d].name, count, left[d]));
      line.back().where = kind == TreeNode::Kind::kLoop ? storage.name
                          : l > 0                       ? question.chip->storages[l - 1].name
                                                        : question.chip->compute.name;
    };
    for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d)
      add(TreeNode::Kind::kLoop, *d, level.temporal[static_cast<std::size_t>(*d)]);
    for (std::size_t i = level.spatial_order.size(); i-- > 0;) {
      const int d = level.spatial_order[i];
      const std::size_t before = line.size();
      add(TreeNode::Kind::kSpread, d, level.spatial[static_cast<std::size_t>(d)]);
      if (line.size() > before) line.back().axis = static_cast<int>(i) < level.split ? "x" : "y";
    }
  }
  TreeNode compute;
  compute.kind = TreeNode::Kind::kCompute;
  compute.name = question.name;
  compute.where = question.chip->compute.name;
  std::vector<TreeNode> nodes{std::move(compute)};
  for (; !line.empty(); line.pop_back()) {
    TreeNode outer = std::move(line.back());
    if (outer.kind == TreeNode::Kind::kHold) {
      nodes.insert(nodes.begin(), std::move(outer));
    } else {
      outer.inside = {std::move(nodes)};
      nodes.clear();
      nodes.push_back(std::move(outer));
    }
  }
  return nodes;
}

std::vector<TreeNode> inside(TreeNode loop, std::vector<TreeNode> nodes) {
  if (loop.count == 1) return nodes;
  loop.inside = {std::move(nodes)};
  std::vector<TreeNode> out;
  out.push_back(std::move(loop));
  return out;
}

std::vector<TreeNode> group_nodes(const Chain& chain, const Group& group) {
  const LayerQuestion& first = chain[group.parts.front().place].question;
  std::vector<TreeNode> nodes;
  if (group.parts.size() == 1) {
    nodes = nest_nodes(chain, group.parts.front(), group.turns);
  } else {
    std::vector<TreeNode> stages;
    for (std::size_t s = 0; s < group.stages.size(); ++s) {
      TreeNode parts;
      parts.kind = TreeNode::Kind::kSequence;
      const std::size_t behind = s + 1 < group.stages.size() ? group.stages[s + 1] : group.parts.size();
      for (std::size_t p = group.stages[s]; p < behind; ++p)
        parts.inside.push_back(nest_nodes(chain, group.parts[p], group.turns));
      stages.push_back(std::move(parts));
    }
    if (stages.size() == 1) {
      nodes.push_back(std::move(stages[0]));
    } else {
      TreeNode all;
      all.kind = TreeNode::Kind::kBeside;
      all.count = static_cast<base::Count>(group.threads);
      for (TreeNode& stage : stages)
        all.inside.push_back(stage.inside.size() == 1 ? std::move(stage.inside[0])
                                                      : std::vector<TreeNode>{std::move(stage)});
      nodes.push_back(std::move(all));
    }
    const auto turns_loop = [&](const char* name, base::Count bound, base::Count count) {
      TreeNode loop = loop_node(TreeNode::Kind::kLoop, name, count, bound / count);
      loop.shared = true;
      nodes = inside(std::move(loop), std::move(nodes));
    };
    if (group.turns.keys > 1) turns_loop(kKeys, bound_of(first, "D"), group.turns.keys);
    turns_loop("L", bound_of(first, "L"), group.turns.columns);
  }
  return inside(loop_node(TreeNode::Kind::kLoop, kInstance, first.instances, 1), std::move(nodes));
}

}  // namespace

std::string tensor_name(const Chain& chain, const GroupPart& part, std::size_t s) {
  const ChainLink& link = chain[part.place];
  const std::string& name = link.question.einsum.dataspaces[s].name;
  if (name == "Inputs" && part.takes) return (link.in_place >> s & 1U) != 0 ? link.takes + " before" : link.takes;
  return name == "Outputs" ? link.makes : link.question.name + "." + name;
}

double bits_of(const Chain& chain, const GroupPart& part, std::size_t level, std::size_t s) {
  const LayerQuestion& question = chain[part.place].question;
  const base::Count own = question.einsum.dataspaces[s].bits;
  return own > 0 ? static_cast<double>(own) : question.chip->storages[level].word_bits;
}

std::vector<TreeNode> nodes_of(const Chain& chain, const std::vector<Group>& groups) {
  TreeNode all;
  all.kind = TreeNode::Kind::kSequence;
  for (const Group& group : groups) all.inside.push_back(group_nodes(chain, group));
  std::vector<TreeNode> nodes;
  nodes.push_back(std::move(all));
  return nodes;
}

}  // namespace orrery::verbs
