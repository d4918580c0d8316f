#include "orrery/verbs/sweep/engines/layer_answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/imperfect/imperfect_search.h"
#include "orrery/engines/nest/search/lattice/lattice_problem.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/search/relaxed/sparse_search.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::sweep {
namespace {

using store::Figure;
using store::Figures;
using store::Outcome;
using store::Status;

std::vector<nest::Metric> objective_of(const verbs::LayerQuestion& question, const LayerSearch& search) {
  if (!search.objective.empty()) return search.objective;
  return question.objective.empty() ? std::vector<nest::Metric>{nest::Metric::kEdp} : question.objective;
}

nest::Optimum optimum_of(const nest::Model& model, const verbs::LayerQuestion& question,
                         const std::vector<nest::Metric>& objective, const LayerSearch& search) {
  if (question.sparse)
    return nest::optimize_sparse(model, *question.sparse, question.space, objective, search.limits).optimum;
  switch (search.factors) {
    case nest::Factors::kPadded:
      return nest::optimize_padded(model, question.space, objective, search.limits).optimum;
    case nest::Factors::kImperfect:
      return nest::optimize_imperfect(model, question.space, objective, search.limits).optimum;
    case nest::Factors::kPerfect:
      break;
  }
  return nest::optimize(model, question.space, objective, search.limits);
}

// Every operation computed once, on as many units as there are: whatever factors do.
void floor_of_any_factors(const nest::Model& model, double& energy, double& cycles) {
  const double operations = static_cast<double>(model.einsum().operations());
  const double units = static_cast<double>(model.chip().compute.instances);
  energy = operations * model.chip().compute.compute_pj;
  cycles = std::ceil(operations / std::max(1.0, units));
}

std::string why_not(const nest::Optimum& optimum) {
  std::string out;
  for (const nest::Conflict& conflict : optimum.conflicts) out += (out.empty() ? "" : "; ") + conflict.text;
  return out.empty() ? "no mapping satisfies the constraints" : out;
}

}  // namespace

Outcome answer_layer(const verbs::LayerQuestion& question, const LayerSearch& search) {
  Outcome out;
  const auto refuse = [&](const base::InputError& error) {
    out.status = Status::kError;
    out.reason = fmt::format("{}: {}", error.diagnostics.front().code, error.diagnostics.front().message);
    return out;
  };
  try {
    const nest::Model model(question.einsum, *question.chip, search.model, question.space.reuse);
    const nest::Optimum best = optimum_of(model, question, objective_of(question, search), search);
    if (!best.mapping) {
      out.status = best.infeasible ? Status::kInfeasible : Status::kTimeout;
      out.reason = best.infeasible ? why_not(best) : "the search ended before it found a mapping";
      return out;
    }
    out.status = best.certificate.optimal ? Status::kOptimal : Status::kGap;
    out.gap = best.certificate.optimal ? 0 : best.certificate.gap;
    out.lower_bound = best.certificate.lower_bound;
    out.figures[Figure::kEnergy] = best.evaluation.energy_pj;
    out.figures[Figure::kCycles] = static_cast<double>(best.evaluation.cycles);
    out.figures[Figure::kUtilization] = best.evaluation.utilization;
    out.figures[Figure::kEdp] = out.figures[Figure::kEdpSeed] = best.evaluation.edp_j_cycles;
    out.figures[Figure::kSeconds] = static_cast<double>(best.evaluation.cycles) * question.chip->cycle_seconds;
    return out;
  } catch (const base::InputError& error) {
    return refuse(error);
  } catch (const base::OverflowError&) {
    return refuse(verbs::uncountable(question.name, question.einsum, *question.chip));
  }
}

double search_effort(const verbs::LayerQuestion& question) {
  double tiles = 1;
  for (const workload::Dimension& dimension : question.einsum.dimensions)
    tiles *= static_cast<double>(base::divisors(dimension.bound).size());
  return tiles * static_cast<double>(question.chip->storages.size());
}

Figures layer_floor(const verbs::LayerQuestion& question, const LayerSearch& search) {
  Figures out;
  if (question.sparse) return out;  // zeros may save any of it
  try {
    const nest::Model model(question.einsum, *question.chip, search.model, question.space.reuse);
    double energy = 0, cycles = 0;
    floor_of_any_factors(model, energy, cycles);
    if (search.factors == nest::Factors::kPerfect) {
      const nest::Space space(model.einsum(), model.chip(), question.space, model.shape());
      energy = nest::lower_bound_of(model, space, nest::Metric::kEnergy);
      cycles = nest::lower_bound_of(model, space, nest::Metric::kDelay);
      if (const auto problem = nest::lattice::describe(model, space)) {
        energy = std::max(energy, nest::lattice::compulsory_pj(*problem));
        cycles = std::max(cycles, std::ceil(nest::lattice::least_cycles(*problem)));
      }
    }
    energy *= 1 - 1e-12;  // sums of many terms, rounded in another order
    out[Figure::kEnergy] = energy;
    out[Figure::kCycles] = cycles;
    out[Figure::kEdp] = out[Figure::kEdpSeed] = energy * cycles / 1e12;
    out[Figure::kSeconds] = cycles * question.chip->cycle_seconds;
  } catch (const base::InputError&) {  // the search will say so
  } catch (const base::OverflowError&) {
  }
  return out;
}

double layer_least(const verbs::LayerQuestion& question, const LayerSearch& search, nest::Metric metric) {
  try {
    const nest::Model model(question.einsum, *question.chip, search.model, question.space.reuse);
    const nest::Optimum best = optimum_of(model, question, {metric}, search);
    if (best.mapping) return best.certificate.lower_bound * (1 - 1e-12);  // sums, rounded in another order
  } catch (const base::InputError&) {                                     // the answers will say so
  } catch (const base::OverflowError&) {
  }
  return 0;
}

}  // namespace orrery::sweep
