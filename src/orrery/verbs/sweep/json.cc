// The document is put together around its points: the text of an answer without points is cut where they belong, and
// each is written as it is read.
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/answer.h"
#include "orrery/present/schemas.h"
#include "orrery/verbs/sweep/points/values.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

using store::Figure;
using sweep::Ranking;
using sweep::SweepAnswer;
using D = SweepDocument;

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
  return {{"status", "As of a point.", [](const LayerJson& l) { return std::string(store::name(l.outcome.status)); }},
          {"instances", "Equal copies that run one after the other.", &LayerJson::instances},
          {"energy_pj", "Of one instance; so are the others.", of(Figure::kEnergy)},
          {"cycles", "Of one instance.", of(Figure::kCycles)},
          {"utilization", "Of the compute units, 0 to 1.", of(Figure::kUtilization)},
          {"edp_j_cycles", "pJ * cycles / 1e12.", of(Figure::kEdp)},
          {"gap", "Share by which an answer may be better; 0: proven.",
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
      {"reason", "Why there are no figures; null where there are.",
       [](const PointJson& p) {
         const std::string& reason = p.answer->points.reason(p.at);
         return reason.empty() ? std::optional<std::string>() : std::optional(reason);
       }},
      {"lower_bound", "Of pruned points: no answer is below it in the first objective.",
       [](const PointJson& p) { return p.known() ? present(p.answer->points.lower_bound(p.at)) : std::nullopt; }},
      {"energy_pj", "Of the whole workload: all layers, instances and blocks; null where the verb has none.",
       of(Figure::kEnergy)},
      {"cycles", "Likewise.", of(Figure::kCycles)},
      {"utilization", "Of the compute units, 0 to 1; of `train` MFU.", of(Figure::kUtilization)},
      {"edp_j_cycles", "energy_pj * cycles / 1e12.", of(Figure::kEdp)},
      {"edp_seed", "Sum of the layers' products, as Timeloop-Experiments ranks.", of(Figure::kEdpSeed)},
      {"area_um2", "Of the chip.", of(Figure::kArea)},
      {"seconds", "Of the workload; of `train` of an iteration, or of all tokens with `--tokens`.",
       of(Figure::kSeconds)},
      {"dollars", "Of the run (`train`), of the system (`place`).", of(Figure::kDollars)},
      {"power_w", "energy over seconds.", of(Figure::kPower)},
      {"layers", "Results that the point is made of, by name; empty of pruned points.",
       [](const PointJson& p) {
         std::vector<std::pair<std::string, LayerJson>> out;
         for (const LayerJson& layer : p.layers) out.emplace_back(layer.name, layer);
         return out;
       },
       layer_record()}};
}

Record<D> answer_record() {
  const auto of = [](const D& d) -> const SweepAnswer& { return *d.answer; };
  const Record<sweep::Effect> effect = {
      {"path", "Of the field.", &sweep::Effect::path},
      {"share", "Of the variance of log(objective), over the points with figures.", &sweep::Effect::share},
      {"best", "The value with the best mean.", &sweep::Effect::best}};
  const Record<SweepAnswer> result = {
      {"verb", "That answers the points.", [](const SweepAnswer& a) { return a.study.verb; }},
      {"points", "In the order of the product, the last field running fastest.",
       [](const SweepAnswer&) { return std::vector<PointJson>(); }, point_record()},
      {"best", "By objective: which of `points`; null where none has the figure.",
       [](const SweepAnswer& a) {
         std::vector<std::pair<std::string, std::optional<base::Count>>> out;
         for (std::size_t o = 0; o < a.study.objectives.size(); ++o)
           out.emplace_back(a.study.objectives[o].name, o < a.ranking.best.size() && a.ranking.best[o] != Ranking::kNone
                                                            ? std::optional(static_cast<base::Count>(a.ranking.best[o]))
                                                            : std::nullopt);
         return out;
       }},
      {"pareto", "Which of `points` no other one beats in the objectives, the best by the first one first.",
       [](const SweepAnswer& a) { return std::vector<base::Count>(a.ranking.pareto.begin(), a.ranking.pareto.end()); }},
      {"effects", "How much each field matters to the first objective, the largest first.",
       [](const SweepAnswer& a) { return a.ranking.effects; }, effect},
      {"evaluated", "Points evaluated in this run.", &SweepAnswer::evaluated},
      {"stored_before", "Points that were in the store.", &SweepAnswer::stored_before},
      {"finished", "False: a limit or an interrupt ended it; the same command goes on.", &SweepAnswer::finished}};
  const auto envelope = [](const D& d) {
    return Envelope{d.version, {}, &d.answer->inputs, &d.answer->warnings, d.seconds};
  };
  return document<D>("sweep", kInputs | kWarnings | kTiming, envelope,
                     {{"result", "Every point; figures are modelled.", of, result}});
}

}  // namespace

Json sweep_value(const std::string& text) {
  double number = 0;
  if (text == "true" || text == "false") return text == "true";
  if (!sweep::is_number(text, number)) return text;
  const auto whole = base::whole_number(number);
  return whole && static_cast<double>(*whole) == number ? Json(*whole) : Json(number);
}

void sweep_json(const D& document, const std::function<void(const std::string&)>& write) {
  const std::string whole = text(answer_record().json(document));
  const std::string marker = "\"points\": []";
  const std::size_t at = whole.find(marker);
  const SweepAnswer& answer = *document.answer;
  write(whole.substr(0, at) + "\"points\": [");
  const Record<PointJson> record = point_record();
  std::string piece;
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    PointJson point{&answer, i, {}};
    if (document.layers && answer.points.found(i)) point.layers = document.layers(i);
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

Json sweep_schema() {
  return answer_record().schema();
}

namespace {

Record<StoreStatus> status_record() {
  using S = store::Summary;
  const Record<S> study = {
      {"study", "Its number in the store.", [](const S& s) { return s.study.id; }},
      {"title", "As it was given, or the verb's arguments.", [](const S& s) { return s.study.title; }},
      {"verb", "That answers its points.", [](const S& s) { return s.study.verb; }},
      {"points", "Of the product, before filters and shards.",
       [](const S& s) { return static_cast<base::Count>(s.study.points); }},
      {"stored", "Of them with an answer.", [](const S& s) { return static_cast<base::Count>(s.stored); }},
      {"status", "How many of each.",
       [](const S& s) {
         std::vector<std::pair<std::string, base::Count>> out;
         for (int i = 0; i < store::kStatuses; ++i)
           out.emplace_back(store::name(static_cast<store::Status>(i)), static_cast<base::Count>(s.by_status[i]));
         return out;
       }},
      {"version", "Of the Orrery that wrote it last.", &S::version},
      {"begun", "UTC.", &S::begun},
      {"changed", "UTC.", &S::changed}};
  const auto envelope = [](const StoreStatus& d) { return Envelope{d.version, {}, nullptr, nullptr, 0}; };
  return document<StoreStatus>("sweep_status", 0, envelope,
                               {{"store", "Its file.", &StoreStatus::path},
                                {"integrity", "What the database says of itself: ok.", &StoreStatus::integrity},
                                {"studies", "In the order in which they began.", &StoreStatus::studies, study}});
}

}  // namespace

std::string sweep_status_json(const StoreStatus& status) {
  return text(status_record().json(status));
}

Json sweep_status_schema() {
  return status_record().schema();
}

}  // namespace orrery::verbs
