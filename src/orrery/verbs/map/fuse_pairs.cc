#include "orrery/verbs/map/fuse_pairs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/inputs/layers/gathered_diagnostics.h"
#include "orrery/inputs/layers/map_together.h"
#include "orrery/verbs/map/fuse_role.h"
#include "orrery/verbs/map/fuse_room.h"

namespace orrery::verbs {
namespace {

// A product and the normalisation of its result, by index into the questions.
struct Match {
  std::size_t product = 0, normalisation = 0;
  base::Count instances = 1;
};

// A normalisation takes the nearest products before it, then those behind it, of matrices of its size, as long as it
// has instances left: a row of a model may stand for the normalisations behind several products.
std::vector<Match> matches_of(const std::vector<LayerQuestion>& questions) {
  std::vector<std::optional<FuseRole>> roles;
  for (const LayerQuestion& question : questions) roles.push_back(fuse_role(question.einsum));
  std::vector<bool> taken(questions.size(), false);
  std::vector<Match> matches;
  for (std::size_t n = 0; n < questions.size(); ++n) {
    if (!roles[n] || roles[n]->product) continue;
    base::Count left = questions[n].instances;
    const std::size_t first = matches.size();
    const auto consider = [&](std::size_t p) {
      if (!roles[p] || !roles[p]->product || taken[p] || questions[p].instances > left) return;
      if (roles[p]->smaller != roles[n]->smaller || roles[p]->larger != roles[n]->larger) return;
      taken[p] = true;
      left -= questions[p].instances;
      matches.push_back({p, n, questions[p].instances});
    };
    for (std::size_t p = n; p-- > 0;) consider(p);
    for (std::size_t p = n + 1; p < questions.size(); ++p) consider(p);
    std::sort(matches.begin() + static_cast<std::ptrdiff_t>(first), matches.end(),
              [](const Match& a, const Match& b) { return a.product < b.product; });
  }
  return matches;
}

// Storages that both chips have, outermost first; neither's outermost.
std::vector<std::string> common_levels(const machine::Chip& a, const machine::Chip& b) {
  const auto inside = [](const machine::Chip& chip, const std::string& name) {
    const int level = chip.storage_index(name);
    return level >= 0 && level + 1 < static_cast<int>(chip.storages.size()) && !chip.storages[level].pass_through;
  };
  std::vector<std::string> names;
  for (auto storage = a.storages.rbegin(); storage != a.storages.rend(); ++storage)
    if (inside(a, storage->name) && inside(b, storage->name)) names.push_back(storage->name);
  return names;
}

// A loop in time over a dimension that the matrix does not have, outside the storage: sweeps.
void no_sweeps(const std::string& level, int matrix, LayerQuestion& side) {
  std::vector<nest::Constraint>& all = side.space.constraints;
  for (int l = side.chip->storage_index(level) + 1; l < static_cast<int>(side.chip->storages.size()); ++l)
    for (int d = 0; d < static_cast<int>(side.einsum.dimensions.size()); ++d) {
      if (side.chip->storages[static_cast<std::size_t>(l)].pass_through || side.einsum.relevant(matrix, d)) continue;
      std::erase_if(all, [&](const nest::Constraint& one) {
        return one.kind == nest::Constraint::Kind::kFactor && one.level == l && one.dimension == d && !one.spatial;
      });
      nest::Constraint once;
      once.kind = nest::Constraint::Kind::kFactor;
      once.level = l;
      once.dimension = d;
      once.value = 1;
      once.text = "--fuse auto at " + level;
      all.push_back(std::move(once));
    }
}

// What is handed over at a storage lies there: a side that passes it by would lose it. It is handed over once: a
// normalisation sweeps over what lies there.
void hold(const std::string& level, LayerQuestion& side) {
  nest::Constraint keep;
  keep.kind = nest::Constraint::Kind::kKeep;
  keep.level = side.chip->storage_index(level);
  keep.dataspace = fuse_role(side.einsum)->dataspace;
  keep.keep = true;
  keep.text = "--fuse auto at " + level;
  const int matrix = keep.dataspace;
  side.space.constraints.push_back(std::move(keep));
  if (!fuse_role(side.einsum)->product) no_sweeps(level, matrix, side);
}

// Questions that are asked once for each side of each choice.
class Asked {
 public:
  explicit Asked(const std::vector<LayerQuestion>& questions) : questions_(questions) {}

