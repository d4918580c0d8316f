#include "orrery/inputs/blocks/block_groups.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
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
#include "orrery/inputs/blocks/block_overlap.h"
#include "orrery/inputs/blocks/group_bound.h"
#include "orrery/inputs/layers/map_together.h"

namespace orrery::verbs {
namespace {

using base::Count;
using Kind = nest::Constraint::Kind;

constexpr std::size_t kLongestGroup = 4;
// How a turn is mapped: with one over `share` of where it hands on, or of all storages up to there (`everywhere`, for
// operators that run side by side), so that those that take turns have room beside each other; `free`: what would last
// from turn to turn does not lie in the innermost storage, which often holds one word.
struct TurnRoom {
  Count share = 1;
  bool free = false;
  bool everywhere = false;
};
constexpr TurnRoom kTurnRooms[] = {{1, false}, {4, false}, {1, true}, {4, true}, {4, false, true}, {4, true, true}};

// Side by side at least so many turns are tried, too: the first and the last step, when not all work, then take a
// sixteenth of the time.
constexpr Count kManyTurns = 16;

nest::Metric metric_of(fused::Goal goal) {
  return goal == fused::Goal::kEnergy  ? nest::Metric::kEnergy
         : goal == fused::Goal::kDelay ? nest::Metric::kDelay
                                       : nest::Metric::kEdp;
}

double figure(fused::Goal goal, double energy, double cycles) {
  return goal == fused::Goal::kEnergy ? energy : goal == fused::Goal::kDelay ? cycles : energy * cycles / 1e12;
}

// One turn of an operator in a group.
struct Ask {
  std::size_t place = 0;
  std::optional<std::size_t> takes, hands_on;
  Count columns = 1, keys = 1, share = 1;
  bool everywhere = false;
  std::uint32_t not_innermost = 0;  // bits of dataspaces
  auto operator<=>(const Ask&) const = default;
};

// What touches neither the innermost loop over turns nor, where that is over columns, is a product's operand: those are
// rarely whole.
std::uint32_t would_last(const LayerQuestion& question, const GroupPart& part, const Turns& turns) {
  const workload::Einsum& einsum = question.einsum;
  const bool product = einsum.dataspaces[0].ranks.size() > 1;
  std::uint32_t bits = 0;
  for (int s = 0; s < static_cast<int>(einsum.dataspaces.size()); ++s) {
    const bool by_columns = einsum.relevant(s, einsum.dimension_index("L"));
    const bool by_keys = part.keys >= 0 && einsum.relevant(s, part.keys);
    if (turns.keys > 1 ? !by_keys && !(by_columns && part.streams) : !by_columns && !product) bits |= 1U << s;
  }
  return bits;
}

class Questions {
 public:
  // Each link of the chain for the goal; then, unless only cycles count, what bounds energy (group_bound.h).
  Questions(const Chain& chain, const GroupOptions& how) : chain_(chain), objective_({metric_of(how.goal)}) {
    if (how.thrifty) objective_.push_back(nest::Metric::kEnergy);
    for (std::size_t i = 0; i < chain.length; ++i) {
      all_.push_back(searched(chain[i]));
    }
    if (how.goal == fused::Goal::kDelay) return;
    const bool leaks = !how.overlap;
    for (std::size_t i = 0; i < chain.length; ++i) {
      const bool takes = how.fuse && i > 0, hands_on = how.fuse && i + 1 < chain.length;
      bound(i, takes ? places_in(i, chain[i - 1].levels) : Places(),
            hands_on ? places_in(i, chain[i].levels) : Places(), leaks);
    }
    for (std::size_t i = chain.length; i < chain.links.size(); ++i)
      if (const auto& of = chain[i].one_sweep_of)
        bound(i, places_in(i, chain[*of - 1].levels), places_in(i, chain[*of].levels), leaks);
  }
  // Those that the answer needs, and its bound.
  std::size_t needed() const { return chain_.length + bounds_.size(); }
  const std::vector<LayerQuestion>& all() const { return all_; }

