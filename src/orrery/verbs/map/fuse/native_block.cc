#include "orrery/verbs/map/fuse/native_block.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/fuse/block_groups.h"

namespace orrery::verbs {
namespace {

using Chain = std::vector<ChainLink>;

constexpr double kSeconds = 5;  // where nobody says how long

std::string tensor_name(const Chain& chain, const GroupPart& part, std::size_t s) {
  const std::string& name = chain[part.place].question.einsum.dataspaces[s].name;
  if (name == "Inputs" && part.takes) return chain[part.place - 1].question.name;
  if (name == "Outputs") return chain[part.place].question.name;
  return chain[part.place].question.name + "." + name;
}

double bits_of(const Chain& chain, const GroupPart& part, std::size_t level, std::size_t s) {
  const LayerQuestion& question = chain[part.place].question;
  const base::Count own = question.einsum.dataspaces[s].bits;
  return own > 0 ? static_cast<double>(own) : question.chip->storages[level].word_bits;
}

TreeNode loop_node(TreeNode::Kind kind, std::string name, base::Count count, base::Count tile) {
  TreeNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.count = count;
  node.tile = tile;
  return node;
}

// The nest of an operator, outside in; of a group in tiles without the loop over them.
std::vector<TreeNode> nest_nodes(const Chain& chain, const GroupPart& part, base::Count tiles) {
  const LayerQuestion& question = chain[part.place].question;
  const int exchange = exchange_level(*question.chip);
  std::vector<TreeNode> line;
  std::vector<base::Count> left;
  for (const workload::Dimension& d : question.einsum.dimensions) left.push_back(d.bound);
  const auto columns = static_cast<std::size_t>(question.einsum.dimension_index("L"));
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
      node.shared =
          static_cast<int>(l) == exchange && ((name == "Inputs" && part.takes) || (name == "Outputs" && part.hands_on));
      line.push_back(std::move(node));
    }
    const auto add = [&](TreeNode::Kind kind, int dimension, base::Count count) {
      const auto d = static_cast<std::size_t>(dimension);
      if (kind == TreeNode::Kind::kLoop && l + 1 == part.mapping.levels.size() && d == columns) {
        count /= tiles;
        left[d] /= tiles;
      }
      if (count <= 1) return;
      left[d] /= count;
      line.push_back(loop_node(kind, question.einsum.dimensions[d].name, count, left[d]));
      if (kind == TreeNode::Kind::kSpread)
        line.back().where = l > 0 ? question.chip->storages[l - 1].name : question.chip->compute.name;
    };
    for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d)
      add(TreeNode::Kind::kLoop, *d, level.temporal[static_cast<std::size_t>(*d)]);
    for (auto d = level.spatial_order.rbegin(); d != level.spatial_order.rend(); ++d)
      add(TreeNode::Kind::kSpread, *d, level.spatial[static_cast<std::size_t>(*d)]);
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
    nodes = nest_nodes(chain, group.parts.front(), 1);
  } else {
    TreeNode parts;
    parts.kind = TreeNode::Kind::kSequence;
    for (const GroupPart& part : group.parts) parts.inside.push_back(nest_nodes(chain, part, group.tiles));
    nodes.push_back(std::move(parts));
    const auto columns = static_cast<std::size_t>(first.einsum.dimension_index("L"));
    TreeNode turns =
        loop_node(TreeNode::Kind::kLoop, "L", group.tiles, first.einsum.dimensions[columns].bound / group.tiles);
    turns.shared = true;
    nodes = inside(std::move(turns), std::move(nodes));
  }
  return inside(loop_node(TreeNode::Kind::kLoop, "instance", first.instances, 1), std::move(nodes));
}

BlockPoint point_of(const Chain& chain, const std::vector<Group>& groups) {
  BlockPoint point{energy_of(groups), cycles_of(groups), {}};
  TreeNode all;
  all.kind = TreeNode::Kind::kSequence;
  for (const Group& group : groups) all.inside.push_back(group_nodes(chain, group));
  point.tree.push_back(std::move(all));
  return point;
}