  // The index of the side of `question` under `fuse`.
  std::size_t side(std::size_t question, const FuseSides& fuse) {
    if (fuse.level.empty()) return question;
    LayerQuestion changed = questions_[question];
    fuse_side(fuse, changed);
    hold(fuse.level, changed);
    questions_.push_back(std::move(changed));
    return questions_.size() - 1;
  }
  std::size_t again(std::size_t question, std::shared_ptr<const machine::Chip> chip) {
    LayerQuestion changed = questions_[question];
    changed.chip = std::move(chip);
    questions_.push_back(std::move(changed));
    return questions_.size() - 1;
  }
  const std::vector<LayerQuestion>& questions() const { return questions_; }

 private:
  std::vector<LayerQuestion> questions_;
};

struct Sides {
  FuseSides fuse;
  std::size_t product = 0, normalisation = 0;
};

std::vector<Sides> sides_of(const Match& match, Asked& asked) {
  std::vector<Sides> all = {{{}, match.product, match.normalisation}};
  const machine::Chip& of_product = *asked.questions()[match.product].chip;
  const machine::Chip& of_normalisation = *asked.questions()[match.normalisation].chip;
  for (const std::string& level : common_levels(of_product, of_normalisation)) {
    // The normalisation differs only in who writes.
    const std::size_t reads_only = asked.side(match.normalisation, {.level = level});
    const std::size_t writes_not = asked.side(match.normalisation, {.level = level, .product_writes = true});
    for (const bool writes : {false, true})
      for (const bool whole : {false, true})
        for (const bool reduction_free : {false, true}) {
          const FuseSides fuse{level, reduction_free, whole, writes};
          all.push_back({fuse, asked.side(match.product, fuse), writes ? writes_not : reads_only});
        }
  }
  return all;
}

// In all instances that are in use.
base::Count tile_words(const MappedLayer& layer, const std::string& level) {
  const int storage = layer.chip.storage_index(level);
  const auto role = fuse_role(layer.einsum);
  if (storage < 0 || !role) return 0;
  const nest::StorageCost& level_cost = layer.optimum.evaluation.storages[storage];
  const nest::DataspaceCost& cost = level_cost.dataspaces[role->dataspace];
  return cost.kept ? base::checked_multiply(cost.tile_words, level_cost.utilized_instances) : 0;
}

bool settled(const MappedLayer& layer) {
  return layer.optimum.infeasible || (layer.found() && layer.optimum.certificate.optimal);
}

// No mappings of the two sides together cost less than that.
double bound_of(nest::Metric metric, const MappedLayer& product, const MappedLayer& normalisation) {
  if (product.optimum.infeasible || normalisation.optimum.infeasible) return nest::kNever;
  const double a = product.optimum.certificate.lower_bound, b = normalisation.optimum.certificate.lower_bound;
  return metric == nest::Metric::kEdp ? a + b + 2 * std::sqrt(a) * std::sqrt(b) : a + b;
}

FusedPair::Choice total_of(const Sides& sides, const MappedLayer& product, const MappedLayer& normalisation) {
  FusedPair::Choice choice;
  choice.fuse = sides.fuse;
  choice.found = product.found() && normalisation.found();
  choice.proven =
      (settled(product) && settled(normalisation)) || product.optimum.infeasible || normalisation.optimum.infeasible;
  choice.open = !choice.proven;
  if (!product.found()) choice.without = product.name;
  if (!normalisation.found()) choice.without += (choice.without.empty() ? "" : ", ") + normalisation.name;
  if (!choice.found) return choice;
  const Totals total = [&] {
    MappedLayer first = product, second = normalisation;
    first.instances = second.instances = 1;
    return totals({first, second});
  }();
  choice.energy_pj = total.energy_pj;
  choice.cycles = total.cycles;
  choice.edp_j_cycles = total.edp_j_cycles;
  if (!sides.fuse.level.empty()) {
    choice.product_tile_words = tile_words(product, sides.fuse.level);
    choice.normalisation_tile_words = tile_words(normalisation, sides.fuse.level);
    for (const Crowded& storage : crowded(product, normalisation, sides.fuse.level))
      choice.no_room += (choice.no_room.empty() ? "" : "; ") + text(storage);
  }
  return choice;
}

// The best of the choices that have room, and what is proven of it.
void take_best(FusedPair& pair, const std::vector<nest::Metric>& objective) {
  nest::Key least{};
  pair.found = false;
  for (std::size_t i = 0; i < pair.choices.size(); ++i) {
    const FusedPair::Choice& choice = pair.choices[i];
    if (!choice.found || !choice.no_room.empty()) continue;
    const nest::Key key = nest::key_of(objective, choice.energy_pj, static_cast<double>(choice.cycles));
    if (pair.found && nest::compare(key, least, objective.size()) >= 0) continue;
    pair.found = true;
    pair.best = i;
    least = key;
  }
  // A choice that is open may not even tie with the one that is taken: what is compared next might decide.
  const double best = pair.found ? pair.compared(pair.chosen()) * (1 + nest::kEqual) : nest::kNever;
  pair.proven = true;
  pair.lower_bound = nest::kNever;
  for (const FusedPair::Choice& choice : pair.choices) {
    pair.proven = pair.proven && (choice.proven || choice.lower_bound > best);
    pair.lower_bound = std::min(pair.lower_bound, choice.lower_bound);
  }
}

FusedPair choose(const Match& match, const std::vector<Sides>& sides, const std::vector<MappedLayer>& layers) {
  FusedPair pair;
  pair.product = layers[match.product].name;
  pair.normalisation = layers[match.normalisation].name;
  pair.instances = match.instances;
  const std::vector<nest::Metric>& objective = layers[match.product].objective;
  if (!objective.empty()) pair.metric = objective.front();
  for (const Sides& one : sides) {
    pair.choices.push_back(total_of(one, layers[one.product], layers[one.normalisation]));
    FusedPair::Choice& choice = pair.choices.back();
    choice.lower_bound = choice.found && choice.proven
                             ? pair.compared(choice)
                             : bound_of(pair.metric, layers[one.product], layers[one.normalisation]);
    // What has no room costs more than its sides do, or has no mapping at all.
    choice.proven = choice.proven && choice.no_room.empty();
  }
  take_best(pair, objective);
  return pair;
}

// Choices that have no room, and would be better than what has.
class Room {
 public:
  Room(Asked& asked, std::vector<std::vector<Sides>>& sides, std::vector<FusedPair>& pairs, MappedModel& mapped)
      : asked_(asked), sides_(sides), pairs_(pairs), mapped_(mapped) {}