  std::vector<LeastOf> least(const std::vector<MappedLayer>& mapped) const {
    std::vector<LeastOf> out(chain_.length);
    for (std::size_t i = 0; i < chain_.length; ++i)
      out[i].figure = chain_[i].weights_stay ? 0 : mapped[i].optimum.certificate.lower_bound;
    std::map<std::pair<std::size_t, std::pair<Place, Place>>, double> found;
    for (const Bound& one : bounds_) {
      const nest::Optimum& optimum = mapped[one.index].optimum;
      found[{one.place, {one.takes, one.hands_on}}] =
          optimum.infeasible ? std::numeric_limits<double>::infinity() : optimum.certificate.lower_bound;
    }
    for (const Combination& one : combinations_) {
      const LayerQuestion& question = chain_[one.place].question;
      double energy = 0;
      for (const Place takes : {Place(), one.takes})
        for (const Place hands_on : {Place(), one.hands_on})
          if (const auto at = found.find({one.place, {takes, hands_on}}); at != found.end())
            energy = std::max(energy, at->second);
      if (one.takes) energy -= moving_pj(question, *one.takes, question.einsum.dataspace_index("Inputs"));
      if (one.hands_on && !chain_[one.place].also_out)
        energy -= moving_pj(question, *one.hands_on, question.einsum.dataspace_index("Outputs"));
      if (chain_[one.place].weights_stay)
        energy -= moving_pj(question, *chain_[one.place].stay_in, question.einsum.dataspace_index("Weights"));
      const auto& sweeps = chain_[one.place].one_sweep_of;
      if (sweeps && !(one.takes && one.hands_on)) continue;
      double& least =
          sweeps ? out[*sweeps].one_sweep : out[one.place].energy[one.takes.has_value()][one.hands_on.has_value()];
      energy = std::max(energy, kNothing);
      least = least > 0 ? std::min(least, energy) : energy;
    }
    return out;
  }

  // Nothing where what is handed on has no room in the share of its storage.
  std::optional<std::size_t> index(const GroupPart& part, const Turns& turns, const TurnRoom& room) {
    const Ask ask{part.place,
                  part.takes,
                  part.hands_on,
                  columns_of(part, turns),
                  part.keys >= 0 ? turns.keys : 1,
                  room.share,
                  room.everywhere,
                  room.free ? would_last(chain_[part.place].question, part, turns) : 0};
    const auto [at, added] = places_.emplace(ask, std::nullopt);
    if (!added) return at->second;
    LayerQuestion question = searched(chain_[ask.place]);
    const auto columns = static_cast<std::size_t>(question.einsum.dimension_index("L"));
    question.einsum.dimensions[columns].bound /= ask.columns;
    if (part.keys >= 0) question.einsum.dimensions[static_cast<std::size_t>(part.keys)].bound /= ask.keys;
    for (const auto& [level, name] : {std::pair{ask.takes, "Inputs"}, std::pair{ask.hands_on, "Outputs"}}) {
      if (!level) continue;
      const auto usable = question.chip->usable_words(static_cast<int>(*level));
      const Count over = spread_over(*question.chip, *level, bound_of(question, "L"));
      Count words = words_of(question, question.einsum.dataspace_index(name));
      if (ask.takes == ask.hands_on && name[0] == 'I')
        words += words_of(question, question.einsum.dataspace_index("Outputs"));
      if (usable && words / over > *usable / room.share) return std::nullopt;
    }
    at->second = all_.size();
    all_.push_back(turn_of(std::move(question), ask));
    return at->second;
  }

 private:
  using Place = std::optional<std::size_t>;  // a storage; nothing: outside
  using Places = std::vector<Place>;
  struct Combination {
    std::size_t place = 0;  // in the chain
    Place takes, hands_on;
  };
  struct Bound : Combination {
    std::size_t index = 0;  // in all()
  };

  Places places_in(std::size_t link, const std::vector<std::string>& storages) const {
    Places out;
    for (const std::string& storage : storages)
      out.emplace_back(static_cast<std::size_t>(chain_[link].question.chip->storage_index(storage)));
    return out;
  }

  // The least energies that bound a link which takes and hands on in each of these storages, or outside.
  void bound(std::size_t link, Places takes, Places hands_on, bool leaks) {
    takes.insert(takes.begin(), Place());
    hands_on.insert(hands_on.begin(), Place());
    const LayerQuestion& one = chain_[link].question;
    for (const Place& in : takes)
      for (const Place& out : hands_on) {
        combinations_.push_back({link, in, out});
        if ((!in || weighs_inside(one, *in, "Inputs")) && (!out || weighs_inside(one, *out, "Outputs")))
          least_energy(combinations_.back(), leaks);
      }
  }