std::string slowest(const machine::Chip& chip, const nest::Evaluation& cost) {
  std::string name = chip.compute.name;
  base::Count most = cost.compute.cycles;
  for (std::size_t l = 0; l < cost.storages.size(); ++l) {
    if (cost.storages[l].cycles <= most) continue;
    most = cost.storages[l].cycles;
    name = chip.storages[l].name;
  }
  return name;
}

BlockTraffic& row_of(std::vector<BlockTraffic>& rows, const std::string& storage, const std::string& tensor) {
  for (BlockTraffic& row : rows)
    if (row.storage == storage && row.tensor == tensor) return row;
  rows.push_back({storage, tensor});
  return rows.back();
}

void add_traffic(const Chain& chain, const GroupPart& part, BlockAnswer& answer) {
  const LayerQuestion& question = chain[part.place].question;
  const auto instances = static_cast<double>(question.instances);
  for (std::size_t l = part.cost.storages.size(); l-- > 0;) {
    const nest::StorageCost& cost = part.cost.storages[l];
    if (question.chip->storages[l].pass_through) continue;
    answer.leakage_energy += instances * cost.leakage_pj;
    for (std::size_t s = 0; s < cost.dataspaces.size(); ++s) {
      const nest::DataspaceCost& one = cost.dataspaces[s];
      const double bits = instances * static_cast<double>(cost.utilized_instances) * bits_of(chain, part, l, s);
      const std::string& storage = question.chip->storages[l].name;
      for (const std::string& tensor : {std::string(), tensor_name(chain, part, s)}) {
        if (!tensor.empty() && !one.kept) continue;
        BlockTraffic& row = row_of(tensor.empty() ? answer.storages : answer.traffic, storage, tensor);
        row.read_bits += static_cast<double>(one.reads) * bits;
        row.written_bits += (static_cast<double>(one.fills) + static_cast<double>(one.updates)) * bits;
        row.energy += instances * one.energy_pj;
      }
    }
  }
  answer.leakage_energy += instances * part.cost.compute.leakage_pj;
  answer.compute_energy += instances * (part.cost.compute.energy_pj - part.cost.compute.leakage_pj);
}

// The most that an instance of each storage holds.
void add_use(const Chain& chain, const Group& group, const GroupPart& part, BlockAnswer& answer) {
  const LayerQuestion& question = chain[part.place].question;
  for (std::size_t l = part.cost.storages.size() - 1; l-- > 0;) {
    const machine::Storage& storage = question.chip->storages[l];
    if (storage.pass_through) continue;
    double bits = part.beside.empty() ? 0 : static_cast<double>(part.beside[l]) * storage.word_bits;
    for (std::size_t s = 0; s < part.cost.storages[l].dataspaces.size(); ++s)
      if (part.cost.storages[l].dataspaces[s].kept)
        bits += static_cast<double>(part.cost.storages[l].dataspaces[s].tile_words) * bits_of(chain, part, l, s);
    BlockUse use{storage.name, chain[group.parts.front().place].question.name,
                 chain[group.parts.back().place].question.name, bits, std::nullopt};
    if (const auto usable = question.chip->usable_words(static_cast<int>(l)))
      use.capacity_bits = static_cast<double>(*usable) * storage.word_bits;
    const auto same = std::find_if(answer.use.begin(), answer.use.end(),
                                   [&](const BlockUse& other) { return other.storage == use.storage; });
    if (same == answer.use.end())
      answer.use.push_back(std::move(use));
    else if (same->bits < bits)
      *same = std::move(use);
  }
}

