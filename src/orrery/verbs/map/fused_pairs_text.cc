#include "orrery/verbs/map/fused_pairs_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/limits/certificate.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using Choice = FusedPair::Choice;

// As one would write them for one side.
std::string flags(const FuseSides& fuse) {
  std::string out;
  for (const auto& [given, flag] :
       {std::pair{fuse.reduction_free, "-nef"}, std::pair{fuse.whole, "-lf"}, std::pair{fuse.product_writes, "-pwim"}})
    if (given) out += (out.empty() ? "" : " ") + std::string(flag);
  return out.empty() ? "-" : out;
}

std::string tiles(const Choice& choice) {
  if (choice.fuse.level.empty()) return "-";
  return fmt::format("{} / {}", choice.product_tile_words, choice.normalisation_tile_words);
}

// What was compared, of the unfused pair.
std::string compared(const FusedPair& pair) {
  const Choice& choice = pair.unfused();
  return pair.metric == nest::Metric::kEnergy  ? energy_uj(choice.energy_pj)
         : pair.metric == nest::Metric::kDelay ? std::to_string(choice.cycles)
                                               : edp(choice.edp_j_cycles);
}

// What the choice takes of the unfused pair's. Where either might still be better: from what to what, as far as the
// bounds tell; not fusing is a choice, so that it is never above 1.
std::string ratio(const FusedPair& pair) {
  const Choice &chosen = pair.chosen(), &unfused = pair.unfused();
  if (!unfused.found) return "-";
  const double most = pair.compared(unfused), best = pair.compared(chosen);
  if (unfused.proven && pair.proven) return fmt::format("{:.4f}", best / most);
  const double least = unfused.lower_bound;
  return fmt::format("{:.4f}..{:.4f}", pair.lower_bound / most, best < least ? best / least : 1.0);
}

double gap(const FusedPair& pair) {
  return !pair.found ? 1 : pair.proven ? 0 : base::gap(pair.compared(pair.chosen()), pair.lower_bound);
}

std::string proven_or_gap(const FusedPair& pair) {
  return pair.proven ? "optimal" : fmt::format("gap {:.2f}%", 100 * gap(pair));
}

Record<Choice> figures() {
  return {{"energy_pj", "Energy of both sides, one instance, in pJ.", &Choice::energy_pj},
          {"cycles", "Cycles of both sides one after the other, one instance.", &Choice::cycles},
          {"edp_j_cycles", "Energy times cycles, in J*cycles.", &Choice::edp_j_cycles}};
}

Record<Choice> choice_record() {
  const auto fused = [](const Choice& c) { return !c.fuse.level.empty(); };
  const auto found = [](const Choice& c) { return c.found; };
  Record<Choice> out = {
      {"level", "Storage at which the matrix is handed over; null: the pair is not fused.",
       [](const Choice& c) { return c.fuse.level.empty() ? std::nullopt : std::optional(c.fuse.level); }},
      {"no_e_fusion", "Whether the choice has `--no-e-fusion`.", [](const Choice& c) { return c.fuse.reduction_free; },
       when(fused)},
      {"l_fusion", "Whether the choice has `--l-fusion`.", [](const Choice& c) { return c.fuse.whole; }, when(fused)},
      {"pay_writeback_in_matmul", "Whether the choice has `--pay-writeback-in-matmul`.",
       [](const Choice& c) { return c.fuse.product_writes; }, when(fused)},
      {"proven",
       "Whether both sides are proven to be the best of their spaces and have room at the same time, or one is proven "
       "to have no mapping.",
       &Choice::proven},
      {"lower_bound", "No two mappings of the sides come to less of the objective, in its unit.", &Choice::lower_bound,
       when([](const Choice& c) { return std::isfinite(c.lower_bound); })},
      {"without_mapping", "Sides that have no mapping.", &Choice::without,
       when([](const Choice& c) { return !c.found; })},
      {"no_room",
       "Why both sides, each the best for itself, have no room at the same time: such a choice is not taken, and what "
       "it comes to is a bound.",
       &Choice::no_room, when([](const Choice& c) { return !c.no_room.empty(); })}};
  out.add(figures().only(found));
  Record<Choice> held = {
      {"product_tile_words", "Words of the matrix that all instances of the storage hold at a time for the GEMM.",
       &Choice::product_tile_words},
      {"normalisation_tile_words",
       "Words of the matrix that all instances of the storage hold at a time for the normalisation; the two need not "
       "agree.",
       &Choice::normalisation_tile_words}};
  return out.add(held.only([](const Choice& c) { return c.found && !c.fuse.level.empty(); }));
}

}  // namespace

