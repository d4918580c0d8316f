#include "orrery/verbs/map/fuse/block_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/layers/map_together.h"
#include "orrery/verbs/map/fuse/group_bound.h"

namespace orrery::verbs {
namespace {

using base::Count;
using Kind = nest::Constraint::Kind;

constexpr std::size_t kLongestGroup = 4;
constexpr Count kShare = 4;  // of the exchange level, for an operator that takes turns with others

nest::Metric metric_of(fused::Goal goal) {
  return goal == fused::Goal::kEnergy  ? nest::Metric::kEnergy
         : goal == fused::Goal::kDelay ? nest::Metric::kDelay
                                       : nest::Metric::kEdp;
}

double figure(fused::Goal goal, double energy, double cycles) {
  return goal == fused::Goal::kEnergy ? energy : goal == fused::Goal::kDelay ? cycles : energy * cycles / 1e12;
}

// One tile of an operator in a group.
struct Ask {
  std::size_t place = 0;
  bool takes = false, hands_on = false;
  Count tiles = 1, share = 1;
  auto operator<=>(const Ask&) const = default;
};

class Questions {
 public:
  explicit Questions(const std::vector<ChainLink>& chain, nest::Metric metric) : chain_(chain) {
    for (const nest::Metric one : {metric, nest::Metric::kEnergy})
      for (const ChainLink& link : chain) {
        all_.push_back(link.question);
        all_.back().objective = {one};
      }
    metric_ = metric;
  }
  std::size_t needed() const { return 2 * chain_.size(); }
  const std::vector<LayerQuestion>& all() const { return all_; }

  std::size_t index(const Ask& ask) {
    const auto [at, added] = places_.emplace(ask, all_.size());
    if (added) all_.push_back(tile_of(ask));
    return at->second;
  }

 private:
  LayerQuestion tile_of(const Ask& ask) {
    LayerQuestion question = chain_[ask.place].question;
    question.objective = {metric_};
    const auto columns = static_cast<std::size_t>(question.einsum.dimension_index("L"));
    question.einsum.dimensions[columns].bound /= ask.tiles;
    const int exchange = exchange_level(*question.chip);
    for (int l = exchange + 1; l < static_cast<int>(question.chip->storages.size()); ++l) {
      if (question.chip->storages[static_cast<std::size_t>(l)].pass_through) continue;
      for (int d = 0; d < static_cast<int>(question.einsum.dimensions.size()); ++d) {
        nest::Constraint once;
        once.kind = Kind::kFactor;
        once.level = l;
        once.dimension = d;
        once.text = "map --fuse";
        question.space.constraints.push_back(std::move(once));
      }
    }
    for (const auto& [wanted, name] : {std::pair{ask.takes, "Inputs"}, std::pair{ask.hands_on, "Outputs"}}) {
      if (!wanted) continue;
      nest::Constraint keep;
      keep.kind = Kind::kKeep;
      keep.level = exchange;
      keep.dataspace = question.einsum.dataspace_index(name);
      keep.text = "map --fuse";
      question.space.constraints.push_back(std::move(keep));
    }
    if (ask.share > 1) question.chip = smaller(question.chip, exchange, ask.share);
    return question;
  }

  std::shared_ptr<const machine::Chip> smaller(const std::shared_ptr<const machine::Chip>& chip, int level,
                                               Count share) {
    std::shared_ptr<const machine::Chip>& made = chips_[{chip.get(), share}];
    if (!made) {
      machine::Chip less = *chip;
      std::optional<Count>& words = less.storages[static_cast<std::size_t>(level)].capacity_words;
      if (words) words = std::max<Count>(1, *words / share);
      made = std::make_shared<const machine::Chip>(std::move(less));
    }
    return made;
  }

