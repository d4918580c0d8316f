// Cost: a microsecond a row, reading apart.
#include "orrery/verbs/validate/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/verbs/validate/error_groups.h"

namespace orrery::verbs {
namespace {

// Predictions of one utilisation for all points, the median of the measured `utilisations`, one a point.
void compare_with_constant(const std::vector<double>& utilisations, ValidatedSet& set) {
  std::vector<double> sorted = utilisations;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> held_out;
  for (ValidatedPoint& point : set.points) {
    point.constant = error_of_utilisation(point, sorted[sorted.size() / 2]);
    if (point.run.use == Use::kHeldOut) held_out.push_back(point.constant);
  }
  set.constant = summarise(held_out);
}

}  // namespace

std::vector<ValidatedSet> validate_training(const std::string& directory, const std::vector<std::string>& only) {
  base::Diagnostics found;
  std::vector<ValidatedSet> result;
  for (MeasuredSet& set : read_measured(directory, only)) {
    ValidatedSet validated;
    validated.name = set.name, validated.title = set.title;
    validated.source = set.source, validated.licence = set.licence;
    validated.calculon = set.calculon;
    std::vector<double> held_out, fitted, memory, utilisations;
    for (MeasuredRun& run : set.runs) {
      const cluster::System& system = *run.system;
      base::Diagnostics impossible;
      cluster::check(run.model, system, run.plan, impossible);
      if (impossible.has_errors()) {
        for (const base::Diagnostic& diagnostic : impossible.all())
          found.error("O1358", fmt::format("{}: {}", diagnostic.code, diagnostic.message), run.where);
        continue;
      }
      ValidatedPoint point;
      point.iteration = cluster::evaluate(run.model, system, run.plan, machine::Roofline(system.accelerator));
      point.predicted = predicted(point.iteration, run.plan, run.measure);
      point.error = point.predicted / run.value - 1;
      point.kind = kind_of(run.model, system, run.plan);
      if (run.memory_bytes > 0) {
        point.memory_error = point.iteration.memory.total() / run.memory_bytes - 1;
        memory.push_back(*point.memory_error);
      }
      if (!point.iteration.fits) ++validated.refused;
      if (run.use == Use::kHeldOut) held_out.push_back(point.error);
      if (run.use == Use::kFitted) fitted.push_back(point.error);
      point.run = std::move(run);
      utilisations.push_back(measured_utilisation(point));
      validated.points.push_back(std::move(point));
    }
    compare_with_constant(utilisations, validated);
    validated.memory = summarise(memory);
    std::stable_sort(validated.points.begin(), validated.points.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.error) > std::abs(b.error); });
    validated.held_out = summarise(held_out);
    validated.fitted = summarise(fitted);
    result.push_back(std::move(validated));
  }
  found.throw_if_errors();
  return result;
}

}  // namespace orrery::verbs