  // A link for the goal. Weights that stay are searched for as if they came from outside once, on ports that are so
  // much faster that the rest takes as long as alone.
  LayerQuestion searched(const ChainLink& link) {
    LayerQuestion question = link.question;
    question.objective = objective_;
    if (!link.weights_stay || objective_.front() == nest::Metric::kEnergy) return question;
    const auto words = [&](const char* name) {
      return static_cast<double>(words_of(question, question.einsum.dataspace_index(name)));
    };
    const double in = words("Inputs"), out = words("Outputs"), weights = words("Weights");
    std::shared_ptr<const machine::Chip>& made = faster_[&link];
    if (!made) {
      machine::Chip chip = *question.chip;
      machine::Storage& outside = chip.storages.back();
      if (auto& rate = outside.read_words_per_cycle) *rate *= (in + weights) / in;
      if (auto& rate = outside.shared_words_per_cycle) *rate *= (in + out + weights) / (in + out);
      made = std::make_shared<const machine::Chip>(std::move(chip));
    }
    question.chip = made;
    return question;
  }

  void least_energy(const Combination& of, bool leaks) {
    bounds_.push_back({of, all_.size()});
    LayerQuestion question = chain_[of.place].question;
    question.objective = {nest::Metric::kEnergy};
    keep_inside(question, of.takes, of.hands_on);
    if (!leaks) question.chip = without_leakage(question.chip);
    all_.push_back(std::move(question));
  }

  static void keep(LayerQuestion& question, std::size_t level, int dataspace, bool kept) {
    nest::Constraint one;
    one.kind = Kind::kKeep;
    one.level = static_cast<int>(level);
    one.dataspace = dataspace;
    one.keep = kept;
    one.text = "map --fuse";
    question.space.constraints.push_back(std::move(one));
  }

  static void keep_inside(LayerQuestion& question, const Place& takes, const Place& hands_on) {
    if (takes) keep(question, *takes, question.einsum.dataspace_index("Inputs"), true);
    if (hands_on) keep(question, *hands_on, question.einsum.dataspace_index("Outputs"), true);
  }

  static void fix(LayerQuestion& question, std::size_t level, int dimension, bool spatial, Count value) {
    nest::Constraint one;
    one.kind = Kind::kFactor;
    one.level = static_cast<int>(level);
    one.dimension = dimension;
    one.spatial = spatial;
    one.value = value;
    one.text = "map --fuse";
    question.space.constraints.push_back(std::move(one));
  }

  // All loops over time inside what a turn hands on, and nothing but its columns spread outside.
  LayerQuestion turn_of(LayerQuestion question, const Ask& ask) {
    const machine::Chip& chip = *question.chip;
    const std::size_t exchange =
        std::min(ask.takes.value_or(chip.storages.size()), ask.hands_on.value_or(chip.storages.size()));
    const std::vector<Count> spread = spread_of(chip, exchange, bound_of(question, "L"));
    const int columns = question.einsum.dimension_index("L");
    for (std::size_t l = exchange + 1; l < chip.storages.size(); ++l) {
      const int at = static_cast<int>(l);
      const bool fans_out = chip.fanout_x(at) * chip.fanout_y(at) > 1;
      for (int d = 0; d < static_cast<int>(question.einsum.dimensions.size()); ++d) {
        if (!chip.storages[l].pass_through) fix(question, l, d, false, 1);
        if (fans_out) fix(question, l, d, true, d == columns ? spread[l] : 1);
      }
    }
    keep_inside(question, ask.takes, ask.hands_on);
    std::size_t innermost = 0;
    while (chip.storages[innermost].pass_through) ++innermost;
    for (int s = 0; s < static_cast<int>(question.einsum.dataspaces.size()) && innermost < exchange; ++s)
      if ((ask.not_innermost >> s & 1U) != 0) keep(question, innermost, s, false);
    if (ask.share > 1) question.chip = smaller(question.chip, ask);
    return question;
  }

  std::shared_ptr<const machine::Chip> without_leakage(const std::shared_ptr<const machine::Chip>& chip) {
    std::shared_ptr<const machine::Chip>& made = leakless_[chip.get()];
    if (!made) {
      machine::Chip less = *chip;
      less.compute.leak_pj_per_cycle = 0;
      for (machine::Storage& storage : less.storages) storage.energy.leak_pj_per_cycle = 0;
      made = std::make_shared<const machine::Chip>(std::move(less));
    }
    return made;
  }

