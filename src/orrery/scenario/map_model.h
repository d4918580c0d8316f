// Every layer of a workload on a chip: read, searched (or evaluated) and gathered in order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"
#include "orrery/formats/timeloop/documents.h"
#include "orrery/machine/chip.h"
#include "orrery/nest/options.h"
#include "orrery/nest/pareto.h"
#include "orrery/nest/search.h"
#include "orrery/scenario/certify.h"
#include "orrery/scenario/estimators.h"
#include "orrery/workload/einsum.h"

namespace orrery::scenario {

// One layer to map: the documents of the chip that runs it, and what runs. Without `einsum` the documents'
// own `problem` is taken.
struct LayerTask {
  std::string name;
  base::Count instances = 1;
  const formats::timeloop::Documents* documents = nullptr;  // borrowed
  std::optional<workload::Einsum> einsum;
};

// What becomes of a layer when one choice is forced (forced_choice.h).
struct Forced {
  std::string choice;  // as the user wrote it
  nest::Optimum optimum;
};

// A layer with its answer. `instances` equal copies run one after the other.
struct MappedLayer {
  std::string name;
  base::Count instances = 1;
  workload::Einsum einsum;
  machine::Chip chip;
  Estimates estimates;  // the origin of the chip's energies and areas; null: the documents have an ERT
  std::vector<nest::ReuseRules> reuse;
  std::vector<nest::Metric> objective;
  nest::Optimum optimum;
  bool searched = true;  // false: the user gave the mapping; the certificate says nothing
  // What was asked for beside the optimum; of a layer without a mapping, only the check.
  std::optional<nest::ParetoFront> front;
  std::optional<Forced> forced;
  std::optional<Certified> certified;

  bool found() const { return optimum.mapping.has_value(); }
};

struct MapOptions {
  nest::ModelOptions model;
  EstimatorSetup estimators;            // for chips without an ERT
  std::vector<nest::Metric> objective;  // empty: as the `mapper` document says, else edp
  nest::SearchLimits limits;            // `seconds` counts for each layer; threads 0: as the document says, else 1
  bool front = false;                   // the whole trade-off between energy and cycles, too
  std::string why;                      // a choice to force; empty: none
  bool certify = false;                 // check each answer by other means
  // Called from the calling thread's pool as layers finish: done, all, name of the one just finished.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // Called while a layer is searched, as SearchLimits::progress, with the layer's name; one call at a time.
  std::function<void(const std::string&, double, double)> searching;
};

struct MappedModel {
  std::vector<MappedLayer> layers;                          // as the tasks
  std::vector<std::pair<std::string, std::string>> inputs;  // as of Specification; sorted, each once
  base::Diagnostics warnings;
};

// Sums over layers, `instances` counted; layers without a mapping are left out. Units: pJ, cycles,
// J*cycles. `edp_j_cycles` is the product of the two sums, `edp_seed` the sum of the layers' products (how
// Timeloop-Experiments ranks). Throws InputError (O1004) when the cycles exceed 64 bits.
struct Totals {
  double energy_pj = 0;
  base::Count cycles = 0;
  double edp_j_cycles = 0;
  double edp_seed = 0;
};
Totals totals(const std::vector<MappedLayer>& layers);

// The same for `blocks` blocks one after the other. EDP: (blocks * energy) * (blocks * cycles). Throws as `totals`.
Totals times(const Totals& block, base::Count blocks);

// Reads all layers first, estimates the energies of chips without an ERT (and throws InputError with everything wrong
// in any of them), then searches. Equal einsums on the same documents are searched once. The answer depends on neither
// threads nor luck, a time limit or an interrupt apart.
MappedModel map_layers(const std::vector<LayerTask>& tasks, const MapOptions& options);

// Cost of the mapping that the documents give. Throws InputError when it cannot run on the chip, or, with
// `strict`, when the constraints forbid it; `illegal` tells the two kinds of failure (exit code 1) from
// unusable input (exit code 2).
struct IllegalMapping : base::InputError {
  using base::InputError::InputError;
};
MappedModel evaluate_mapping(const std::string& name, const formats::timeloop::Documents& documents,
                             const nest::ModelOptions& options, bool strict, const EstimatorSetup& estimators = {});

}  // namespace orrery::scenario
