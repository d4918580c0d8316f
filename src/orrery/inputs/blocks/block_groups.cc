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
// How a turn is mapped: with one over `share` of the exchange level, or of all storages up to it (`everywhere`, for
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
  bool takes = false, hands_on = false;
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
      all_.push_back(chain[i].question);
      all_.back().objective = objective_;
    }
    if (how.goal == fused::Goal::kDelay) return;
    const bool leaks = !how.overlap;
    for (std::size_t i = 0; i < chain.length; ++i) {
      const LayerQuestion& one = chain[i].question;
      const bool takes = how.fuse && i > 0 && may_group(chain, i - 1, i) && weighs_inside(one, "Inputs");
      const bool hands_on =
          how.fuse && i + 1 < chain.length && may_group(chain, i, i + 1) && weighs_inside(one, "Outputs");
      least_energy(i, false, false, leaks);
      if (takes) least_energy(i, true, false, leaks);
      if (hands_on) least_energy(i, false, true, leaks);
      if (takes && hands_on) least_energy(i, true, true, leaks);
    }
    for (std::size_t i = chain.length; i < chain.links.size(); ++i)
      if (chain[i].one_sweep_of) least_energy(i, true, true, leaks);
  }
  // Those that the answer needs, and its bound.
  std::size_t needed() const { return chain_.length + bounds_.size(); }
  const std::vector<LayerQuestion>& all() const { return all_; }

  std::vector<LeastOf> least(const std::vector<MappedLayer>& mapped) const {
    std::vector<LeastOf> out(chain_.length);
    for (std::size_t i = 0; i < chain_.length; ++i) out[i].figure = mapped[i].optimum.certificate.lower_bound;
    for (const Bound& bound : bounds_) {
      const nest::Optimum& found = mapped[bound.index].optimum;
      const double energy = found.infeasible ? std::numeric_limits<double>::infinity() : found.certificate.lower_bound;
      if (const auto& of = chain_[bound.place].one_sweep_of) {
        out[*of].one_sweep = energy;
        continue;
      }
      for (const bool takes : {false, true})
        for (const bool hands_on : {false, true}) {
          double& least = out[bound.place].energy[takes][hands_on];
          if (takes >= bound.takes && hands_on >= bound.hands_on) least = std::max(least, energy);
        }
    }
    return out;
  }

  // Nothing where what is handed on has no room in the share of the exchange level.
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
    LayerQuestion question = chain_[ask.place].question;
    const auto columns = static_cast<std::size_t>(question.einsum.dimension_index("L"));
    question.einsum.dimensions[columns].bound /= ask.columns;
    if (part.keys >= 0) question.einsum.dimensions[static_cast<std::size_t>(part.keys)].bound /= ask.keys;
    const auto usable = question.chip->usable_words(exchange_level(*question.chip));
    Count words = 0;
    if (ask.takes) words += words_of(question, question.einsum.dataspace_index("Inputs"));
    if (ask.hands_on) words += words_of(question, question.einsum.dataspace_index("Outputs"));
    if (usable && words > *usable / room.share) return std::nullopt;
    at->second = all_.size();
    all_.push_back(turn_of(std::move(question), ask));
    return at->second;
  }

 private:
  void least_energy(std::size_t place, bool takes, bool hands_on, bool leaks) {
    bounds_.push_back({place, all_.size(), takes, hands_on});
    LayerQuestion question = chain_[place].question;
    question.objective = {nest::Metric::kEnergy};
    keep_inside(question, takes, hands_on);
    if (!leaks) question.chip = without_leakage(question.chip);
    all_.push_back(std::move(question));
  }

  static void keep(LayerQuestion& question, int level, int dataspace, bool kept) {
    nest::Constraint one;
    one.kind = Kind::kKeep;
    one.level = level;
    one.dataspace = dataspace;
    one.keep = kept;
    one.text = "map --fuse";
    question.space.constraints.push_back(std::move(one));
  }

  static void keep_inside(LayerQuestion& question, bool takes, bool hands_on) {
    const int exchange = exchange_level(*question.chip);
    if (takes) keep(question, exchange, question.einsum.dataspace_index("Inputs"), true);
    if (hands_on) keep(question, exchange, question.einsum.dataspace_index("Outputs"), true);
  }

  LayerQuestion turn_of(LayerQuestion question, const Ask& ask) {
    question.objective = objective_;
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
    keep_inside(question, ask.takes, ask.hands_on);
    int innermost = 0;
    while (question.chip->storages[static_cast<std::size_t>(innermost)].pass_through) ++innermost;
    for (int s = 0; s < static_cast<int>(question.einsum.dataspaces.size()) && innermost < exchange; ++s)
      if ((ask.not_innermost >> s & 1U) != 0) keep(question, innermost, s, false);
    if (ask.share > 1) question.chip = smaller(question.chip, exchange, ask);
    return question;
  }

  std::shared_ptr<const machine::Chip> without_leakage(const std::shared_ptr<const machine::Chip>& chip) {
    std::shared_ptr<const machine::Chip>& made = chips_[{chip.get(), 0}];
    if (!made) {
      machine::Chip less = *chip;
      less.compute.leak_pj_per_cycle = 0;
      for (machine::Storage& storage : less.storages) storage.energy.leak_pj_per_cycle = 0;
      made = std::make_shared<const machine::Chip>(std::move(less));
    }
    return made;
  }

  std::shared_ptr<const machine::Chip> smaller(const std::shared_ptr<const machine::Chip>& chip, int level,
                                               const Ask& ask) {
    std::shared_ptr<const machine::Chip>& made = chips_[{chip.get(), ask.everywhere ? -ask.share : ask.share}];
    if (!made) {
      machine::Chip less = *chip;
      for (int l = ask.everywhere ? 0 : level; l <= level; ++l) {
        std::optional<Count>& words = less.storages[static_cast<std::size_t>(l)].capacity_words;
        if (words) words = std::max<Count>(1, *words / ask.share);
      }
      made = std::make_shared<const machine::Chip>(std::move(less));
    }
    return made;
  }

  struct Bound {
    std::size_t place = 0, index = 0;  // in the chain, in all()
    bool takes = false, hands_on = false;
  };

  const Chain& chain_;
  std::vector<nest::Metric> objective_;
  std::vector<LayerQuestion> all_;
  std::vector<Bound> bounds_;
  std::map<Ask, std::optional<std::size_t>> places_;
  std::map<std::pair<const machine::Chip*, Count>, std::shared_ptr<const machine::Chip>> chips_;
};

