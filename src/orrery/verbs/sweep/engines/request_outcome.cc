#include "orrery/verbs/sweep/engines/request_outcome.h"

#include <cmath>

#include "orrery/base/numbers/count.h"
#include "orrery/verbs/train/plans/plan_search.h"

namespace orrery::sweep {

using store::Figure;
using store::Outcome;
using store::Status;

namespace {

double twelve_digits(double value) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 11);
  return std::round(value / unit) * unit;
}

}  // namespace

Outcome outcome_of(const verbs::TrainedModel& trained, bool limited) {
  Outcome out;
  if (trained.iteration.surely_not() || (trained.search && trained.search->top.empty())) {
    out.status = Status::kInfeasible;
    out.reason = !trained.iteration.surely_not() ? verbs::explain_conflict(trained).message
                                                 : verbs::explain_no_fit(trained).message;
    return out;
  }
  const double seconds = trained.tokens > 0 ? trained.training_s : trained.iteration.iteration_s;
  const verbs::TrainingCost cost = verbs::training_cost(trained, seconds);
  out.status = limited ? Status::kGap : Status::kOptimal;
  out.gap = trained.search ? trained.search->certificate.gap : 0;
  out.figures[Figure::kSeconds] = seconds;
  out.figures[Figure::kUtilization] = trained.iteration.done.mfu;
  out.figures[Figure::kDollars] = cost.dollars.value_or(store::kAbsent);
  if (trained.joules) {
    const double iterations = seconds / trained.iteration.iteration_s;
    out.figures[Figure::kEnergy] = *trained.joules * iterations * 1e12;
    out.figures[Figure::kPower] = *trained.joules / trained.iteration.iteration_s;
  } else if (cost.kilowatt_hours) {
    out.figures[Figure::kEnergy] = *cost.kilowatt_hours * 3.6e18;
    out.figures[Figure::kPower] = *cost.kilowatt_hours * 3.6e6 / seconds;
  }
  return out;
}

Outcome outcome_of(const verbs::BlockAnswer& fused) {
  Outcome out;
  if (!fused.best) {
    out.status = fused.ended_early ? Status::kTimeout : Status::kInfeasible;
    out.reason = fused.ended_early ? "the search ended before it found a block" : fused.infeasible;
    return out;
  }
  out.status = fused.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = fused.certificate.optimal ? 0 : fused.certificate.gap;
  out.figures[Figure::kEnergy] = fused.best->energy;
  out.figures[Figure::kCycles] = fused.best->latency;
  out.figures[Figure::kEdp] = fused.best->energy * fused.best->latency / 1e12;
  out.figures[Figure::kSeconds] = fused.seconds;
  out.figures[Figure::kArea] = fused.area_um2.value_or(store::kAbsent);
  if (fused.seconds > 0) out.figures[Figure::kPower] = fused.best->energy * 1e-12 / fused.seconds;
  return out;
}

Outcome outcome_of(const verbs::PlacedGraph& placed) {
  Outcome out;
  const dataflow::Placement& placement = placed.placement;
  if (!placement.mapping) {
    out.status = placement.infeasible ? Status::kInfeasible : Status::kTimeout;
    out.reason =
        placed.reasons.empty() ? "the search ended before it found a placement" : placed.reasons.front().message;
    return out;
  }
  out.status = placement.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = placement.certificate.gap;
  set_placed_figures(placement.evaluation.final_ns, placement.evaluation.flop, placed.setup.system,
                     placement.evaluation.money, out);
  return out;
}

void set_placed_figures(double final_ns, double flop, const dataflow::System& system,
                        const dataflow::PlacementMoney& money, Outcome& out) {
  const double ns = twelve_digits(final_ns), peak = static_cast<double>(system.chips) * system.cores.gflops();
  out.figures[Figure::kSeconds] = ns / 1e9;
  out.figures[Figure::kUtilization] = ns > 0 && peak > 0 ? flop / (ns * peak) : 0;
  if (money.total_cost() > 0) out.figures[Figure::kDollars] = money.total_cost();
  if (money.total_power() > 0) {
    out.figures[Figure::kPower] = money.total_power();
    out.figures[Figure::kEnergy] = money.total_power() * ns * 1e3;
  }
}

Outcome outcome_of(const verbs::EstimatedChip& chip) {
  Outcome out;
  out.status = Status::kOptimal;
  double area = 0;
  for (const energy::EstimatedComponent& component : chip.components)
    area += component.area_um2 * static_cast<double>(component.count);
  out.figures[Figure::kArea] = area;
  return out;
}

Outcome outcome_of(const verbs::ServedAnswer& served) {
  Outcome out;
  if (served.best.empty()) {
    out.status = served.ended_early ? Status::kTimeout : Status::kInfeasible;
    out.reason = served.refused.all().empty() ? "nothing was found" : served.refused.all().front().message;
    return out;
  }
  const serving::Service& service = served.first().service;
  out.status = served.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = served.certificate.optimal ? 0 : served.certificate.gap;
  out.figures[Figure::kSeconds] = service.e2e;
  if (service.usd_per_million_tokens > 0) out.figures[Figure::kDollars] = service.usd_per_million_tokens;
  if (service.joules_per_token > 0) {
    out.figures[Figure::kEnergy] = service.joules_per_token * 1e12;
    out.figures[Figure::kPower] = service.joules_per_token * service.output_tokens_per_s;
  }
  return out;
}

Outcome outcome_of(const verbs::SparseSimulate& simulated) {
  Outcome out;
  if (!simulated.unfinished.empty() || simulated.cases.empty()) {
    out.status = Status::kTimeout;
    out.reason = simulated.unfinished.empty() ? "nothing was simulated" : simulated.unfinished.front();
    return out;
  }
  out.status = Status::kOptimal;
  out.gap = 0;
  out.figures[Figure::kCycles] = static_cast<double>(simulated.sum.cycles);
  out.figures[Figure::kSeconds] = simulated.seconds;
  out.figures[Figure::kUtilization] = simulated.sum.utilization;
  out.figures[Figure::kEnergy] = simulated.price.energy_pj;
  out.figures[Figure::kArea] = simulated.price.area_um2;
  if (simulated.seconds > 0) out.figures[Figure::kPower] = simulated.price.energy_pj * 1e-12 / simulated.seconds;
  return out;
}

Outcome outcome_of(const verbs::TunedSelection& selected) {
  Outcome out;
  if (!selected.selection) {
    const bool none = selected.read && selected.certificate.optimal;
    out.status = none ? Status::kInfeasible : Status::kTimeout;
    out.reason = none ? "no layouts were measured for all operators" : "the search ended before it found layouts";
    return out;
  }
  out.status = selected.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = selected.certificate.optimal ? 0 : selected.certificate.gap;
  out.figures[Figure::kSeconds] = static_cast<double>(selected.selection->time) / 1e15;
  return out;
}

}  // namespace orrery::sweep
