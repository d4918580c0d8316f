#include "orrery/inputs/blocks/block_cost.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/inputs/blocks/block_overlap.h"

namespace orrery::verbs {
namespace {

using base::Count;

// The parts of the stage of a part.
std::pair<std::size_t, std::size_t> stage_of(const Group& group, std::size_t part) {
  const auto behind = std::upper_bound(group.stages.begin(), group.stages.end(), part);
  return {*(behind - 1), behind == group.stages.end() ? group.parts.size() : *behind};
}

const std::string& name_of(const Chain& chain, const GroupPart& part, std::size_t level) {
  return chain[part.place].question.chip->storages[level].name;
}

// Words in a storage that earlier parts made and later ones take while part `now` works, which does neither.
Count handed_past(const Chain& chain, const Group& group, std::size_t now, const std::string& storage) {
  Count words = 0;
  const auto [begin, behind] = stage_of(group, now);
  for (std::size_t p = begin; p < now; ++p) {
    const GroupPart& maker = group.parts[p];
    const ChainLink& link = chain[maker.place];
    if (!maker.hands_on || name_of(chain, maker, *maker.hands_on) != storage || link.in_place != 0 ||
        link.makes == chain[group.parts[now].place].takes)
      continue;
    for (std::size_t taker = now + 1; taker < behind; ++taker) {
      if (!group.parts[taker].takes || chain[group.parts[taker].place].takes != link.makes) continue;
      const auto made = static_cast<std::size_t>(link.question.einsum.dataspace_index("Outputs"));
      words += maker.cost.storages[*maker.hands_on].dataspaces[made].tile_words;
      break;
    }
  }
  return words;
}

// How columns are spread over the fan-outs outside a storage, outside in: how many instances, and along X or not.
std::vector<std::pair<Count, bool>> columns_spread(const Chain& chain, const GroupPart& part, std::size_t level) {
  const int columns = chain[part.place].question.einsum.dimension_index("L");
  std::vector<std::pair<Count, bool>> out;
  for (std::size_t l = part.mapping.levels.size(); l-- > level + 1;) {
    const nest::LevelMapping& one = part.mapping.levels[l];
    const Count factor = one.spatial[static_cast<std::size_t>(columns)];
    const auto at = std::find(one.spatial_order.begin(), one.spatial_order.end(), columns) - one.spatial_order.begin();
    if (factor > 1) out.emplace_back(factor, at < one.split);
  }
  return out;
}

// What does not go outside the storage in which it is handed on, or stays.
std::vector<std::pair<std::size_t, const char*>> stays_inside(const Chain& chain, const GroupPart& part) {
  std::vector<std::pair<std::size_t, const char*>> out;
  if (part.takes) out.emplace_back(*part.takes, "Inputs");
  if (part.hands_on && !part.leaves) out.emplace_back(*part.hands_on, "Outputs");
  if (chain[part.place].weights_stay) out.emplace_back(*chain[part.place].stay_in, "Weights");
  return out;
}

}  // namespace

Count columns_of(const GroupPart& part, const Turns& turns) {
  return part.streams ? turns.all() : turns.columns;
}

Count turns_over(const Chain& chain, const GroupPart& part, const Turns& turns, int dimension) {
  if (dimension == part.keys) return turns.keys;
  const int columns = chain[part.place].question.einsum.dimension_index("L");
  return dimension == columns ? columns_of(part, turns) : 1;
}

Group plain_group(const Chain& chain, std::size_t first, std::size_t last, Count columns,
                  const std::vector<std::string>& storages) {
  Group group;
  group.turns.columns = columns;
  for (std::size_t i = first; i <= last; ++i) {
    const machine::Chip& chip = *chain[i].question.chip;
    GroupPart part;
    part.place = i;
    if (i > first) part.takes = static_cast<std::size_t>(chip.storage_index(storages[i - first - 1]));
    if (i < last) part.hands_on = static_cast<std::size_t>(chip.storage_index(storages[i - first]));
    part.leaves = i == last || chain[i].also_out;
    group.parts.push_back(std::move(part));
  }
  return group;
}

std::size_t innermost_exchange(const GroupPart& part) {
  return std::min(part.takes.value_or(part.hands_on.value_or(0)), part.hands_on.value_or(part.takes.value_or(0)));
}

void keep_inside(const Chain& chain, GroupPart& part) {
  for (const auto& [inside, name] : stays_inside(chain, part)) {
    const int s = chain[part.place].question.einsum.dataspace_index(name);
    for (std::size_t l = inside + 1; l < part.mapping.levels.size(); ++l) part.mapping.levels[l].keep &= ~(1U << s);
  }
}

void repeat(const Chain& chain, const Turns& turns, GroupPart& part) {
  const LayerQuestion& question = chain[part.place].question;
  nest::LevelMapping& outermost = part.mapping.levels.back();
  const auto go_over = [&](int dimension, Count count) {
    outermost.temporal[static_cast<std::size_t>(dimension)] *= count;
    std::erase(outermost.temporal_order, dimension);
    outermost.temporal_order.push_back(dimension);
  };
  if (part.keys >= 0) go_over(part.keys, turns.keys);
  go_over(question.einsum.dimension_index("L"), columns_of(part, turns));
  keep_inside(chain, part);
  // Columns go to X where that has room, in every operator of the group.
  const int columns = question.einsum.dimension_index("L");
  for (std::size_t l = innermost_exchange(part) + 1; l < part.mapping.levels.size(); ++l) {
    nest::LevelMapping& level = part.mapping.levels[l];
    const Count factor = level.spatial[static_cast<std::size_t>(columns)];
    if (factor == 1) continue;
    std::erase(level.spatial_order, columns);
    level.spatial_order.insert(level.spatial_order.begin(), columns);
    level.split = factor <= question.chip->fanout_x(static_cast<int>(l)) ? 1 : 0;
  }
}

bool price(const Chain& chain, GroupPart& part, const nest::ModelOptions& model) {
  const LayerQuestion& question = chain[part.place].question;
  nest::Mapspace space = question.space;
  for (const auto& [inside, name] : stays_inside(chain, part)) {
    const int s = question.einsum.dataspace_index(name), exchange = static_cast<int>(inside);
    std::erase_if(space.constraints, [&](const nest::Constraint& one) {
      return one.kind == nest::Constraint::Kind::kKeep && one.level > exchange && one.dataspace == s;
    });
  }
  if (!nest::is_legal(question.einsum, *question.chip, part.mapping) ||
      !nest::is_allowed(question.einsum, *question.chip, part.mapping, space))
    return false;
  part.cost = nest::evaluate(question.einsum, *question.chip, part.mapping, model, question.space.reuse);
  return true;
}

std::pair<Count, Count> kept(const Chain& chain, const GroupPart& part, const Turns& turns, std::size_t level) {
  const ChainLink& link = chain[part.place];
  const workload::Einsum& einsum = link.question.einsum;
  const bool exchanges = part.hands_on == level;  // what is in place is so where it is taken, too
  Count lasting = 0, passing = 0;
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
    const nest::DataspaceCost& one = part.cost.storages[level].dataspaces[s];
    const bool stays = link.weights_stay && link.stay_in == level && einsum.dataspaces[s].name == "Weights";
    if (!one.kept || stays || (exchanges && (link.in_place >> s & 1U) != 0)) continue;
    const bool by_columns = einsum.relevant(static_cast<int>(s), einsum.dimension_index("L"));
    const bool by_keys = part.keys >= 0 && einsum.relevant(static_cast<int>(s), part.keys);
    Count round = one.partition_words;
    if (by_columns) round /= columns_of(part, turns);
    const bool touched = turns.keys > 1 ? by_keys || (by_columns && part.streams) : by_columns;
    const bool lasts =
        (exchanges && (link.lasts >> s & 1U) != 0) || (turns.all() > 1 && !touched && one.tile_words == round);
    (lasts ? lasting : passing) += one.tile_words;
  }
  return {lasting, passing};
}