  // With one over a share of where a turn hands on, or of all storages up to there.
  std::shared_ptr<const machine::Chip> smaller(const std::shared_ptr<const machine::Chip>& chip, const Ask& ask) {
    std::vector<std::size_t> levels;
    for (std::size_t l = 0; l < chip->storages.size(); ++l)
      if (ask.takes == l || ask.hands_on == l || (ask.everywhere && (ask.takes > l || ask.hands_on > l)))
        levels.push_back(l);
    std::shared_ptr<const machine::Chip>& made = smaller_[{chip.get(), ask.share, levels}];
    if (!made) {
      machine::Chip less = *chip;
      for (const std::size_t l : levels)
        if (std::optional<Count>& words = less.storages[l].capacity_words)
          words = std::max<Count>(1, *words / ask.share);
      made = std::make_shared<const machine::Chip>(std::move(less));
    }
    return made;
  }

  // Energy that a bound says at least: above 0, so that it counts as known.
  static constexpr double kNothing = std::numeric_limits<double>::min();

  const Chain& chain_;
  std::vector<nest::Metric> objective_;
  std::vector<LayerQuestion> all_;
  std::vector<Combination> combinations_;  // that groups may have
  std::vector<Bound> bounds_;
  std::map<Ask, std::optional<std::size_t>> places_;
  std::map<const machine::Chip*, std::shared_ptr<const machine::Chip>> leakless_;
  std::map<const ChainLink*, std::shared_ptr<const machine::Chip>> faster_;
  std::map<std::tuple<const machine::Chip*, Count, std::vector<std::size_t>>, std::shared_ptr<const machine::Chip>>
      smaller_;
};

// Numbers of tiles to try where all is handed on in one storage: the whole, if the matrices beside each other have
// room, and the least with which they take a half and a sixteenth of it.
std::vector<Count> tiles_of(const Chain& chain, std::size_t first, std::size_t last, const std::string& storage,
                            const GroupOptions& how) {
  const Count columns = bound_of(chain[first].question, "L");
  const auto fit = [&](Count turns, double part) {
    for (std::size_t i = first; i <= last; ++i) {
      const LayerQuestion& question = chain[i].question;
      const int level = question.chip->storage_index(storage);
      const auto usable = question.chip->usable_words(level);
      if (!usable) continue;
      double words = 0;
      if (i > first) words += static_cast<double>(words_of(question, question.einsum.dataspace_index("Inputs")));
      if (i < last) words += static_cast<double>(words_of(question, question.einsum.dataspace_index("Outputs")));
      const Count over = spread_over(*question.chip, static_cast<std::size_t>(level), columns / turns);
      if (words / static_cast<double>(turns * over) > static_cast<double>(*usable) / part) return false;
    }
    return true;
  };
  std::vector<Count> out;
  if (fit(1, 1)) out.push_back(1);
  if (!how.tiles) return out;
  for (const double part : {2.0, 16.0})
    for (const Count c : base::divisors(columns))
      if (c > 1 && fit(c, part)) {
        if (out.empty() || out.back() != c) out.push_back(c);
        break;
      }
  if (how.overlap)
    for (const Count c : base::divisors(columns))
      if (c >= kManyTurns) {
        if (out.empty() || out.back() < c) out.push_back(c);
        break;
      }
  return out;
}

// Groups to map, with the operators that they stand for.
std::vector<Choice> planned(Chain& chain, const GroupOptions& how) {
  std::vector<Choice> out;
  if (!how.fuse) return out;
  for (std::size_t first = 0; first < chain.length; ++first) {
    if (how.softmax != Softmax::kMultipass && how.tiles && is_attention(chain, first))
      for (Group& group : online_groups(chain, first, how.softmax))
        out.push_back({first - 1, first + 2, std::move(group)});
    for (std::size_t last = first + 1; last < chain.length && last < first + kLongestGroup; ++last) {
      if (!may_group(chain, first, last)) break;
      for (const std::vector<std::string>& way : ways_to_hand_on(chain, first, last)) {
        std::vector<Count> tiles;
        for (const std::string& storage : way)
          for (const Count c : tiles_of(chain, first, last, storage, how)) tiles.push_back(c);
        std::sort(tiles.begin(), tiles.end());
        tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
        for (const Count c : tiles) out.push_back({first, last + 1, plain_group(chain, first, last, c, way)});
      }
    }
  }
  return out;
}

// Where a choice hands on what a link makes; empty: outside.
std::string handed_on_in(const Chain& chain, const Choice& choice, std::size_t place) {
  for (const GroupPart& part : choice.group.parts)
    if ((part.place == place || chain[part.place].one_sweep_of == place) && place + 1 < choice.behind && part.hands_on)
      return chain[part.place].question.chip->storages[*part.hands_on].name;
  return "";
}

// Whether a choice does what is demanded of the matrices that its operators make.
bool is_wanted(const GroupedChain& of, const Choice& choice, const GroupOptions& how) {
  for (const HandedOn& one : how.handed_on)
    if (one.place >= choice.first && one.place < choice.behind &&
        handed_on_in(of.chain, choice, one.place) != one.storage)
      return false;
  if (how.softmax != Softmax::kOnline || choice.group.online) return true;
  for (std::size_t i = choice.first; i < choice.behind; ++i)
    if (is_attention(of.chain, i)) return false;
  return true;
}

// A way through the chain up to some place.
struct Label {
  double energy = 0, cycles = 0;
  std::size_t before = 0;  // in the labels of where the last choice begins
  const Choice* last = nullptr;
};
using Labels = std::vector<std::vector<Label>>;  // by place, those that no other one beats

Labels labels_of(const GroupedChain& of, const GroupOptions& how) {
  const std::size_t places = of.chain.length;
  Labels labels(places + 1);
  labels[0].push_back({});
  for (std::size_t at = 1; at <= places; ++at) {
    for (const Choice& choice : of.choices) {
      if (choice.behind != at || (!how.fuse && choice.behind > choice.first + 1) || !is_wanted(of, choice, how))
        continue;
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
  return labels;
}

std::vector<Group> groups_to(const Labels& labels, const Label* label) {
  std::vector<Group> out;
  for (; label && label->last; label = &labels[label->last->first][label->before])
    out.insert(out.begin(), label->last->group);
  return out;
}

}  // namespace

std::vector<Group> best_way(const GroupedChain& of, const GroupOptions& how) {
  const Labels labels = labels_of(of, how);
  const Label* best = nullptr;
  for (const Label& one : labels.back())
    if (!best || figure(how.goal, one.energy, one.cycles) < figure(how.goal, best->energy, best->cycles)) best = &one;
  return groups_to(labels, best);
}

std::vector<std::vector<Group>> best_trades(const GroupedChain& of, const GroupOptions& how) {
  Labels labels = labels_of(of, how);
  std::sort(labels.back().begin(), labels.back().end(),
            [](const Label& a, const Label& b) { return a.energy < b.energy; });
  std::vector<std::vector<Group>> out;
  for (const Label& one : labels.back()) out.push_back(groups_to(labels, &one));
  return out;
}

namespace {

// Every operator by itself, which is what `map` says of it.
void add_alone(const std::vector<MappedLayer>& mapped, const nest::ModelOptions& model, GroupedChain& out) {
  for (std::size_t i = 0; i < out.chain.length; ++i) {
    const nest::Optimum& alone = mapped[i].optimum;
    if (!alone.infeasible && (!alone.mapping || !alone.certificate.optimal)) out.ended_early = true;
    if (!alone.mapping) {
      out.unmapped.push_back(out.chain[i].question.name);
      continue;
    }
    Choice choice{i, i + 1, {}};
    GroupPart part;
    part.place = i;
    part.mapping = *alone.mapping;
    part.cost = alone.evaluation;
    if (out.chain[i].weights_stay) {
      keep_inside(out.chain, part);
      if (!price(out.chain, part, model)) continue;
    }
    choice.group.parts.push_back(std::move(part));
    add_up(out.chain, choice.group);
    out.choices.push_back(std::move(choice));
  }
}

// Under a time limit what stands alone is searched before anything in turns, so that no answer is worse than without
// fusion.
MappedModel map_whole_first(const Questions& questions, MapOptions options) {
  const std::vector<LayerQuestion>& all = questions.all();
  if (!(options.limits.seconds > 0)) return map_layers_together(all, options, questions.needed());
  const base::Stopwatch watch;
  const auto turns = all.begin() + static_cast<std::ptrdiff_t>(questions.needed());
  MappedModel out = map_layers_together({all.begin(), turns}, options, questions.needed());
  if (turns == all.end()) return out;
  options.limits.seconds = std::max(1e-3, options.limits.seconds - watch.seconds());
  MappedModel more = map_layers_together({turns, all.end()}, options, 0);
  std::move(more.layers.begin(), more.layers.end(), std::back_inserter(out.layers));
  out.warnings.append(more.warnings);
  return out;
}

// Every part is mapped for the goal.
GroupedChain chain_for_goal(Chain chain, const GroupOptions& how, const MapOptions& options) {
  const base::Stopwatch watch;
  GroupedChain out;
  const std::vector<Choice> plans = planned(chain, how);
  out.chain = std::move(chain);
  Questions questions(out.chain, how);
  std::vector<std::vector<std::optional<std::size_t>>> asked;  // of each plan and room, its parts
  for (const Choice& plan : plans)
    for (const TurnRoom& room : kTurnRooms) {
      asked.emplace_back();
      for (const GroupPart& part : plan.group.parts)
        asked.back().push_back(
            (room.everywhere ? !how.overlap : (room.share > 1 || room.free) && plan.group.turns.all() == 1)
                ? std::nullopt
                : questions.index(part, plan.group.turns, room));
    }
  MappedModel mapped = map_whole_first(questions, options);
  out.warnings = std::move(mapped.warnings);
  out.inputs = std::move(mapped.inputs);
  add_alone(mapped.layers, options.model, out);
  GroupOptions apart = how;
  apart.fuse = false;
  apart.handed_on.clear();
  apart.softmax = Softmax::kAuto;
  out.unfused = best_way(out, apart);
  for (std::size_t a = 0; a < asked.size(); ++a) {
    Choice made = plans[a / std::size(kTurnRooms)];
    bool found = true;
    for (std::size_t p = 0; p < made.group.parts.size(); ++p) {
      found = found && asked[a][p].has_value();
      if (!asked[a][p]) continue;
      const nest::Optimum& turn = mapped.layers[*asked[a][p]].optimum;
      if (!turn.infeasible && !(turn.mapping && turn.certificate.optimal)) out.ended_early = true;
      GroupPart& part = made.group.parts[p];
      found = found && turn.mapping.has_value();
      if (!found) continue;
      part.mapping = *turn.mapping;
      repeat(out.chain, made.group.turns, part);
      found = price(out.chain, part, options.model);
    }
    if (!found || !fits(out.chain, made.group)) continue;
    add_up(out.chain, made.group);
    if (how.overlap) choose_stages(out.chain, made.group);
    out.choices.push_back(std::move(made));
  }
  out.best = best_way(out, how);
  if (!out.best.empty()) {
    const double found = figure(how.goal, energy_of(out.best), cycles_of(out.best));
    out.certificate.close(found, chain_bound(out.chain, questions.least(mapped.layers), how), 1e-9);
  }
  out.certificate.evaluated = out.choices.size();
  out.certificate.space = static_cast<double>(asked.size() + out.chain.length);
  out.certificate.seconds = watch.seconds();
  return out;
}

}  // namespace

void include(GroupedChain& of, const GroupOptions& how, const GroupedChain& more) {
  of.choices.insert(of.choices.end(), more.choices.begin(), more.choices.end());
  of.ended_early = of.ended_early || more.ended_early;
  of.best = best_way(of, how);
  base::Certificate& proof = of.certificate;
  proof.evaluated += more.certificate.evaluated;
  proof.seconds += more.certificate.seconds;
  if (!of.best.empty()) proof.close(figure(how.goal, energy_of(of.best), cycles_of(of.best)), proof.lower_bound, 1e-9);
}

GroupedChain group_chain(Chain chain, const GroupOptions& how, const MapOptions& options) {
  if (how.goal != fused::Goal::kEdp || !how.fuse) return chain_for_goal(std::move(chain), how, options);
  const base::Stopwatch watch;
  GroupedChain out = chain_for_goal(chain, how, options);
  GroupOptions fast = how;
  fast.goal = fused::Goal::kDelay;
  MapOptions rest = options;
  if (rest.limits.seconds > 0) rest.limits.seconds = std::max(1e-3, rest.limits.seconds - watch.seconds());
  include(out, how, chain_for_goal(std::move(chain), fast, rest));
  return out;
}

}  // namespace orrery::verbs
