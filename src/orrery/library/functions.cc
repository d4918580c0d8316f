// The functions of orrery.h: each asks an engine about values that are ready.
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/version.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/nest/search/relaxed/sparse_search.h"
#include "orrery/engines/nest/sparse/sparse_model.h"
#include "orrery/engines/serving/model/served_model.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/formats/dfmodel/agreement.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/library/reading.h"
#include "orrery/orrery.h"

namespace orrery {
namespace {

namespace dfmodel = formats::dfmodel;

// As formats/timeloop/documents/problem.cc has them: sets of either are bits of a word.
constexpr std::size_t kMostDimensions = 64, kMostDataspaces = 32;

// A count that 64 bits do not hold is what the command line says of it.
template <typename Ask>
auto counted(const Ask& ask) {
  try {
    return ask();
  } catch (const base::OverflowError& error) {
    base::fail("O1004", fmt::format("a count does not fit 64 bits: {}", error.what()), {},
               "use smaller loop bounds, or fewer instances and blocks");
  }
}

// What a reader of problems refuses; an einsum may come from anywhere.
void require_sound(const workload::Einsum& einsum) {
  base::Diagnostics found;
  if (einsum.dimensions.size() > kMostDimensions || einsum.dataspaces.size() > kMostDataspaces)
    found.error("O0414", fmt::format("a problem can have {} dimensions and {} dataspaces at most", kMostDimensions,
                                     kMostDataspaces));
  for (const workload::Dimension& dimension : einsum.dimensions)
    if (dimension.bound < 1)
      found.error("O0402",
                  fmt::format("the bound of `{}` is {}; it must be at least 1", dimension.name, dimension.bound));
  bool output = false;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    output = output || dataspace.read_write;
    for (const workload::Rank& rank : dataspace.ranks)
      for (const workload::Term& term : rank.terms) {
        if (term.dimension < 0 || static_cast<std::size_t>(term.dimension) >= einsum.dimensions.size())
          found.error("O0403", fmt::format("the projection of `{}` uses {}, which is no dimension", dataspace.name,
                                           term.dimension));
        if (term.coefficient < 0)
          found.error("O0408", fmt::format("a coefficient of `{}` is {}; it must not be negative", dataspace.name,
                                           term.coefficient));
      }
  }
  if (!output) found.error("O0404", fmt::format("the problem `{}` has no output", einsum.name));
  found.throw_if_errors();
}

// Values of a caller may hold figures that no reader would let through.
template <typename Answer>
Answer finite(Answer answer, double time, const char* what) {
  if (!std::isfinite(time) || time < 0)
    throw std::invalid_argument(fmt::format("{}: the figures of the question give no finite time", what));
  return answer;
}

void require_possible(const Model& model, const System& system, const cluster::Plan& plan) {
  if (cluster::possible(model.value(), system.value(), plan)) return;
  base::Diagnostics found;
  cluster::check(model.value(), system.value(), plan, found);
  found.throw_if_errors();
}

dataflow::Setup agreed(dfmodel::SetupDocument document) {
  dfmodel::check_agreement(document, document.warnings);
  document.warnings.throw_if_errors();
  return std::move(document.setup);
}

}  // namespace

const char* version() {
  return base::kVersion;
}

nest::Optimum map(const Chip& chip, const workload::Einsum& einsum, const MapOptions& options) {
  require_sound(einsum);
  return counted([&] {
    const auto space = chip.space(einsum);
    const nest::Model model(einsum, chip.value(), options.model, space->reuse);
    const std::vector<nest::Metric>& objective = options.objective.empty() ? chip.objective() : options.objective;
    if (const auto zeros = chip.zeros(einsum))
      return nest::optimize_sparse(model, *zeros, *space, objective, options.limits).optimum;
    return nest::optimize(model, *space, objective, options.limits);
  });
}

MappedBlock map(const Chip& chip, const std::vector<workload::Operator>& block, const MapOptions& options) {
  MappedBlock mapped;
  for (const workload::Operator& op : block) {
    mapped.operators.push_back(map(chip.for_role(op.role), op.einsum, options));
    const nest::Optimum& optimum = mapped.operators.back();
    if (!optimum.mapping) continue;
    counted([&] {
      mapped.cycles = base::checked_add(mapped.cycles, base::checked_multiply(op.instances, optimum.evaluation.cycles));
      return 0;
    });
    mapped.energy_pj += static_cast<double>(op.instances) * optimum.evaluation.energy_pj;
  }
  mapped.edp_j_cycles = mapped.energy_pj * static_cast<double>(mapped.cycles) / 1e12;
  return mapped;
}