// Numbers of tiles to try: the whole, if the matrices beside each other have room, and the least with which they take
// a half and a sixteenth of the exchange level.
std::vector<Count> tiles_of(const Chain& chain, std::size_t first, std::size_t last, const GroupOptions& how) {
  double beside = 0, room = 0;
  for (std::size_t i = first; i <= last; ++i) {
    const LayerQuestion& question = chain[i].question;
    double words = 0;
    if (i > first) words += static_cast<double>(words_of(question, question.einsum.dataspace_index("Inputs")));
    if (i < last) words += static_cast<double>(words_of(question, question.einsum.dataspace_index("Outputs")));
    beside = std::max(beside, words);
    const auto usable = question.chip->usable_words(exchange_level(*question.chip));
    const double here = usable ? static_cast<double>(*usable) : 2 * beside;
    room = i == first ? here : std::min(room, here);
  }
  std::vector<Count> out;
  if (beside <= room) out.push_back(1);
  if (!how.tiles) return out;
  const LayerQuestion& any = chain[first].question;
  const Count columns = any.einsum.dimensions[static_cast<std::size_t>(any.einsum.dimension_index("L"))].bound;
  for (const double part : {2.0, 16.0})
    for (const Count c : base::divisors(columns))
      if (c > 1 && beside / static_cast<double>(c) <= room / part) {
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
      for (const Count c : tiles_of(chain, first, last, how)) {
        Choice one{first, last + 1, {}};
        one.group.turns.columns = c;
        for (std::size_t i = first; i <= last; ++i) {
          GroupPart part;
          part.place = i;
          part.takes = i > first;
          part.hands_on = i < last;
          part.leaves = i == last || chain[i].also_out;
          one.group.parts.push_back(std::move(part));
        }
        out.push_back(std::move(one));
      }
    }
  }
  return out;
}

// Whether a choice does what is demanded of the matrices that its operators make.
bool is_wanted(const GroupedChain& of, const Choice& choice, const GroupOptions& how) {
  for (const HandedOn& one : how.handed_on)
    if (one.place >= choice.first && one.place < choice.behind && one.inside != (one.place + 1 < choice.behind))
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
void add_alone(const std::vector<MappedLayer>& mapped, GroupedChain& out) {
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
  add_alone(mapped.layers, out);
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

}  // namespace orrery::verbs
