#include "orrery/inputs/layers/certify.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::verbs {
namespace {

constexpr double kEqual = 1e-11;  // sums of doubles taken in another order differ by less

double value_of(const nest::Evaluation& cost, nest::Metric metric) {
  switch (metric) {
    case nest::Metric::kEdp:
      return cost.edp_j_cycles;
    case nest::Metric::kEnergy:
      return cost.energy_pj;
    case nest::Metric::kDelay:
      return static_cast<double>(cost.cycles);
  }
  return cost.edp_j_cycles;
}

bool equal(double a, double b) {
  return std::abs(a - b) <= kEqual * std::max(std::abs(a), std::abs(b));
}

// "" when the mapping is what the answer says it is.
std::string fault_of_mapping(const nest::Model& model, const nest::Mapspace& space, const nest::Optimum& optimum) {
  if (!nest::is_legal(model.einsum(), model.chip(), *optimum.mapping)) return "its mapping cannot run on the chip";
  if (!nest::is_allowed(model.einsum(), model.chip(), *optimum.mapping, space))
    return "its mapping breaks a constraint";
  const nest::Evaluation again = model.evaluate(*optimum.mapping);
  if (!equal(again.energy_pj, optimum.evaluation.energy_pj) || again.cycles != optimum.evaluation.cycles)
    return fmt::format("its mapping costs {:.17g} pJ and {} cycles, not {:.17g} pJ and {} cycles", again.energy_pj,
                       again.cycles, optimum.evaluation.energy_pj, optimum.evaluation.cycles);
  return {};
}

}  // namespace

Certified certify(const nest::Model& model, const nest::Mapspace& space, const std::vector<nest::Metric>& objective,
                  const nest::Optimum& optimum, nest::SearchLimits limits) {
  const base::Stopwatch clock;
  Certified result;
  if (!optimum.certificate.optimal && !optimum.infeasible) return result;
  if (optimum.mapping) result.complaint = fault_of_mapping(model, space, optimum);
  if (result.complaint.empty()) {
    limits.progress = nullptr;
    nest::SearchRules rules{std::move(limits)};
    rules.lattice = rules.dominance = false;
    const nest::Optimum again = nest::optimize(model, space, objective, rules);
    if (!again.certificate.optimal && !again.infeasible) {
      result.interrupted = again.interrupted;
      result.out_of_memory = again.out_of_memory;
      result.seconds = clock.seconds();
      return result;
    }
    if (again.infeasible != optimum.infeasible) {
      result.complaint = again.infeasible ? "a slower search finds no mapping" : "a slower search finds a mapping";
    } else if (optimum.mapping) {
      for (const nest::Metric metric : objective) {
        const double first = value_of(optimum.evaluation, metric), second = value_of(again.evaluation, metric);
        if (!equal(first, second) && result.complaint.empty())
          result.complaint = fmt::format("its value is {:.17g}, that of a slower search {:.17g}", first, second);
      }
    }
  }
  result.finished = true;
  result.agrees = result.complaint.empty();
  result.seconds = clock.seconds();
  return result;
}

}  // namespace orrery::verbs