  const std::vector<ChainLink>& chain_;
  nest::Metric metric_ = nest::Metric::kEdp;
  std::vector<LayerQuestion> all_;
  std::map<Ask, std::size_t> places_;
  std::map<std::pair<const machine::Chip*, Count>, std::shared_ptr<const machine::Chip>> chips_;
};

// The mapping of a tile as one of all tiles, and what it costs.
std::optional<GroupPart> whole_of(const ChainLink& link, const Ask& ask, const MappedLayer& tile,
                                  const nest::ModelOptions& model) {
  if (!tile.found()) return std::nullopt;
  const LayerQuestion& question = link.question;
  GroupPart part{ask.place, ask.takes, ask.hands_on, *tile.optimum.mapping, {}, {}};
  const int columns = question.einsum.dimension_index("L");
  nest::LevelMapping& outermost = part.mapping.levels.back();
  outermost.temporal[static_cast<std::size_t>(columns)] *= ask.tiles;
  std::erase(outermost.temporal_order, columns);
  outermost.temporal_order.push_back(columns);
  nest::Mapspace space = question.space;
  const int exchange = exchange_level(*question.chip);
  for (const auto& [wanted, name] :
       {std::pair{ask.takes, "Inputs"}, std::pair{ask.hands_on && !link.also_out, "Outputs"}}) {
    if (!wanted) continue;
    const int s = question.einsum.dataspace_index(name);
    for (std::size_t l = static_cast<std::size_t>(exchange) + 1; l < part.mapping.levels.size(); ++l)
      part.mapping.levels[l].keep &= ~(1U << s);
    std::erase_if(space.constraints, [&](const nest::Constraint& one) {
      return one.kind == Kind::kKeep && one.level > exchange && one.dataspace == s;
    });
  }
  if (!nest::is_legal(question.einsum, *question.chip, part.mapping) ||
      !nest::is_allowed(question.einsum, *question.chip, part.mapping, space))
    return std::nullopt;
  part.cost = nest::evaluate(question.einsum, *question.chip, part.mapping, model, question.space.reuse);
  return part;
}

// What stays in a storage from turn to turn, and what a turn needs besides. A tile that is all that an instance ever
// sees is not brought again.
std::pair<Count, Count> kept(const ChainLink& link, const nest::StorageCost& cost) {
  Count lasting = 0, passing = 0;
  for (std::size_t s = 0; s < cost.dataspaces.size(); ++s) {
    const nest::DataspaceCost& one = cost.dataspaces[s];
    if (!one.kept) continue;
    (link.question.einsum.dataspaces[s].name == "Weights" && one.tile_words == one.partition_words ? lasting
                                                                                                   : passing) +=
        one.tile_words;
  }
  return {lasting, passing};
}

// Whether operators that take turns have room beside each other, everywhere.
bool fits(const std::vector<ChainLink>& chain, std::vector<GroupPart>& parts) {
  for (GroupPart& part : parts) {
    const machine::Chip& chip = *chain[part.place].question.chip;
    part.beside.assign(chip.storages.size(), 0);
    for (std::size_t l = 0; l + 1 < chip.storages.size(); ++l) {
      if (chip.storages[l].pass_through) continue;
      for (const GroupPart& other : parts) {
        const int same = chain[other.place].question.chip->storage_index(chip.storages[l].name);
        if (&other != &part && same >= 0)
          part.beside[l] += kept(chain[other.place], other.cost.storages[static_cast<std::size_t>(same)]).first;
      }
      const auto [lasting, passing] = kept(chain[part.place], part.cost.storages[l]);
      const std::optional<Count> usable = chip.usable_words(static_cast<int>(l));
      if (usable && lasting + passing + part.beside[l] > *usable) return false;
    }
  }
  return true;
}

Group group_of(const std::vector<ChainLink>& chain, Count tiles, std::vector<GroupPart> parts) {
  Group group{tiles, std::move(parts), 0, 0};
  for (const GroupPart& part : group.parts) {
    const auto instances = static_cast<double>(chain[part.place].question.instances);
    group.energy_pj += instances * part.cost.energy_pj;
    group.cycles += instances * static_cast<double>(part.cost.cycles);
  }
  return group;
}

// Numbers of tiles to try: the whole, if the matrices beside each other have room, and the least with which they take
// a half and a sixteenth of the exchange level.
std::vector<Count> tiles_of(const std::vector<ChainLink>& chain, std::size_t first, std::size_t last, bool tiles) {
  double beside = 0, room = 0;
  for (std::size_t i = first; i <= last; ++i) {
    const LayerQuestion& question = chain[i].question;
    std::vector<Count> bounds;
    for (const workload::Dimension& d : question.einsum.dimensions) bounds.push_back(d.bound);
    double words = 0;
    if (i > first)
      words += static_cast<double>(question.einsum.volume(question.einsum.dataspace_index("Inputs"), bounds));
    if (i < last)
      words += static_cast<double>(question.einsum.volume(question.einsum.dataspace_index("Outputs"), bounds));
    beside = std::max(beside, words);
    const auto usable = question.chip->usable_words(exchange_level(*question.chip));
    const double here = usable ? static_cast<double>(*usable) : 2 * beside;
    room = i == first ? here : std::min(room, here);
  }
  std::vector<Count> out;
  if (beside <= room) out.push_back(1);
  if (!tiles) return out;
  const LayerQuestion& any = chain[first].question;
  const Count columns = any.einsum.dimensions[static_cast<std::size_t>(any.einsum.dimension_index("L"))].bound;
  for (const double part : {2.0, 16.0})
    for (const Count c : base::divisors(columns))
      if (c > 1 && beside / static_cast<double>(c) <= room / part) {
        if (out.empty() || out.back() != c) out.push_back(c);
        break;
      }
  return out;
}

struct Planned {
  std::size_t first = 0, last = 0;
  Count tiles = 1;
  std::vector<std::pair<Ask, std::size_t>> parts;  // and the question
};

std::vector<Planned> planned(const std::vector<ChainLink>& chain, bool tiles, Questions& questions) {
  std::vector<Planned> out;
  for (std::size_t first = 0; first < chain.size(); ++first)
    for (std::size_t last = first + 1; last < chain.size() && last < first + kLongestGroup; ++last) {
      if (!may_group(chain, first, last)) break;
      for (const Count c : tiles_of(chain, first, last, tiles))
        for (const Count share : c == 1 ? std::vector<Count>{1} : std::vector<Count>{1, kShare}) {
          Planned one{first, last, c, {}};
          for (std::size_t i = first; i <= last; ++i) {
            const Ask ask{i, i > first, i < last, c, share};
            one.parts.emplace_back(ask, questions.index(ask));
          }
          out.push_back(std::move(one));
        }
    }
  return out;
}

// The groups that can be had, from first place to behind the last.
struct Choice {
  std::size_t first = 0, behind = 0;
  Group group;
};

// The best way through the chain.
std::vector<Group> best_way(const std::vector<Choice>& choices, std::size_t places, fused::Goal goal) {
  struct Label {
    double energy = 0, cycles = 0;
    std::size_t before = 0;  // in the labels of where the last choice begins
    const Choice* last = nullptr;
  };
  std::vector<std::vector<Label>> labels(places + 1);
  labels[0].push_back({});
  for (std::size_t at = 1; at <= places; ++at) {
    for (const Choice& choice : choices) {
      if (choice.behind != at) continue;
      for (std::size_t b = 0; b < labels[choice.first].size(); ++b) {
        const Label& before = labels[choice.first][b];
        const Label next{before.energy + choice.group.energy_pj, before.cycles + choice.group.cycles, b, &choice};
        const auto beats = [](const Label& x, const Label& y) { return x.energy <= y.energy && x.cycles <= y.cycles; };
        std::vector<Label>& here = labels[at];
        if (std::any_of(here.begin(), here.end(), [&](const Label& x) { return beats(x, next); })) continue;
        std::erase_if(here, [&](const Label& x) { return beats(next, x); });
        here.push_back(next);
      }
    }
  }
  std::vector<Group> out;
  const Label* label = nullptr;
  for (const Label& one : labels[places])
    if (!label || figure(goal, one.energy, one.cycles) < figure(goal, label->energy, label->cycles)) label = &one;
  for (; label && label->last; label = &labels[label->last->first][label->before])
    out.insert(out.begin(), label->last->group);
  return out;
}

}  // namespace

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

GroupedChain group_chain(const std::vector<ChainLink>& chain, const GroupOptions& how, const MapOptions& options) {
  const base::Stopwatch watch;
  Questions questions(chain, metric_of(how.goal));
  std::vector<Planned> plans;
  if (how.fuse) plans = planned(chain, how.tiles, questions);
  MappedModel mapped = map_layers_together(questions.all(), options, questions.needed());
  GroupedChain out;
  out.warnings = std::move(mapped.warnings);
  out.inputs = std::move(mapped.inputs);
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const nest::Optimum& alone = mapped.layers[i].optimum;
    if (!alone.infeasible && (!alone.mapping || !alone.certificate.optimal)) out.ended_early = true;
    if (!alone.mapping) {
      out.unmapped.push_back(chain[i].question.name);
      continue;
    }
    choices.push_back({i, i + 1, group_of(chain, 1, {{i, false, false, *alone.mapping, alone.evaluation, {}}})});
  }
  out.unfused = best_way(choices, chain.size(), how.goal);
  for (const Planned& plan : plans) {
    std::vector<GroupPart> parts;
    for (const auto& [ask, question] : plan.parts) {
      const nest::Optimum& tile = mapped.layers[question].optimum;
      if (how.all && !tile.infeasible && !(tile.mapping && tile.certificate.optimal)) out.ended_early = true;
      auto part = whole_of(chain[ask.place], ask, mapped.layers[question], options.model);
      if (!part) break;
      parts.push_back(std::move(*part));
    }
    if (parts.size() != plan.parts.size() || (plan.tiles > 1 && !fits(chain, parts))) continue;
    choices.push_back({plan.first, plan.last + 1, group_of(chain, plan.tiles, std::move(parts))});
  }
  out.best = best_way(choices, chain.size(), how.goal);
  if (!out.best.empty()) {
    const double found = figure(how.goal, energy_of(out.best), cycles_of(out.best));
    out.certificate.close(found, chain_bound(chain, mapped.layers, how), 1e-9);
  }
  out.certificate.evaluated = choices.size();
  out.certificate.space = static_cast<double>(plans.size() + chain.size());
  out.certificate.seconds = watch.seconds();
  return out;
}

}  // namespace orrery::verbs
