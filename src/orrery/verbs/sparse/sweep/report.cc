#include "orrery/verbs/sparse/sweep/report.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/sparse/pack/report.h"

namespace orrery::verbs {

Document<SparseSweep> sparse_sweep_document() {
  using P = SweepPoint;
  Record<P> point = {
      {"predictor", "How the mask was predicted.", &P::predictor},
      {"bits", "Bits of the predictor's codes; null where it does not quantise.", &P::bits},
      {"threshold", "Predicted probability above which a key is kept; null for predictors other than threshold.",
       &P::threshold},
      {"keep", "Share of a row's keys or blocks that is kept; null for predictors other than top-k and blocks.",
       &P::keep},
      {"array", "Array: PE rows x PEs of a row x column ports.", [](const P& p) { return array_text(p.array); }},
      {"scheme", "How kept pairs are packed.", &P::packing},
      {"density", "Share of the query-key pairs that is kept.", &P::density},
      {"error", "Relative error of attention's output, mean over heads; null without `--v`.", &P::error},
      {"pareto",
       "On the Pareto front: it fits, and no other point that fits is as good in error, density and utilisation and "
       "better in one.",
       &P::pareto}};
  point.add(packed_scheme().of<P>(&P::packed));
  const Record<SparseSweep> result = {
      {"points", "In the order of predictors, settings, arrays and packings.", &SparseSweep::points, point},
      {"all", "How many points the sweep has; fewer are listed when it was stopped.", &SparseSweep::all},
      {"interrupted", "True: an interrupt ended it.", &SparseSweep::interrupted},
      {"out_of_time", "True: its time limit ended it.", &SparseSweep::out_of_time}};
  return {"sparse_sweep", "Every combination; errors are measured, utilisation is modelled.", result};
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
         "\n*: Pareto front: no other that fits is as good in error, density and utilisation and better in one\n"
         "errors are measured against dense attention, utilisation is modelled\n";
}

}  // namespace orrery::verbs