namespace {

// Words in a storage of what a part hands to, or takes from, another stage there.
Count passing_on(const Chain& chain, const Group& group, std::size_t now, std::size_t level) {
  const GroupPart& part = group.parts[now];
  const workload::Einsum& einsum = chain[part.place].question.einsum;
  const auto [begin, behind] = stage_of(group, now);
  Count words = 0;
  for (const auto& [passes, name] :
       {std::pair{now == begin && now > 0 && part.takes == level, "Inputs"},
        std::pair{now + 1 == behind && behind < group.parts.size() && part.hands_on == level, "Outputs"}})
    if (passes)
      words += part.cost.storages[level].dataspaces[static_cast<std::size_t>(einsum.dataspace_index(name))].tile_words;
  return words;
}

// What the rest of a group in several stages needs of a storage while a part works, beside what lasts: of each other
// thread the most, and all that passes between stages but the part's own.
Count beside_stage(const Chain& chain, const Group& group, std::size_t now, const std::string& storage) {
  std::vector<Count> most(group.threads, 0);
  Count between = 0;
  for (std::size_t s = 0; s < group.stages.size(); ++s) {
    const auto [begin, behind] = stage_of(group, group.stages[s]);
    for (std::size_t p = begin; p < behind; ++p) {
      const machine::Chip& chip = *chain[group.parts[p].place].question.chip;
      const int level = chip.storage_index(storage);
      if (level < 0) continue;
      const auto l = static_cast<std::size_t>(level);
      const Count passes = passing_on(chain, group, p, l);
      const Count words =
          kept(chain, group.parts[p], group.turns, l).second + handed_past(chain, group, p, storage) - passes;
      if (p != now) between += passes;
      Count& thread = most[s % group.threads];
      thread = std::max(thread, words);
    }
  }
  const auto own = std::upper_bound(group.stages.begin(), group.stages.end(), now) - group.stages.begin() - 1;
  most[static_cast<std::size_t>(own) % group.threads] = 0;
  return std::accumulate(most.begin(), most.end(), between);
}

}  // namespace