  void make(const MapOptions& options) {
    constexpr int kMost = 3;
    for (std::size_t m = 0; m < pairs_.size(); ++m) {
      int narrowed = 0;
      for (const std::size_t choice : cheap(pairs_[m]))
        if (narrowed < kMost && narrow(m, choice)) ++narrowed;
    }
    if (tries_.empty()) return;
    const std::size_t first = mapped_.layers.size();
    std::vector<LayerQuestion> questions;
    for (std::size_t q = first; q < asked_.questions().size(); ++q) questions.push_back(asked_.questions()[q]);
    MappedModel more = map_layers_together(questions, options, 0);
    for (std::size_t q = 0; q < more.layers.size(); ++q) {
      more.layers[q].chip = *chips_[q];  // as it is
      mapped_.layers.push_back(std::move(more.layers[q]));
    }
    for (const Try& one : tries_) consider(one);
    for (std::size_t m = 0; m < pairs_.size(); ++m)
      take_best(pairs_[m], mapped_.layers[sides_[m].front().product].objective);
  }

 private:
  struct Try {
    std::size_t pair = 0, choice = 0;
    Sides sides;
  };

  static std::vector<std::size_t> cheap(const FusedPair& pair) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < pair.choices.size(); ++i)
      if (const FusedPair::Choice& one = pair.choices[i];
          one.found && !one.no_room.empty() && (!pair.found || pair.compared(one) < pair.compared(pair.chosen())))
        out.push_back(i);
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
      return pair.compared(pair.choices[a]) < pair.compared(pair.choices[b]);
    });
    return out;
  }

  // False: more room is of no use to what comes back.
  bool narrow(std::size_t m, std::size_t choice) {
    const Sides& as = sides_[m][choice];
    const MappedLayer &product = mapped_.layers[as.product], &normalisation = mapped_.layers[as.normalisation];
    const std::vector<Crowded> storages = crowded(product, normalisation, as.fuse.level);
    if (std::any_of(storages.begin(), storages.end(), std::mem_fn(&Crowded::comes_back))) return false;
    const auto ask = [&](std::size_t question, const auto& taken) {
      const auto own = asked_.questions()[question].chip;
      chips_.push_back(own);
      return asked_.again(question, narrowed(*own, storages, taken));
    };
    const auto beside = [&](const MappedLayer& other) {
      return [&](const Crowded& one) { return words_beside(other, as.fuse.level, one.storage); };
    };
    tries_.push_back({m, choice, {as.fuse, ask(as.product, beside(normalisation)), as.normalisation}});
    tries_.push_back({m, choice, {as.fuse, as.product, ask(as.normalisation, beside(product))}});
    // A normalisation needs little.
    for (const base::Count eighths : {4, 7}) {
      const auto share = [&](const Crowded& one) { return one.holds / 8 * eighths; };
      const std::size_t larger = ask(as.product, [&](const Crowded& one) { return one.holds - share(one); });
      tries_.push_back({m, choice, {as.fuse, larger, ask(as.normalisation, share)}});
    }
    return true;
  }

  void consider(const Try& one) {
    FusedPair& pair = pairs_[one.pair];
    FusedPair::Choice& before = pair.choices[one.choice];
    FusedPair::Choice made =
        total_of(one.sides, mapped_.layers[one.sides.product], mapped_.layers[one.sides.normalisation]);
    if (!made.found || !made.no_room.empty()) return;
    if (before.no_room.empty() && pair.compared(made) >= pair.compared(before)) return;
    made.lower_bound = before.lower_bound;
    made.proven = pair.compared(made) <= made.lower_bound * (1 + nest::kEqual);
    before = std::move(made);
    sides_[one.pair][one.choice] = one.sides;
  }

  // The chip with less room in these storages, by what `taken` says of each.
  template <typename Taken>
  static std::shared_ptr<const machine::Chip> narrowed(const machine::Chip& chip, const std::vector<Crowded>& storages,
                                                       const Taken& taken) {
    auto out = std::make_shared<machine::Chip>(chip);
    for (const Crowded& one : storages) {
      const int i = out->storage_index(one.storage);
      if (i < 0) continue;
      machine::Storage& storage = out->storages[static_cast<std::size_t>(i)];
      storage.capacity_words = std::max<base::Count>(1, one.holds - taken(one));
      storage.multiple_buffering = 1;
    }
    return out;
  }

  Asked& asked_;
  std::vector<std::vector<Sides>>& sides_;
  std::vector<FusedPair>& pairs_;
  MappedModel& mapped_;
  std::vector<Try> tries_;
  std::vector<std::shared_ptr<const machine::Chip>> chips_;  // of the questions that were added
};

