// Orrery as a library: functions on values.
//
// A chip, a model and a system are prepared once: by their names in the catalogue, from files, from text, or from
// values of the engines. They are immutable, cheap to copy and safe to share between threads. The functions below read
// no files and print nothing, except `validate`. What cannot be computed from its input is thrown as InputError, with
// every diagnostic that the command line would print. docs/library.md is a tour.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/override.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/describe/workload/plain_transformer.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/engines/serving/model/evaluate.h"
#include "orrery/engines/serving/search/optimize.h"
#include "orrery/verbs/validate/run.h"

namespace orrery {

using base::Count;
using base::Diagnostic;
using base::InputError;

const char* version();

// How descriptions are read.
struct Reading {
  std::string catalogue = {};      // its directory; empty: see docs/library.md
  base::Overrides overrides = {};  // as `--set path=value`
  bool without_ert = false;        // of a chip: ERT and ART are left aside, so that all its figures are estimated
  std::vector<std::string> ignored = {};  // of a model: keys of its config.json to leave out of account (`--ignore`)
  std::string like = {};  // of a model: read it as one of this `model_type` (`--like`); empty: as its own
};

// The directory of the catalogue: the environment variable ORRERY_CATALOG, else share/orrery/catalog beside the folder
// of the executable. Throws InputError (O1110) where there is none.
std::string catalogue_directory();

// Everything that is known of the energy and area of components: the catalogue's figures and the user's tables.
class Estimators {
 public:
  // `tables`: folders of Accelergy's estimation tables, which take precedence.
  explicit Estimators(const std::vector<std::string>& tables = {}, const Reading& how = {});

 private:
  friend std::vector<energy::EstimatedComponent> estimate(const std::vector<energy::Component>&, const Estimators&);
  struct Known;
  std::shared_ptr<const Known> known_;
};

// A chip and what its description allows as a mapping.
class Chip {
 public:
  // A chip of the catalogue, or a file by its path (with a `/` or a suffix .yaml).
  static Chip named(const std::string& name, const Reading& how = {});
  static Chip from_files(const std::vector<std::string>& paths, const Reading& how = {});
  static Chip from_text(const std::string& text, const Reading& how = {});
  // A value of the engine. `space` holds for every einsum; without it, whatever the chip can do is allowed.
  explicit Chip(machine::Chip value, nest::Mapspace space = {});

  const machine::Chip& value() const { return *value_; }
  // Another chip under the same constraints: other bandwidths, energies, capacities, meshes. Constraints are attached
  // to levels, so there must be as many storages, of the same names; throws std::invalid_argument otherwise.
  Chip with(machine::Chip value) const;

  // The chip for operators of a role: where the catalogue names another one for normalisations, that one, else this.
  const Chip& for_role(workload::OperatorRole role) const;
  // The same chip with another one, or none, for normalisations.
  Chip with_normalisation(std::optional<Chip> partner) const;

  // Which mappings of `einsum` are allowed. The first question about an einsum reads the constraints; later ones look
  // them up, whatever the figures of the chip.
  std::shared_ptr<const nest::Mapspace> space(const workload::Einsum& einsum) const;
  // What the hardware does about zeros of `einsum`, with the densities of the files' own `problem` where it is that
  // one; null: nothing, so that every tensor is dense.
  std::shared_ptr<const nest::SparseDesign> zeros(const workload::Einsum& einsum) const;
  // The einsum of the `problem` among the files.
  const std::optional<workload::Einsum>& problem() const;
  // The mapping among the files, for that einsum.
  const std::optional<nest::Mapping>& mapping() const;
  // What to compare if MapOptions say nothing: as the `mapper` document says, else edp.
  const std::vector<nest::Metric>& objective() const;
  // What `estimate` needs of the description; empty where there is none, or an ERT.
  const std::vector<energy::Component>& components() const;
  const std::vector<Diagnostic>& warnings() const;

 private:
  struct Description;
  struct Rules;
  std::shared_ptr<const Rules> rules(const workload::Einsum& einsum) const;
  Chip(std::shared_ptr<const machine::Chip> value, std::shared_ptr<const Description> description)
      : value_(std::move(value)), description_(std::move(description)) {}
  static Chip described(const std::vector<std::shared_ptr<const base::SourceFile>>& files, const Reading& how);

  std::shared_ptr<const machine::Chip> value_;
  std::shared_ptr<const Description> description_;
  std::shared_ptr<const Chip> normalisation_;  // null: this one
};

// A transformer: on a chip, as the operators of its blocks; on a system, as what a cluster trains.
class Model {
 public:
  // A model of the catalogue, or its config.json by its path.
  static Model named(const std::string& name, const Reading& how = {});
  static Model from_text(const std::string& config_json, const Reading& how = {});
  // A value: workload::plain_transformer makes plain ones. Throws std::invalid_argument for one without layers, or with
  // layers of a kind that there is not.
  explicit Model(workload::Transformer config);

  // The operators of one block in prefill; of a model whose layers differ, those of all layers.
  std::vector<workload::Operator> block(Count batch, Count sequence) const;
  // The same in any phase, with the number of layers that are alike.
  workload::ModelOperators operators(const workload::Phase& phase) const;
  const workload::Transformer& config() const;

