// A tree of a model's block back into groups. What a tree leaves out (loops of one round, the order of those) has no
// meaning; what it says of tiles follows from its counts.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/inputs/blocks/block_overlap.h"
#include "orrery/inputs/blocks/online_softmax.h"
#include "orrery/verbs/map/fuse/native_tree.h"

namespace orrery::verbs {
namespace {

using base::Count;
using NodeKind = TreeNode::Kind;
using Nodes = std::vector<TreeNode>;

[[noreturn]] void not_this_block(const base::Location& where, const std::string& what) {
  base::fail("O2112", what, where, "a tree goes with the model, the phase, the sizes and the chip it was found for");
}

// Operators of an online softmax that stand beside the chain's.
constexpr std::size_t kAside = 2;

bool is_sequence(const TreeNode& node) {
  return node.kind == NodeKind::kSequence || node.kind == NodeKind::kBeside;
}

// The operators of a group, and the first one of each stage.
std::pair<std::vector<Nodes>, std::vector<std::size_t>> stages_of(const Nodes& nodes) {
  if (nodes.size() != 1 || !is_sequence(nodes.front())) return {{nodes}, {0}};
  if (nodes.front().kind == NodeKind::kSequence) return {nodes.front().inside, {0}};
  std::vector<Nodes> parts;
  std::vector<std::size_t> stages;
  for (const Nodes& stage : nodes.front().inside) {
    stages.push_back(parts.size());
    const bool several = stage.size() == 1 && stage.front().kind == NodeKind::kSequence;
    if (several && stage.front().inside.empty()) not_this_block(stage.front().from, "a sequence of the tree is empty");
    if (several)
      parts.insert(parts.end(), stage.front().inside.begin(), stage.front().inside.end());
    else
      parts.push_back(stage);
  }
  return {std::move(parts), std::move(stages)};
}

// The operator at the end of a nest.
const TreeNode& compute_of(const Nodes& nodes) {
  const Nodes* list = &nodes;
  while (!list->empty() && (list->back().kind == NodeKind::kLoop || list->back().kind == NodeKind::kSpread))
    list = &list->back().inside[0];
  if (list->empty() || list->back().kind != NodeKind::kCompute)
    not_this_block(nodes.empty() ? base::Location{} : nodes.back().from, "a nest of the tree ends in no operator");
  return list->back();
}

// A nest as the mapping of a part.
class Nest {
 public:
  Nest(const Chain& chain, const Turns& turns, GroupPart& part)
      : chain_(chain), part_(part), question_(chain[part.place].question) {
    for (const workload::Dimension& d : question_.einsum.dimensions) left_.push_back(d.bound);
    divide(question_.einsum.dimension_index("L"), columns_of(part, turns), {});
    if (part.keys >= 0) divide(part.keys, turns.keys, {});
    nest::LevelMapping level;
    level.temporal.assign(left_.size(), 1);
    level.spatial.assign(left_.size(), 1);
    part.mapping.levels.assign(question_.chip->storages.size(), level);
    axes_.resize(question_.chip->storages.size());
  }

  void read(const Nodes& nodes) {
    for (const TreeNode& node : nodes) {
      if (node.kind == NodeKind::kCompute) continue;
      if (is_sequence(node)) not_this_block(node.from, "a sequence stands in an operator's nest");
      node.kind == NodeKind::kHold ? hold(node) : loop(node);
      if (node.kind != NodeKind::kHold) read(node.inside[0]);
    }
  }

  // Loops that do not iterate go innermost, those in space to Y.
  void close() {
    for (std::size_t l = 0; l < axes_.size(); ++l) {
      nest::LevelMapping& level = part_.mapping.levels[l];
      const auto fill = [&](std::vector<int>& order) {
        for (int d = 0; d < static_cast<int>(left_.size()); ++d)
          if (std::find(order.begin(), order.end(), d) == order.end()) order.insert(order.begin(), d);
      };
      std::reverse(level.temporal_order.begin(), level.temporal_order.end());
      fill(level.temporal_order);
      std::vector<int> y = axes_[l].second;
      level.spatial_order = axes_[l].first;
      level.split = static_cast<int>(level.spatial_order.size());
      std::reverse(level.spatial_order.begin(), level.spatial_order.end());
      for (int d = 0; d < static_cast<int>(left_.size()); ++d)
        if (level.spatial[static_cast<std::size_t>(d)] == 1) y.push_back(d);
      level.spatial_order.insert(level.spatial_order.end(), y.rbegin(), y.rend());
    }
  }

 private:
  void divide(int dimension, Count count, const base::Location& where) {
    if (dimension < 0) not_this_block(where, fmt::format("`{}` has no such loop", question_.name));
    Count& left = left_[static_cast<std::size_t>(dimension)];
    if (left % count != 0)
      not_this_block(
          where, fmt::format("{} rounds do not divide the {} of {} that are left in `{}`", count, left,
                             question_.einsum.dimensions[static_cast<std::size_t>(dimension)].name, question_.name));
    left /= count;
  }