[[noreturn]] void refuse(const std::vector<LayerQuestion>& questions) {
  base::Diagnostics found;
  auto& error = found.error("O2034", "there is no pair to fuse: no product and normalisation of one matrix");
  for (const LayerQuestion& question : questions) {
    const auto role = fuse_role(question.einsum);
    error.note(!role ? fmt::format("`{}` is neither", question.name)
                     : fmt::format("`{}` {} a matrix of {} x {}, {} instance{}", question.name,
                                   role->product ? "makes" : "normalises", role->larger, role->smaller,
                                   question.instances, base::plural(question.instances)));
    if (error.notes.size() == 8) break;
  }
  error.hint("map a product and its normalisation together, or a whole model, without `--layer`");
  throw base::InputError(found.all());
}

}  // namespace

double FusedPair::compared(const Choice& choice) const {
  return metric == nest::Metric::kEnergy  ? choice.energy_pj
         : metric == nest::Metric::kDelay ? static_cast<double>(choice.cycles)
                                          : choice.edp_j_cycles;
}

bool FusedPair::cut_short() const {
  return !proven && std::any_of(choices.begin(), choices.end(), std::mem_fn(&Choice::open));
}

FusedLayers map_fused(const std::vector<LayerQuestion>& questions, const MapOptions& options) {
  const std::vector<Match> matches = matches_of(questions);
  if (matches.empty()) refuse(questions);
  Asked asked(questions);
  std::vector<std::vector<Sides>> sides;
  for (const Match& match : matches) sides.push_back(sides_of(match, asked));
  const base::Stopwatch clock;
  MappedModel all = map_layers_together(asked.questions(), options, questions.size());

  FusedLayers result;
  Gathered warnings;  // of sides that are much alike
  warnings.add(all.warnings.all());
  result.mapped.warnings = warnings.all();
  for (std::size_t m = 0; m < matches.size(); ++m) result.pairs.push_back(choose(matches[m], sides[m], all.layers));
  MapOptions rest = options;
  rest.limits.seconds -= clock.seconds();
  if (options.limits.seconds <= 0 || rest.limits.seconds > 0) {
    if (options.limits.seconds <= 0) rest.limits.seconds = 0;
    Room(asked, sides, result.pairs, all).make(rest);
  }

  for (std::size_t i = 0; i < questions.size(); ++i) {
    base::Count left = questions[i].instances;
    const auto several = std::count_if(matches.begin(), matches.end(), [&](const Match& match) {
      return match.normalisation == i && match.instances < questions[i].instances;
    });
    for (std::size_t m = 0; m < matches.size(); ++m) {
      const bool product = matches[m].product == i;
      if (!product && matches[m].normalisation != i) continue;
      const Sides& chosen = sides[m][result.pairs[m].best];
      MappedLayer layer = all.layers[product ? chosen.product : chosen.normalisation];
      layer.instances = matches[m].instances;
      if (several > 0) layer.name += fmt::format(" after {}", result.pairs[m].product);
      left -= layer.instances;
      result.mapped.layers.push_back(std::move(layer));
    }
    if (left == 0) continue;
    MappedLayer layer = all.layers[i];
    layer.instances = left;
    result.mapped.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace orrery::verbs
