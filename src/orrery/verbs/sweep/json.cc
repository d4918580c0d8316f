// The document is put together around its points: the text of an answer without points is cut where they belong, and
// each is written as it is read.
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/verbs/sweep/points/values.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

using store::Figure;
using sweep::Ranking;
using sweep::SweepAnswer;

// A point, as the record below describes it.
struct PointJson {
  const SweepAnswer* answer = nullptr;
  std::size_t at = 0;
  std::vector<sweep::StoredPart> layers;

  bool known() const { return answer->points.known(at); }
  std::optional<double> figure(Figure figure) const {
    const double value = known() ? answer->points.figures(at)[figure] : store::kAbsent;
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
};

using LayerJson = sweep::StoredPart;

std::optional<double> present(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Record<LayerJson> layer_record() {
  const auto of = [](Figure figure) {
    return [figure](const LayerJson& l) { return present(l.outcome.figures[figure]); };
  };
  return {{"status", "Status of the search, as of a point.",
           [](const LayerJson& l) { return std::string(store::name(l.outcome.status)); }},
          {"instances", "How many equal copies of it run one after the other.", &LayerJson::instances},
          {"energy_pj", "Energy of one instance, in pJ.", of(Figure::kEnergy)},
          {"cycles", "Cycles of one instance.", of(Figure::kCycles)},
          {"utilization", "Utilisation of the compute units, 0 to 1.", of(Figure::kUtilization)},
          {"edp_j_cycles", "Energy-delay product of one instance: energy_pj * cycles / 1e12, in J * cycles.",
           of(Figure::kEdp)},
          {"gap", "Share by which a better answer may exist; 0: proven optimal.",
           [](const LayerJson& l) { return present(l.outcome.gap); }}};
}

Record<PointJson> point_record() {
  const auto of = [](Figure figure) { return [figure](const PointJson& p) { return p.figure(figure); }; };
  return {
      {"config", "The fields that vary, by their paths: numbers, true, false, or texts.",
       [](const PointJson& p) {
         std::vector<std::pair<std::string, Json>> out;
         for (const base::Override& set : p.answer->study.at(p.answer->points.number(p.at)))
           out.emplace_back(set.path, sweep_value(set.value));
         return out;
       }},
      {"status", "optimal, gap, pruned (excluded by its bound), infeasible, timeout, error, or open: not reached yet.",
       [](const PointJson& p) {
         return p.known() ? std::string(store::name(p.answer->points.status(p.at))) : std::string("open");
       },
       OneOf{{"optimal", "gap", "pruned", "infeasible", "timeout", "error", "open"}}},
      {"reason", "Why the point has no figures; null where it has them.",
       [](const PointJson& p) {
         const std::string& reason = p.answer->points.reason(p.at);
         return reason.empty() ? std::optional<std::string>() : std::optional(reason);
       }},
      {"lower_bound", "For pruned points: no answer is below it in the first objective.",
       [](const PointJson& p) { return p.known() ? present(p.answer->points.lower_bound(p.at)) : std::nullopt; }},
      {"energy_pj",
       "Energy of the whole workload (all layers, instances and blocks), in pJ; null where the verb does not tell it.",
       of(Figure::kEnergy)},
      {"cycles", "Cycles of the whole workload; null where the verb does not tell them.", of(Figure::kCycles)},
      {"utilization", "Utilisation of the compute units, 0 to 1; for `train` its MFU.", of(Figure::kUtilization)},
      {"edp_j_cycles", "Energy-delay product: energy_pj * cycles / 1e12, in J * cycles.", of(Figure::kEdp)},
      {"edp_seed", "Sum of the layers' energy-delay products, by which Timeloop-Experiments ranks, in J * cycles.",
       of(Figure::kEdpSeed)},
      {"area_um2", "Area of the chip, in um^2.", of(Figure::kArea)},
      {"seconds", "Time of the workload, in seconds; for `train` of an iteration, or of all tokens with `--tokens`.",
       of(Figure::kSeconds)},
      {"dollars", "Cost of the run (`train`), of the system (`place`), or of a million tokens (`serve`), in dollars.",
       of(Figure::kDollars)},
      {"power_w", "Power: energy over seconds, in W.", of(Figure::kPower)},
      {"layers", "The results that the point is made of, by name; empty for pruned points.",
       [](const PointJson& p) {
         std::vector<std::pair<std::string, LayerJson>> out;
         for (const LayerJson& layer : p.layers) out.emplace_back(layer.name, layer);
         return out;
       },
       layer_record()}};
}

}  // namespace

Document<SweepAnswer> sweep_document() {
  const Record<sweep::Effect> effect = {
      {"path", "Path of the field.", &sweep::Effect::path},
      {"share", "Share of the variance of log(first objective) that the field explains, over the points with figures.",
       &sweep::Effect::share},
      {"best", "The field's value with the best mean of the first objective.", &sweep::Effect::best}};
  const Record<SweepAnswer> result = {
      {"verb", "The verb that answers the points.", [](const SweepAnswer& a) { return a.study.verb; }},
      {"points", "Every point, in the order of the product: the last field runs fastest.",
       [](const SweepAnswer&) { return std::vector<PointJson>(); }, point_record()},
      {"best", "By objective, the place of its best point in `points`; null where no point has the figure.",
       [](const SweepAnswer& a) {
         std::vector<std::pair<std::string, std::optional<base::Count>>> out;
         for (std::size_t o = 0; o < a.study.objectives.size(); ++o)
           out.emplace_back(a.study.objectives[o].name, o < a.ranking.best.size() && a.ranking.best[o] != Ranking::kNone
                                                            ? std::optional(static_cast<base::Count>(a.ranking.best[o]))
                                                            : std::nullopt);
         return out;
       }},
      {"pareto",
       "Pareto front: places in `points` that no other point beats in the objectives, the best by the first one first.",
       [](const SweepAnswer& a) { return std::vector<base::Count>(a.ranking.pareto.begin(), a.ranking.pareto.end()); }},
      {"effects", "How much each field matters to the first objective, the largest first.",
       [](const SweepAnswer& a) { return a.ranking.effects; }, effect},
      {"evaluated", "Points evaluated in this run.", &SweepAnswer::evaluated},
      {"stored_before", "Points whose answers were in the store before.", &SweepAnswer::stored_before},
      {"finished", "False: a limit or an interrupt ended it; the same command goes on.", &SweepAnswer::finished}};
  return {"sweep", "Every point; figures are modelled.", result};
}

Json sweep_value(const std::string& text) {
  double number = 0;
  if (text == "true" || text == "false") return text == "true";
  if (!sweep::is_number(text, number)) return text;
  const auto whole = base::whole_number(number);
  return whole && static_cast<double>(*whole) == number ? Json(*whole) : Json(number);
}

void sweep_json(const SweepPrinted& printed, const std::function<void(const std::string&)>& write) {
  const std::string whole = sweep_document().json(*printed.answer, printed.seconds, printed.command);
  const std::string marker = "\"points\": []";
  const std::size_t at = whole.find(marker);
  const SweepAnswer& answer = *printed.answer;
  write(whole.substr(0, at) + "\"points\": [");
  const Record<PointJson> record = point_record();
  std::string piece;
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    PointJson point{&answer, i, {}};
    if (printed.layers && answer.points.found(i)) point.layers = printed.layers(i);
    std::string one = text(record.json(point));
    one.pop_back();
    std::string indented;
    for (const char c : one) {
      indented += c;
      if (c == '\n') indented += "      ";
    }
    piece += (i > 0 ? ",\n      " : "\n      ") + indented;
    if (piece.size() > (std::size_t{1} << 20)) {
      write(piece);
      piece.clear();
    }
  }
  write(piece + (answer.points.size() > 0 ? "\n    ]" : "]") + whole.substr(at + marker.size()));
}