  std::size_t level_of(const TreeNode& node) const {
    const int level = question_.chip->storage_index(node.where);
    if (node.kind == NodeKind::kSpread && node.where == question_.chip->compute.name) return 0;
    const int outside = node.kind == NodeKind::kSpread ? level + 1 : level;
    if (level < 0 || outside >= static_cast<int>(question_.chip->storages.size()))
      not_this_block(node.from, fmt::format("the chip has no `{}` there", node.where));
    return static_cast<std::size_t>(outside);
  }

  void hold(const TreeNode& node) {
    for (std::size_t s = 0; s < question_.einsum.dataspaces.size(); ++s)
      if (tensor_name(chain_, part_, s) == node.name) {
        part_.mapping.levels[level_of(node)].keep |= 1U << s;
        return;
      }
    not_this_block(node.from, fmt::format("`{}` is no tensor of `{}`", node.name, question_.name));
  }

  void loop(const TreeNode& node) {
    const int dimension = question_.einsum.dimension_index(node.name);
    divide(dimension, node.count, node.from);
    const auto d = static_cast<std::size_t>(dimension);
    const std::size_t l = level_of(node);
    nest::LevelMapping& level = part_.mapping.levels[l];
    const bool in_space = node.kind == NodeKind::kSpread;
    Count& factor = (in_space ? level.spatial : level.temporal)[d];
    if (factor > 1) not_this_block(node.from, fmt::format("two loops over {} stand at one storage", node.name));
    factor = node.count;
    if (node.count == 1) return;
    if (in_space && node.axis.empty()) not_this_block(node.from, "a loop in space lacks its `axis`");
    (in_space ? (node.axis == "x" ? axes_[l].first : axes_[l].second) : level.temporal_order).push_back(dimension);
  }

  const Chain& chain_;
  GroupPart& part_;
  const LayerQuestion& question_;
  std::vector<Count> left_;
  std::vector<std::pair<std::vector<int>, std::vector<int>>> axes_;  // by level: along X, along Y, outside in
};

class Reader {
 public:
  Reader(Chain& chain, const nest::ModelOptions& model) : chain_(chain), model_(model) {}

  Group group(const Nodes& all, std::size_t first) {
    const Nodes* nodes = &all;
    Count instances = 1;
    Turns turns;
    for (const auto& [name, count] :
         {std::pair{kInstance, &instances}, std::pair{"L", &turns.columns}, std::pair{kKeys, &turns.keys}}) {
      const bool ends_in_sequence = ends_in_parts(*nodes);
      if (nodes->size() != 1 || nodes->front().kind != NodeKind::kLoop || nodes->front().name != name ||
          (name != kInstance && !ends_in_sequence))
        continue;
      *count = nodes->front().count;
      nodes = &nodes->front().inside[0];
    }
    const bool several = nodes->size() == 1 && is_sequence(nodes->front());
    const auto [parts, stages] = stages_of(*nodes);
    if (parts.empty() || parts.size() > chain_.length + kAside)
      not_this_block(nodes->front().from, "a group of the tree has as many operators as the block has not");
    Group group = shape(parts, first, turns);
    group.stages = stages;
    if (several && nodes->front().kind == NodeKind::kBeside) {
      group.threads = static_cast<std::size_t>(nodes->front().count);
      if (stages.size() < 2 || group.threads < 2 || group.threads > stages.size())
        not_this_block(nodes->front().from,
                       fmt::format("{} parts cannot run {} at once", stages.size(), group.threads));
    }
    for (std::size_t s = 1; s < stages.size(); ++s)
      if (!may_begin_stage(chain_, group, stages[s]))
        not_this_block(all.front().from, fmt::format("`{}` cannot run beside what it takes",
                                                     chain_[group.parts[stages[s]].place].question.name));
    if (chain_[first].question.instances != instances)
      not_this_block(all.front().from, fmt::format("`{}` runs {} times, not {}", chain_[first].question.name,
                                                   chain_[first].question.instances, instances));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Nest nest(chain_, turns, group.parts[p]);
      nest.read(parts[p]);
      nest.close();
      if (several) repeat(chain_, turns, group.parts[p]);
      demand_legal(group.parts[p], parts[p]);
    }
    if (several && !hands_on_whole(chain_, group))
      not_this_block(all.front().from,
                     fmt::format("what the operators from `{}` on hand on is not whole where they do, or spread "
                                 "otherwise where it is taken",
                                 chain_[first].question.name));
    if (several && !fits(chain_, group))
      not_this_block(all.front().from, fmt::format("the operators from `{}` on have no room beside each other",
                                                   chain_[first].question.name));
    add_up(chain_, group);
    return group;
  }

