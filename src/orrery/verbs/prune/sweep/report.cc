#include "orrery/verbs/prune/sweep/report.h"

#include <fmt/format.h>

#include "orrery/present/answer.h"
#include "orrery/present/schemas.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/prune/pack/report.h"

namespace orrery::verbs {
namespace {

using D = SparseSweepDocument;

Record<D> answer_record() {
  using P = SweepPoint;
  const auto of = [](const D& d) -> const SparseSweep& { return *d.answer; };
  Record<P> point = {
      {"predictor", "How the mask was predicted.", &P::predictor},
      {"bits", "Of codes; null where nothing is quantised.", &P::bits},
      {"threshold", "Of probabilities; null of other predictors.", &P::threshold},
      {"keep", "Share of a row's keys or blocks; null of other predictors.", &P::keep},
      {"array", "PE rows x PEs of a row x column ports.", [](const P& p) { return array_text(p.array); }},
      {"scheme", "Of packing.", &P::packing},
      {"density", "Share of the pairs that is kept.", &P::density},
      {"error", "Of attention's output, relative, mean over heads; null without `--v`.", &P::error},
      {"pareto",
       "Fits, and none that fits is better in one of error, density and utilisation and as good "
       "in the others.",
       &P::pareto}};
  point.add(packed_scheme().of<P>(&P::packed));
  const Record<SparseSweep> result = {
      {"points", "In the order of predictors, settings, arrays and packings.", &SparseSweep::points, point},
      {"all", "How many points the sweep has; fewer are listed when it was stopped.", &SparseSweep::all},
      {"interrupted", "It was told to stop.", &SparseSweep::interrupted},
      {"out_of_time", "Its time was up.", &SparseSweep::out_of_time}};
  const auto envelope = [](const D& d) { return Envelope{d.version, {}, &d.answer->inputs, nullptr, d.seconds}; };
  return document<D>("sparse_sweep", kInputs | kTiming, envelope,
                     {{"result", "Every combination; errors are measured, utilisation is modelled.", of, result}});
}

}  // namespace

std::string sparse_sweep_json(const D& document) {
  return text(answer_record().json(document));
}

std::string sparse_sweep_table(const SparseSweep& answer) {
  Table table;
  table.header = {"predictor", "bits",        "threshold", "keep",      "array",
                  "packing",   "density (%)", "error (%)", "util. (%)", "Pareto"};
  const auto number = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string("-"); };
  for (const SweepPoint& p : answer.points)
    table.rows.push_back({p.predictor, number(p.bits), number(p.threshold), number(p.keep), array_text(p.array),
                          p.packing, percent(p.density), p.error ? percent(*p.error) : "-",
                          percent(p.packed.utilization),
                          p.pareto        ? "*"
                          : p.packed.fits ? ""
                                          : "no fit"});
  std::string out = text(table);
  if (answer.points.size() < answer.all)
    out += fmt::format("\nstopped: {} of {} points\n", answer.points.size(), answer.all);
  return out +
         "\n*: no other that fits is better in one of error, density and utilisation and as good in the others\n"
         "errors are measured against dense attention, utilisation is modelled\n";
}

Json sparse_sweep_schema() {
  return answer_record().schema();
}

}  // namespace orrery::verbs
