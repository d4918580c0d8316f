// What a search must find: every mapping of a small problem priced once, and with it the least of each
// metric and the whole front. Test-only.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/engines/nest/model/describe_test_util.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/lattice/lattice.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/pareto.h"
#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest::testing {

// Sums of doubles taken in another order differ by less than this share.
inline constexpr double kRounding = 1e-11;

struct BruteForce {
  std::map<base::Count, double> least_energy;  // cycles -> pJ of the cheapest mapping that takes just so long
  double mappings = 0;

  bool empty() const { return least_energy.empty(); }
  double least(Metric metric) const {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [cycles, energy_pj] : least_energy)
      best = std::min(best, key_of({metric}, energy_pj, static_cast<double>(cycles))[0]);
    return best;
  }
};

inline BruteForce brute_force(const Model& model, const Space& space) {
  BruteForce out;
  Evaluation evaluation;
  enumerate(model.einsum(), space, [&](const Mapping& mapping) {
    model.evaluate(mapping, evaluation);
    ++out.mappings;
    const auto [at, fresh] = out.least_energy.try_emplace(evaluation.cycles, evaluation.energy_pj);
    if (!fresh) at->second = std::min(at->second, evaluation.energy_pj);
    return true;
  });
  return out;
}

// "" or what is wrong with the answer of a search for one metric.
inline std::string fault_of(const Optimum& found, const BruteForce& expected, Metric metric, const Instance& instance,
                            const Model& model) {
  const char* name = metric == Metric::kEdp ? "edp" : metric == Metric::kEnergy ? "energy" : "delay";
  if (found.mapping.has_value() == expected.empty())
    return fmt::format("{}: found {} mapping, enumerated {}", name, found.mapping ? "a" : "no", expected.mappings);
  if (found.infeasible != expected.empty()) return fmt::format("{}: infeasible is {}", name, found.infeasible);
  if (expected.empty()) return {};
  if (!found.certificate.optimal) return fmt::format("{}: not proven", name);
  if (!is_legal(instance.einsum, instance.chip, *found.mapping))
    return fmt::format("{}: not legal\n{}", name, describe(*found.mapping));
  if (!is_allowed(instance.einsum, instance.chip, *found.mapping, instance.space))
    return fmt::format("{}: not allowed\n{}", name, describe(*found.mapping));
  const Evaluation again = model.evaluate(*found.mapping);
  if (again.energy_pj != found.evaluation.energy_pj || again.cycles != found.evaluation.cycles)
    return fmt::format("{}: the evaluation is of another mapping", name);
  const double value = key_of({metric}, found.evaluation)[0], best = expected.least(metric);
  if (value > best * (1 + kRounding) || value < best * (1 - kRounding))
    return fmt::format("{}: found {:.17g}, the best is {:.17g}\n{}", name, value, best, describe(*found.mapping));
  return {};
}

// The same for a front. Mappings whose energies differ by rounding alone may stand for each other.
inline std::string fault_of(const ParetoFront& front, const BruteForce& expected, const Instance& instance,
                            const Model& model) {
  if (front.infeasible != expected.empty()) return fmt::format("front: infeasible is {}", front.infeasible);
  if (expected.empty()) return {};
  if (!front.complete) return "front: not complete";
  std::string listed;
  for (const Optimum& point : front.points) {
    if (!point.mapping) return "front: a point without a mapping";
    if (!is_legal(instance.einsum, instance.chip, *point.mapping) ||
        !is_allowed(instance.einsum, instance.chip, *point.mapping, instance.space))
      return fmt::format("front: not legal and allowed\n{}", describe(*point.mapping));
    const Evaluation again = model.evaluate(*point.mapping);
    if (again.energy_pj != point.evaluation.energy_pj || again.cycles != point.evaluation.cycles)
      return "front: the evaluation is of another mapping";
    listed += fmt::format("\n  {} cycles, {:.17g} pJ", point.evaluation.cycles, point.evaluation.energy_pj);
  }
  for (std::size_t k = 1; k < front.points.size(); ++k) {
    const Evaluation &slower = front.points[k - 1].evaluation, &faster = front.points[k].evaluation;
    if (faster.cycles >= slower.cycles || faster.energy_pj <= slower.energy_pj)
      return "front: one point makes another superfluous" + listed;
  }
  for (const auto& [cycles, energy_pj] : expected.least_energy) {
    const bool matched =
        std::any_of(front.points.begin(), front.points.end(), [&, c = cycles, e = energy_pj](const Optimum& point) {
          return point.evaluation.cycles <= c && point.evaluation.energy_pj <= e * (1 + kRounding);
        });
    if (!matched) return fmt::format("front: nothing matches {} cycles, {:.17g} pJ{}", cycles, energy_pj, listed);
    for (const Optimum& point : front.points)
      if ((cycles < point.evaluation.cycles && energy_pj <= point.evaluation.energy_pj) ||
          (cycles <= point.evaluation.cycles && energy_pj < point.evaluation.energy_pj * (1 - kRounding)))
        return fmt::format("front: {} cycles, {:.17g} pJ are better than a point{}", cycles, energy_pj, listed);
  }
  return {};
}

// Three objectives and the front against one enumeration. `answered`: whether there is a mapping at all.
struct Verdict {
  std::string fault;  // "" when all agree
  bool answered = false;
  bool lattice = false;  // the lattice took the problem
  std::size_t front = 0;
};

inline Verdict compare_with_brute_force(const Instance& instance, const SearchRules& limits = {}) {
  const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
  const Space space(instance.einsum, instance.chip, instance.space, model.shape());
  const BruteForce expected = brute_force(model, space);
  Verdict verdict;
  verdict.answered = !expected.empty();
  for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay})
    if (verdict.fault.empty())
      verdict.fault = fault_of(optimize(model, instance.space, {metric}, limits), expected, metric, instance, model);
  if (!verdict.fault.empty()) return verdict;
  const ParetoFront front = pareto_front(model, instance.space, limits);
  verdict.front = front.points.size();
  verdict.fault = fault_of(front, expected, instance, model);
  verdict.lattice = limits.lattice && optimize_on_lattice(model, space, {Metric::kEdp}, limits, {}).has_value();
  return verdict;
}

}  // namespace orrery::nest::testing