 private:
  static bool ends_in_parts(const Nodes& nodes) {
    const Nodes* list = &nodes;
    while (list->size() == 1 && list->front().kind == NodeKind::kLoop) list = &list->front().inside[0];
    return list->size() == 1 && is_sequence(list->front());
  }

  // A group without mappings, whose operators are those that the tree names.
  Group shape(const std::vector<Nodes>& parts, std::size_t first, const Turns& turns) {
    const auto divides = [&](const char* dimension, Count count) {
      return bound_of(chain_[first].question, dimension) % count == 0;
    };
    if (!divides("L", turns.columns) || (turns.keys > 1 && !divides("D", turns.keys)))
      not_this_block(parts[0][0].from, "the loops over turns do not divide columns and keys");
    const bool core = first + 2 < chain_.length && is_attention(chain_, first + 1);
    Group group;
    group.turns = turns;
    const bool online = core && parts.size() == 3 + kAside;
    if (online || (core && turns.keys > 1)) {
      group = online_core(chain_, first + 1, turns, online, chain_[first].levels.front());
    } else {
      if (turns.keys > 1 || first + parts.size() > chain_.length ||
          (parts.size() > 1 && !may_group(chain_, first, first + parts.size() - 1)))
        not_this_block(parts[0][0].from, "these operators do not form a group");
      std::vector<std::string> storages;  // of each matrix one; set_places says which
      for (std::size_t i = first; i + 1 < first + parts.size(); ++i) storages.push_back(chain_[i].levels.front());
      group = plain_group(chain_, first, first + parts.size() - 1, turns.columns, storages);
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const TreeNode& compute = compute_of(parts[p]);
      const std::string expected = p < group.parts.size() ? chain_[group.parts[p].place].question.name : "";
      if (compute.name != expected)
        not_this_block(compute.from, fmt::format("`{}` stands where the block has `{}`", compute.name, expected));
      set_places(group.parts[p], parts[p]);
    }
    return group;
  }

  // Where a part takes and hands on, as its tiles say.
  void set_places(GroupPart& part, const Nodes& nodes) const {
    const LayerQuestion& question = chain_[part.place].question;
    for (const auto& [place, name] : {std::pair{&part.takes, "Inputs"}, std::pair{&part.hands_on, "Outputs"}}) {
      if (!*place) continue;
      const auto s = static_cast<std::size_t>(question.einsum.dataspace_index(name));
      const std::string tensor = tensor_name(chain_, part, s);
      const TreeNode* hold = shared_hold(nodes, tensor);
      const int level = hold ? question.chip->storage_index(hold->where) : -1;
      if (level < 0 || level + 1 >= static_cast<int>(question.chip->storages.size()))
        not_this_block(
            hold ? hold->from : compute_of(nodes).from,
            fmt::format("`{}` says of no storage of its chip that `{}` is handed on there", question.name, tensor));
      *place = static_cast<std::size_t>(level);
    }
  }

  // Where operators exchange a tensor.
  static const TreeNode* shared_hold(const Nodes& nodes, const std::string& tensor) {
    for (const TreeNode& node : nodes) {
      if (node.kind == NodeKind::kHold && node.shared && node.name == tensor) return &node;
      if (node.kind != NodeKind::kLoop && node.kind != NodeKind::kSpread) continue;
      if (const TreeNode* inside = shared_hold(node.inside[0], tensor)) return inside;
    }
    return nullptr;
  }

  void demand_legal(GroupPart& part, const Nodes& nodes) {
    if (price(chain_, part, model_)) return;
    const LayerQuestion& question = chain_[part.place].question;
    base::Diagnostics found;
    nest::check_legal(question.einsum, *question.chip, part.mapping, {}, found);
    if (!found.has_errors()) nest::check_allowed(question.einsum, *question.chip, part.mapping, question.space, found);
    found.throw_if_errors();
    not_this_block(nodes.front().from, fmt::format("`{}` may not be mapped so", question.name));
  }

  Chain& chain_;
  const nest::ModelOptions& model_;
};

}  // namespace

std::vector<Group> groups_of(Chain& chain, const std::vector<TreeNode>& nodes, const nest::ModelOptions& model) {
  if (nodes.size() != 1 || nodes.front().kind != NodeKind::kSequence)
    not_this_block(nodes.empty() ? base::Location{} : nodes.front().from,
                   "a model's block is a sequence of groups of operators");
  Reader reader(chain, model);
  std::vector<Group> groups;
  std::size_t next = 0;
  for (const Nodes& part : nodes.front().inside) {
    if (part.empty() || next >= chain.length)
      not_this_block(nodes.front().from, "the tree has more groups than the block has operators");
    groups.push_back(reader.group(part, next));
    for (const GroupPart& one : groups.back().parts)
      if (one.place < chain.length) next = std::max(next, one.place + 1);
  }
  if (next != chain.length)
    not_this_block(nodes.front().from, fmt::format("the tree lacks `{}`", chain[next].question.name));
  return groups;
}

}  // namespace orrery::verbs