bool hands_on_whole(const Chain& chain, const Group& group) {
  for (const GroupPart& part : group.parts) {
    const ChainLink& link = chain[part.place];
    const workload::Einsum& einsum = link.question.einsum;
    const std::size_t levels = part.mapping.levels.size();
    for (std::size_t l = innermost_exchange(part) + 1; l < levels && (part.takes || part.hands_on); ++l)
      for (int d = 0; d < static_cast<int>(einsum.dimensions.size()); ++d) {
        const auto at = static_cast<std::size_t>(d);
        const Count turns = l + 1 == levels ? turns_over(chain, part, group.turns, d) : 1;
        if (part.mapping.levels[l].temporal[at] != turns ||
            (part.mapping.levels[l].spatial[at] > 1 && d != einsum.dimension_index("L")))
          return false;
      }
    for (const GroupPart& maker : group.parts)
      if (&maker != &part && part.takes && maker.hands_on && chain[maker.place].makes == link.takes &&
          (name_of(chain, maker, *maker.hands_on) != name_of(chain, part, *part.takes) ||
           columns_spread(chain, maker, *maker.hands_on) != columns_spread(chain, part, *part.takes)))
        return false;
  }
  return true;
}

namespace {

// Words of an operator's weights that stay in a storage.
Count own_weights(const ChainLink& link, std::size_t level) {
  if (!link.weights_stay || link.stay_in != level) return 0;
  return words_of(link.question, link.question.einsum.dataspace_index("Weights"));
}

}  // namespace

bool fits(const Chain& chain, Group& group) {
  if (!hands_on_whole(chain, group)) return false;
  for (std::size_t now = 0; now < group.parts.size(); ++now) {
    GroupPart& part = group.parts[now];
    const machine::Chip& chip = *chain[part.place].question.chip;
    part.beside.assign(chip.storages.size(), 0);
    for (std::size_t l = 0; l + 1 < chip.storages.size(); ++l) {
      if (chip.storages[l].pass_through) continue;
      for (const GroupPart& other : group.parts) {
        const int same = chain[other.place].question.chip->storage_index(chip.storages[l].name);
        if (&other != &part && same >= 0)
          part.beside[l] += kept(chain, other, group.turns, static_cast<std::size_t>(same)).first;
      }
      part.beside[l] += handed_past(chain, group, now, chip.storages[l].name);
      if (group.stages.size() > 1) part.beside[l] += beside_stage(chain, group, now, chip.storages[l].name);
      const auto [lasting, passing] = kept(chain, part, group.turns, l);
      const std::optional<Count> usable = chip.usable_words(static_cast<int>(l));
      if (usable && lasting + passing + part.beside[l] + own_weights(chain[part.place], l) > *usable) return false;
    }
  }
  return true;
}

double leakage_of(const GroupPart& part) {
  double sum = part.cost.compute.leakage_pj;
  for (const nest::StorageCost& storage : part.cost.storages) sum += storage.leakage_pj;
  return sum;
}

double energy_in(const Group& group, const GroupPart& part) {
  return group.leakage_share == 1 ? part.cost.energy_pj
                                  : part.cost.energy_pj - (1 - group.leakage_share) * leakage_of(part);
}

void add_up(const Chain& chain, Group& group) {
  group.energy_pj = group.cycles = 0;
  group.leakage_share = 1;
  for (const GroupPart& part : group.parts)
    group.cycles += static_cast<double>(chain[part.place].question.instances) * static_cast<double>(part.cost.cycles);
  if (group.stages.size() > 1) {
    const double sequential = group.cycles;
    group.cycles = std::min(sequential, staged_cycles(chain, group));
    group.leakage_share = group.cycles / sequential;
  }
  for (const GroupPart& part : group.parts)
    group.energy_pj += static_cast<double>(chain[part.place].question.instances) * energy_in(group, part);
}

double energy_of(const std::vector<Group>& groups) {
  double sum = 0;
  for (const Group& group : groups) sum += group.energy_pj;
  return sum;
}

double cycles_of(const std::vector<Group>& groups) {
  double sum = 0;
  for (const Group& group : groups) sum += group.cycles;
  return sum;
}

}  // namespace orrery::verbs