  // As a training run sees it, prepared once. Throws InputError where the model has parts whose cost is not modelled.
  const cluster::Model& value() const;
  // The same with other sizes, as `--set model.FIELD=VALUE` names them: {{"layers", "30"}, {"seq", "8192"}}. What was
  // set before stays. Throws InputError for fields and values that cannot be, and where `value` does.
  Model with(const base::Overrides& sizes) const;
  const std::vector<Diagnostic>& warnings() const;

 private:
  struct Description;
  explicit Model(std::shared_ptr<const Description> description) : description_(std::move(description)) {}
  std::shared_ptr<const Description> description_;
};

// A cluster of accelerators.
class System {
 public:
  // A system of the catalogue, or its file by its path.
  static System named(const std::string& name, const Reading& how = {});
  static System from_text(const std::string& text, const Reading& how = {});
  explicit System(cluster::System value);

  const cluster::System& value() const;
  // The roofline of its accelerator, or the loop nests of the chip that its file names.
  const machine::OperatorModel& operators() const;
  const std::vector<Diagnostic>& warnings() const;

 private:
  struct Description;
  explicit System(std::shared_ptr<const Description> description) : description_(std::move(description)) {}
  std::shared_ptr<const Description> description_;
};

struct MapOptions {
  nest::ModelOptions model;
  std::vector<nest::Metric> objective;  // empty: Chip::objective()
  nest::SearchLimits limits;
};

// The best mapping of an einsum on a chip, with its cost and its proof; where the hardware does something about zeros,
// by the sparse model.
nest::Optimum map(const Chip& chip, const workload::Einsum& einsum, const MapOptions& options = {});

// The same for every operator of a block, each on the chip for its role. Sums count the instances of each; operators
// without a mapping are left out.
struct MappedBlock {
  std::vector<nest::Optimum> operators;  // as the block's
  double energy_pj = 0;
  Count cycles = 0;
  double edp_j_cycles = 0;  // product of the two
};
MappedBlock map(const Chip& chip, const std::vector<workload::Operator>& block, const MapOptions& options = {});

// The cost of a mapping. Throws InputError where it cannot run on the chip (O0710 to O0719); whether the constraints
// allow it is not asked (nest::is_allowed).
nest::Evaluation evaluate(const Chip& chip, const workload::Einsum& einsum, const nest::Mapping& mapping,
                          const nest::ModelOptions& options = {});
// What many mappings of one einsum on one chip have in common: its `evaluate` takes less than a microsecond and takes
// for granted that the mapping is legal (nest::is_legal). Throws InputError (O2039) where the hardware does something
// about zeros: nest::evaluate_sparse takes `Chip::zeros`.
nest::Model evaluator(const Chip& chip, const workload::Einsum& einsum, const nest::ModelOptions& options = {});

// Energies and areas of components, by the most accurate estimator that has an answer.
std::vector<energy::EstimatedComponent> estimate(const std::vector<energy::Component>& components,
                                                 const Estimators& estimators);
// The chip with these figures in place of its own.
Chip priced(const Chip& chip, const std::vector<energy::EstimatedComponent>& estimates);

// Time and memory of an iteration of training. Throws InputError (O1300 to O1319) for a plan that cannot be. One that
// does not fit into memory is an answer: Iteration::fits. About a microsecond. The software is the plan's, by default
// Megatron-LM of 2021; `system.value().stack` is the system's.
cluster::Iteration train(const Model& model, const System& system, const cluster::Plan& plan);
// With another opinion on how long an operator takes: machine::MeasuredOperators, or a class of your own.
cluster::Iteration train(const Model& model, const System& system, const cluster::Plan& plan,
                         const machine::OperatorModel& operators);

// A model as a deployment serves it, steadily: times, throughput, caches, price. Throws InputError (O2070 to O2074) for
// a deployment or a load that cannot be. One that does not fit, and requests that come too fast, are answers:
// Service::fits and stable. Some microseconds.
serving::Service serve(const Model& model, const System& system, const serving::Deployment& deployment,
                       const serving::Load& load);
// The best deployment of a space, with proof; where the space names no machines, on as many accelerators of the system
// as it has. That nothing is within the limits is an answer: Optimum::best is empty.
serving::Optimum serve(const Model& model, const System& system, serving::Space space, serving::Goal goal,
                       const serving::Load& load, const serving::ServiceLimits& limits = {});

// A graph of kernels on a system, and how it is run, from DFModel's setup file.
dataflow::Setup setup_from_file(const std::string& path, const Reading& how = {});
dataflow::Setup setup_from_text(const std::string& text, const Reading& how = {});
// Shards, fuses and places it, with proof. A setup that nothing fits is an answer: Placement::infeasible and `reasons`.
dataflow::Placement place(const dataflow::Setup& setup, const dataflow::PlaceLimits& limits = {});

// Predictions of the catalogue's measured training runs; `tables`: only those of these names.
std::vector<verbs::ValidatedSet> validate(const std::vector<std::string>& tables = {}, const Reading& how = {});

}  // namespace orrery