std::string fused_table(const std::vector<FusedPair>& pairs) {
  Table table;
  table.header = {"pair",   "instances",     "fused at", "how",   "tiles (words)", "energy (uJ)",
                  "cycles", "EDP (J*cycle)", "unfused",  "ratio", "proof"};
  if (!pairs.empty() && pairs.front().metric == nest::Metric::kEnergy) table.header[8] = "unfused (uJ)";
  if (!pairs.empty() && pairs.front().metric == nest::Metric::kDelay) table.header[8] = "unfused (cycles)";
  table.left_columns = {2, 3};
  std::size_t choices = 0;
  for (const FusedPair& pair : pairs) {
    choices += static_cast<std::size_t>(
        std::count_if(pair.choices.begin(), pair.choices.end(), [](const Choice& c) { return c.found || c.proven; }));
    std::vector<std::string> row = {pair.product + " + " + pair.normalisation, std::to_string(pair.instances)};
    if (!pair.found) {
      row.insert(row.end(), {"-", "-", "-", "-", "-", "-", "-", "-", pair.proven ? "no mapping" : "none found"});
      table.rows.push_back(std::move(row));
      continue;
    }
    const Choice& chosen = pair.chosen();
    const bool beside = pair.unfused().found;
    row.insert(row.end(), {chosen.fuse.level.empty() ? "not fused" : chosen.fuse.level,
                           chosen.fuse.level.empty() ? "-" : flags(chosen.fuse), tiles(chosen),
                           energy_uj(chosen.energy_pj), std::to_string(chosen.cycles), edp(chosen.edp_j_cycles),
                           beside ? compared(pair) : "-", ratio(pair), proven_or_gap(pair)});
    table.rows.push_back(std::move(row));
  }
  std::string out =
      text(table) +
      fmt::format(
          "{} choices compared; figures of one instance, both sides summed; tiles: what the storage holds of "
          "the matrix for the product / the normalisation\n",
          choices);
  for (const FusedPair& pair : pairs) {
    const auto crowded = std::find_if(pair.choices.begin(), pair.choices.end(), [&](const Choice& c) {
      return !c.no_room.empty() && (!pair.found || pair.compared(c) < pair.compared(pair.chosen()));
    });
    if (crowded != pair.choices.end())
      out += fmt::format("{} + {} at {} would be cheaper, but {}\n", pair.product, pair.normalisation,
                         crowded->fuse.level, crowded->no_room);
  }
  return out;
}

std::vector<MappedLayer> marked(std::vector<MappedLayer> layers, const std::vector<FusedPair>& pairs) {
  for (const FusedPair& pair : pairs) {
    if (!pair.found || pair.chosen().fuse.level.empty()) continue;
    // A row of normalisations that several products feed stands once for each of them, and once for what is left.
    const std::string own = pair.normalisation + " after " + pair.product;
    const bool several =
        std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer.name == own; });
    for (MappedLayer& layer : layers)
      if (layer.name == pair.product || layer.name == (several ? own : pair.normalisation)) layer.name += ", fused";
  }
  return layers;
}

Record<FusedPair> fused_pair() {
  return {
      {"product", "Layer that makes the matrix.", &FusedPair::product},
      {"normalisation", "Layer that reads the matrix.", &FusedPair::normalisation},
      {"instances", "Instances of the pair; those of one layer may belong to several pairs.", &FusedPair::instances},
      {"chosen", "The choice of least total; null where no choice has a mapping.",
       [](const FusedPair& p) { return p.found ? &p.chosen() : nullptr; }, choice_record()},
      {"proven", "Whether it is proven that no other choice comes to less.", &FusedPair::proven},
      {"lower_bound", "No choice comes to less of the objective, in its unit; null where none has a mapping.",
       [](const FusedPair& p) { return std::isfinite(p.lower_bound) ? std::optional(p.lower_bound) : std::nullopt; }},
      {"gap", "How much less than the chosen one another choice may at most come to, as a share of that.", gap},
      {"choices", "All choices that were compared; the first one is not fused.", &FusedPair::choices, choice_record()}};
}

}  // namespace orrery::verbs
