#include "orrery/verbs/map/fuse/block_overlap.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace orrery::verbs {
namespace {

// What a part takes of a round: cycles alone, and of each resource.
struct Demand {
  double alone = 0;
  std::map<std::string, double> of;  // by name of the resource
};

std::vector<Demand> demands_of(const Chain& chain, const Group& group) {
  const auto turns = static_cast<double>(group.turns.all());
  std::vector<Demand> out;
  for (const GroupPart& part : group.parts) {
    const machine::Chip& chip = *chain[part.place].question.chip;
    Demand one;
    one.alone = static_cast<double>(part.cost.cycles) / turns;
    one.of[chip.name + "." + chip.compute.name] = static_cast<double>(part.cost.compute.cycles) / turns;
    for (std::size_t l = 0; l < chip.storages.size(); ++l)
      if (!chip.storages[l].pass_through)
        one.of[chip.storages[l].name] = static_cast<double>(part.cost.storages[l].cycles) / turns;
    out.push_back(std::move(one));
  }
  return out;
}

// A stage that is at work: the part that runs, how much of it is left, and the cycles that all that is left takes alone.
struct AtWork {
  std::size_t part = 0, behind = 0;
  double left = 1, alone = 0;
};

double step(const std::vector<Demand>& demands, std::vector<AtWork> stages) {
  double cycles = 0;
  while (!stages.empty()) {
    double most = 0;
    std::map<std::string, double> load;
    for (const AtWork& stage : stages) {
      most = std::max(most, stage.alone);
      for (const auto& [resource, busy] : demands[stage.part].of)
        load[resource] += stage.alone * busy / demands[stage.part].alone;
    }
    for (const auto& [resource, busy] : load) most = std::max(most, busy);
    double until = std::numeric_limits<double>::infinity();  // the first part ends
    for (const AtWork& stage : stages)
      until = std::min(until, stage.left * demands[stage.part].alone * most / stage.alone);
    cycles += until;
    for (AtWork& stage : stages) {
      const double done = until * stage.alone / most;
      stage.left -= done / demands[stage.part].alone;
      stage.alone -= done;
      if (stage.left > 1e-12) continue;
      stage.left = 1;
      ++stage.part;
    }
    std::erase_if(stages, [](const AtWork& stage) { return stage.part == stage.behind; });
  }
  return cycles;
}

}  // namespace

double staged_cycles(const Chain& chain, const Group& group) {
  const std::vector<Demand> demands = demands_of(chain, group);
  std::vector<AtWork> stages;
  for (std::size_t s = 0; s < group.stages.size(); ++s) {
    AtWork stage{group.stages[s], s + 1 < group.stages.size() ? group.stages[s + 1] : group.parts.size()};
    for (std::size_t p = stage.part; p < stage.behind; ++p) stage.alone += demands[p].alone;
    stages.push_back(stage);
  }
  const base::Count depth = static_cast<base::Count>(stages.size());
  const base::Count rounds = chain[group.parts.front().place].question.instances * group.turns.all();
  double cycles = 0;
  for (base::Count k = 0; k < rounds + depth - 1; ++k) {
    const base::Count first = std::max<base::Count>(0, k - rounds + 1), behind = std::min(depth, k + 1);
    const double one = step(demands, {stages.begin() + first, stages.begin() + behind});
    const base::Count alike = behind - first == depth ? rounds - depth + 1 : 1;
    cycles += static_cast<double>(alike) * one;
    k += alike - 1;
  }
  return cycles;
}

bool may_begin_stage(const Chain& chain, const Group& group, std::size_t part) {
  if (part == 0 || part >= group.parts.size() || !group.parts[part - 1].hands_on || !group.parts[part].takes)
    return false;
  const bool in_place = std::any_of(group.parts.begin(), group.parts.end(), [&](const GroupPart& one) {
    return chain[one.place].in_place != 0;
  });
  return part == 1 || !in_place;
}

void choose_stages(const Chain& chain, Group& group) {
  Group best = group;
  const std::size_t cuts = group.parts.size() - 1;
  for (std::size_t bits = 1; bits < std::size_t{1} << cuts; ++bits) {
    Group other = group;
    other.stages = {0};
    bool may = true;
    for (std::size_t p = 1; p <= cuts; ++p) {
      if ((bits >> (p - 1) & 1U) == 0) continue;
      may = may && may_begin_stage(chain, group, p);
      other.stages.push_back(p);
    }
    if (!may || !fits(chain, other)) continue;
    add_up(chain, other);
    const double less = best.cycles * (1 - 1e-9);
    const bool equal = other.cycles <= best.cycles * (1 + 1e-9) && other.stages.size() < best.stages.size();
    if (other.cycles < less || equal) best = std::move(other);
  }
  group = std::move(best);
}

}  // namespace orrery::verbs