Document<StoreStatus> sweep_status_document() {
  using S = store::Summary;
  const Record<S> study = {
      {"study", "Number of the study in the store.", [](const S& s) { return s.study.id; }},
      {"title", "Title as it was given, or the verb and its arguments.", [](const S& s) { return s.study.title; }},
      {"verb", "The verb that answers its points.", [](const S& s) { return s.study.verb; }},
      {"points", "Points of the product, before filters and shards.",
       [](const S& s) { return static_cast<base::Count>(s.study.points); }},
      {"stored", "Points with an answer in the store.", [](const S& s) { return static_cast<base::Count>(s.stored); }},
      {"status", "How many stored points have each status.",
       [](const S& s) {
         std::vector<std::pair<std::string, base::Count>> out;
         for (int i = 0; i < store::kStatuses; ++i)
           out.emplace_back(store::name(static_cast<store::Status>(i)), static_cast<base::Count>(s.by_status[i]));
         return out;
       }},
      {"version", "Version of the Orrery that wrote it last.", &S::version},
      {"begun", "When it began, in UTC.", &S::begun},
      {"changed", "When it last changed, in UTC.", &S::changed}};
  return {"sweep_status",
          Record<StoreStatus>{
              {"store", "File of the store.", &StoreStatus::path},
              {"integrity", "Result of the database's check of itself: ok, or what is wrong.", &StoreStatus::integrity},
              {"studies", "The studies, in the order in which they began.", &StoreStatus::studies, study}},
          0};
}

}  // namespace orrery::verbs