nest::Evaluation evaluate(const Chip& chip, const workload::Einsum& einsum, const nest::Mapping& mapping,
                          const nest::ModelOptions& options) {
  require_sound(einsum);
  const auto zeros = chip.zeros(einsum);
  verbs::demand_fit(einsum, chip.value(), zeros.get(), mapping, {});
  return counted([&] {
    const nest::Model model(einsum, chip.value(), options, chip.space(einsum)->reuse);
    if (!zeros) return model.evaluate(mapping);
    std::optional<nest::SparseMisfit> misfit;
    return nest::evaluate_sparse(model, *zeros, mapping, misfit)->evaluation;
  });
}

nest::Model evaluator(const Chip& chip, const workload::Einsum& einsum, const nest::ModelOptions& options) {
  require_sound(einsum);
  if (chip.zeros(einsum))
    base::fail("O2039", "the hardware does something about zeros, which a dense model does not count", {},
               "`map` and `evaluate` do; `nest::evaluate_sparse` takes many mappings, with `Chip::zeros`");
  return nest::Model(einsum, chip.value(), options, chip.space(einsum)->reuse);
}

struct Estimators::Known {
  explicit Known(verbs::EstimatorSetup setup) : estimators(std::move(setup)), all(estimators.all()) {}
  verbs::Estimators estimators;
  const std::vector<std::unique_ptr<energy::Estimator>>& all;
};

Estimators::Estimators(const std::vector<std::string>& tables, const Reading& how) {
  verbs::EstimatorSetup setup;
  setup.tables = tables;
  setup.catalogue = how.catalogue;
  known_ = std::make_shared<const Known>(std::move(setup));
}

std::vector<energy::EstimatedComponent> estimate(const std::vector<energy::Component>& components,
                                                 const Estimators& estimators) {
  base::Diagnostics found;
  std::vector<energy::EstimatedComponent> estimates =
      energy::estimate(components, estimators.known_->all, estimators.known_->estimators.setup().options(), found);
  found.throw_if_errors();
  return estimates;
}

cluster::Iteration train(const Model& model, const System& system, const cluster::Plan& plan) {
  return train(model, system, plan, system.operators());
}

cluster::Iteration train(const Model& model, const System& system, const cluster::Plan& plan,
                         const machine::OperatorModel& operators) {
  require_possible(model, system, plan);
  const cluster::Iteration iteration = cluster::evaluate(model.value(), system.value(), plan, operators);
  return finite(iteration, iteration.iteration_s, "train");
}

serving::Service serve(const Model& model, const System& system, const serving::Deployment& deployment,
                       const serving::Load& load) {
  const serving::ServedModel served = serving::served(model.config());
  base::Diagnostics found;
  serving::check(served, deployment, found);
  serving::check(load, found);
  found.throw_if_errors();
  const serving::ServedRoofline operators(system.value().accelerator);
  return serving::evaluate(served, system.value(), deployment, load, operators);
}

serving::Optimum serve(const Model& model, const System& system, serving::Space space, serving::Goal goal,
                       const serving::Load& load, const serving::ServiceLimits& limits) {
  base::Diagnostics found;
  serving::check(load, found);
  found.throw_if_errors();
  const serving::ServedRoofline operators(system.value().accelerator);
  if (space.machines.empty()) space.machines = {{&system.value(), &operators, system.value().max_gpus}};
  return serving::optimize(serving::served(model.config()), space, goal, limits, load, base::Budget());
}

dataflow::Setup setup_from_file(const std::string& path, const Reading& how) {
  return agreed(dfmodel::load_setup(path, how.overrides));
}

dataflow::Setup setup_from_text(const std::string& text, const Reading& how) {
  return agreed(dfmodel::read_setup(library::source(text), how.overrides));
}

dataflow::Placement place(const dataflow::Setup& setup, const dataflow::PlaceLimits& limits) {
  return counted([&] {
    dataflow::Placement placement = dataflow::optimize(setup, {}, limits);
    const double time = placement.mapping ? placement.evaluation.final_ns : 0;
    return finite(std::move(placement), time, "place");
  });
}

std::vector<verbs::ValidatedSet> validate(const std::vector<std::string>& tables, const Reading& how) {
  return verbs::validate_training(library::directory_of(how), tables);
}

}  // namespace orrery
