#include "orrery/inputs/systems/chip_attention.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/inputs/blocks/block_groups.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kSweeps = 2;  // of a softmax: the exponentials' sum, the scaling

// Levels of one name are one: the parts of a group run on the same storages.
void add_levels(const std::vector<machine::LevelCost>& more, std::vector<machine::LevelCost>& sum) {
  for (const machine::LevelCost& level : more) {
    const auto same = std::find_if(sum.begin(), sum.end(), [&](const auto& other) { return other.name == level.name; });
    if (same == sum.end()) {
      sum.push_back(level);
      continue;
    }
    same->bytes += level.bytes;
    same->seconds += level.seconds;
  }
}

// Compute units stay last where a part brought a storage of its own.
void put_compute_last(std::vector<machine::LevelCost>& levels) {
  std::stable_partition(levels.begin(), levels.end(), [](const auto& level) { return level.name != "compute"; });
}

// Of the ways to hand on both the scores and what the softmax makes of them, the one that takes the least cycles.
std::optional<Group> best_joined(const GroupedChain& found, GroupOptions how) {
  std::optional<Group> best;
  for (const std::string& scores : found.chain[0].levels)
    for (const std::string& weights : found.chain[1].levels) {
      how.handed_on = {{0, scores}, {1, weights}};
      const std::vector<Group> way = best_way(found, how);
      if (!way.empty() && (!best || way.front().cycles < best->cycles)) best = way.front();
    }
  return best;
}

}  // namespace

AttentionShape attention_shape(const machine::Operator& attention) {
  const machine::MatrixProduct& p = attention.product;
  return {p.m, p.n, p.k, attention.value_width, attention.keeps_weights};
}

ChipAttention attention_on_chip(const AttentionShape& shape, const AskChip& ask, const AskChip& normalisation,
                                const nest::ModelOptions& model, const base::Limits& limits) {
  LayerQuestion scores = ask(workload::matmul("KTQ", shape.keys, shape.width, shape.queries));
  LayerQuestion softmax = normalisation(workload::normalisation("softmax", shape.queries, shape.keys, kSweeps));
  LayerQuestion values = ask(workload::matmul("VScores", shape.value_width, shape.keys, shape.queries));
  lie_in_memory(scores, {"Weights", "Inputs"}, {"Outputs"});
  lie_in_memory(values, {"Weights", "Outputs"}, {"Inputs"});
  if (shape.keeps_weights)
    lie_in_memory(softmax, {"Outputs"}, {"Inputs"});
  else
    lie_in_memory(softmax, {}, {"Inputs", "Outputs"});
  Chain chain = chain_of({scores, softmax, values});
  chain.links[1].also_out = shape.keeps_weights;
  GroupOptions how;
  how.goal = fused::Goal::kDelay;
  how.thrifty = true;
  how.softmax = shape.keeps_weights ? Softmax::kMultipass : Softmax::kAuto;
  MapOptions options;
  options.model = model;
  static_cast<base::Limits&>(options.limits) = limits;
  options.limits.explain = false;
  const GroupedChain found = group_chain(std::move(chain), how, options);
  ChipAttention out;
  out.searched = !found.ended_early;
  const std::optional<Group> joined = best_joined(found, how);
  if (!joined) return out;
  const Group& group = *joined;
  out.joined = true;
  out.joules = group.energy_pj * 1e-12;
  base::Certificate proof = found.certificate;
  proof.close(group.cycles, proof.lower_bound, 1e-9);
  out.gap = proof.gap;
  out.turns = group.turns;
  out.online = group.online;
  out.storage = scores.chip->storages[*group.parts.front().hands_on].name;
  for (const GroupPart& part : group.parts) {
    const machine::Chip& runs = *found.chain[part.place].question.chip;
    out.seconds += static_cast<double>(part.cost.cycles) * runs.cycle_seconds;
    add_levels(levels_of(runs, part.cost), out.levels);
  }
  put_compute_last(out.levels);
  return out;
}

void lie_in_memory(LayerQuestion& question, const std::vector<std::string>& kept,
                   const std::vector<std::string>& passed) {
  const int outermost = static_cast<int>(question.chip->storages.size()) - 1;
  std::vector<nest::Constraint>& constraints = question.space.constraints;
  for (const auto* names : {&kept, &passed})
    for (const std::string& name : *names) {
      const int s = question.einsum.dataspace_index(name);
      const auto said = [&](const nest::Constraint& one) {
        return one.kind == nest::Constraint::Kind::kKeep && one.level == outermost && one.dataspace == s;
      };
      if (names == &passed)
        std::erase_if(constraints, said);
      else if (std::any_of(constraints.begin(), constraints.end(), said))
        continue;
      nest::Constraint keep;
      keep.kind = nest::Constraint::Kind::kKeep;
      keep.level = outermost;
      keep.dataspace = s;
      keep.keep = names == &kept;
      keep.text =
          fmt::format("{} {} in {}", name, keep.keep ? "lies" : "does not lie", question.chip->storages.back().name);
      constraints.push_back(std::move(keep));
    }
}

std::vector<machine::LevelCost> levels_of(const machine::Chip& chip, const nest::Evaluation& evaluation) {
  std::vector<machine::LevelCost> out;
  for (std::size_t level = chip.storages.size(); level-- > 0;) {
    const machine::Storage& storage = chip.storages[level];
    if (storage.pass_through) continue;
    const nest::StorageCost& cost = evaluation.storages[level];
    double words = 0;
    for (const nest::DataspaceCost& dataspace : cost.dataspaces)
      words += static_cast<double>(dataspace.reads) + static_cast<double>(dataspace.fills) +
               static_cast<double>(dataspace.updates);
    out.push_back({storage.name, words * static_cast<double>(cost.utilized_instances) * storage.word_bits / 8,
                   static_cast<double>(cost.cycles) * chip.cycle_seconds});
  }
  out.push_back({"compute", 0, static_cast<double>(evaluation.compute.cycles) * chip.cycle_seconds});
  return out;
}

}  // namespace orrery::verbs