void add_exchange(const Chain& chain, const Group& group, const GroupPart& part, BlockAnswer& answer) {
  const ChainLink& link = chain[part.place];
  if (!link.hands_on) return;
  const machine::Chip& chip = *link.question.chip;
  const std::size_t level = part.hands_on ? static_cast<std::size_t>(exchange_level(chip)) : chip.storages.size() - 1;
  const auto s = static_cast<std::size_t>(link.question.einsum.dataspace_index("Outputs"));
  std::vector<base::Count> bounds;
  for (const workload::Dimension& d : link.question.einsum.dimensions) bounds.push_back(d.bound);
  BlockExchange made;
  made.tensor = link.question.name;
  made.storage = chip.storages[level].name;
  made.bits =
      static_cast<double>(link.question.einsum.volume(static_cast<int>(s), bounds)) * bits_of(chain, part, level, s);
  made.tile_bits = made.bits / static_cast<double>(part.hands_on ? group.tiles : 1);
  if (part.hands_on && group.tiles > 1) made.loops = {"L"};
  answer.exchanges.push_back(std::move(made));
}

void add_figures(const Chain& chain, const GroupedChain& found, BlockAnswer& answer) {
  for (const Group& group : found.best)
    for (const GroupPart& part : group.parts) {
      const LayerQuestion& question = chain[part.place].question;
      const auto instances = static_cast<double>(question.instances);
      BlockEinsum row;
      row.name = question.name;
      row.unit = question.chip->compute.name;
      row.bound_by = slowest(*question.chip, part.cost);
      row.energy = instances * part.cost.energy_pj;
      row.latency = instances * static_cast<double>(part.cost.cycles);
      row.unfused_energy = found.unfused[part.place].energy_pj;
      row.unfused_latency = found.unfused[part.place].cycles;
      answer.einsums.push_back(std::move(row));
      add_traffic(chain, part, answer);
      add_use(chain, group, part, answer);
      add_exchange(chain, group, part, answer);
    }
}

// What the answer is called, where it has a name.
void add_notes(const Chain& chain, const std::vector<Group>& groups, BlockAnswer& answer) {
  for (const Group& group : groups) {
    if (group.parts.size() < 3 || chain[group.parts[1].place].question.name.find("softmax") == std::string::npos)
      continue;
    const LayerQuestion& first = chain[group.parts.front().place].question;
    const auto columns = static_cast<std::size_t>(first.einsum.dimension_index("L"));
    answer.notes.push_back(
        group.tiles == 1
            ? fmt::format("scores never leave the chip: those of the {} queries that share keys stay whole",
                          first.einsum.dimensions[columns].bound)
            : fmt::format(
                  "scores never leave the chip: {} queries at a time meet all keys, are normalised and weigh the "
                  "values, as in FlashAttention's loop over queries; softmax is over whole columns, not online",
                  first.einsum.dimensions[columns].bound / group.tiles));
    return;
  }
}

}  // namespace

BlockAnswer map_native_block(const BlockRequest& request) {
  BlockAnswer answer;
  answer.native = true;
  answer.objective = request.search.goal == fused::Goal::kEnergy  ? "energy"
                     : request.search.goal == fused::Goal::kDelay ? "delay"
                                                                  : "edp";
  Estimators estimators(request.native.estimators);
  AskedLayers asked = ask_layers(request.native, {}, estimators);
  answer.title = asked.title;
  answer.warnings = std::move(asked.warnings);
  answer.inputs = std::move(asked.inputs);
  const Chain chain = chain_of(asked.questions);
  MapOptions options;
  static_cast<base::Limits&>(options.limits) = request.search.limits;
  const bool limited = options.limits.seconds > 0;
  if (!limited) options.limits.seconds = kSeconds;
  if (request.interruptible) options.limits.stop = request.interruptible();
  GroupedChain found =
      group_chain(chain, {request.search.goal, request.search.fuse, request.search.fused_loops != 0, limited}, options);
  answer.warnings.append(found.warnings);
  answer.certificate = found.certificate;
  answer.ended_early = found.ended_early;
  if (found.best.empty()) {
    answer.infeasible = fmt::format("`{}` has no mapping", found.unmapped.empty() ? "" : found.unmapped.front());
    return answer;
  }
  answer.best = point_of(chain, found.best);
  if (request.search.fuse) answer.unfused = {energy_of(found.unfused), cycles_of(found.unfused)};
  add_figures(chain, found, answer);
  add_notes(chain, found.best, answer);
  return answer;
}

}  // namespace orrery::verbs
