// Every layer of a workload on its chip, searched and gathered in order. This folder reads layers (read_layers.h), asks
// about them (layer_question.h), prices their chips (estimators.h), searches them (here) and evaluates given mappings
// (evaluate_layer.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/search/pareto.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/padding.h"
#include "orrery/inputs/layers/array_rows.h"
#include "orrery/inputs/layers/certify.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::nest {
struct SparseEvaluation;  // engines/nest/sparse/sparse_evaluation.h
}

namespace orrery::verbs {

// What becomes of a layer when one choice is forced (forced_choice.h).
struct Forced {
  std::string choice;  // as the user wrote it
  nest::Optimum optimum;
};

// A size that a dimension is to be rounded up to, in every layer that has less of it.
struct Pad {
  std::string dimension;
  base::Count size = 1;
};

// A layer whose sizes were rounded up, or might be.
struct Padding {
  std::vector<nest::Rounding> rounded;        // none: perfect factors are best
  std::optional<nest::Evaluation> unrounded;  // of the best mapping without rounding; nothing: there is none
  std::uint64_t sizes = 0;                    // combinations of sizes that were compared
};

// A layer whose factors may leave a rest.
struct Imperfect {
  std::optional<nest::Evaluation> perfect;  // of the best mapping whose factors leave none; nothing: there is none
};

// A layer with its answer. `instances` equal copies run one after the other.
struct MappedLayer {
  std::string name;
  base::Count instances = 1;
  workload::Einsum einsum;
  machine::Chip chip;
  Estimates estimates;  // the origin of the chip's energies and areas; null: they were given
  std::vector<nest::ReuseRules> reuse;
  std::vector<nest::Metric> objective;
  nest::Optimum optimum;
  std::optional<Padding> padding;      // with padded factors or pads; `einsum` is the rounded one then
  std::optional<Imperfect> imperfect;  // with imperfect factors
  bool searched = true;                // false: the user gave the mapping; the certificate says nothing
  std::shared_ptr<const nest::SparseEvaluation> sparse;  // of the optimum, on hardware that knows zeros; else null
  // What was asked for beside the optimum; of a layer without a mapping, only the check.
  std::optional<nest::ParetoFront> front;
  std::optional<Forced> forced;
  std::optional<Certified> certified;

  bool found() const { return optimum.mapping.has_value(); }
};

struct MapOptions {
  nest::ModelOptions model;
  std::vector<nest::Metric> objective;  // in place of the questions' own; empty: those
  nest::Factors factors = nest::Factors::kPerfect;
  std::vector<Pad> pads;      // sizes to round up to; with perfect factors only
  nest::SearchLimits limits;  // `seconds` counts for each layer; threads 0: 1
  bool front = false;         // the whole trade-off between energy and cycles, too
  std::string why;            // a choice to force; empty: none
  bool certify = false;       // check each answer by other means
  // Called from the calling thread's pool as layers finish: done, all, name of the one just finished.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // Called while a layer is searched, as SearchLimits::progress, with the layer's name; one call at a time.
  std::function<void(const std::string&, double, double)> searching;
};

struct MappedModel {
  std::vector<MappedLayer> layers;  // as the questions
  ArrayAttention attention;         // what an array does besides; no rows: there is none
  std::vector<base::Input> inputs;  // files and overrides; sorted, each once
  base::Diagnostics warnings;
};

// Sums over layers and what an array does, `instances` counted; layers without a mapping are left out. Units: pJ,
// cycles, J*cycles. `edp_j_cycles` is the product of the two sums, `edp_seed` the sum of the layers' products (how
// Timeloop-Experiments ranks). Throws InputError (O1004) when the cycles exceed 64 bits.
struct Totals {
  double energy_pj = 0;
  base::Count cycles = 0;
  double edp_j_cycles = 0;
  double edp_seed = 0;
  double seconds = 0;  // each layer's cycles at its chip's clock
};
Totals totals(const std::vector<MappedLayer>& layers, const std::vector<ArrayRow>& rows = {});

// The same for `blocks` blocks one after the other. EDP: (blocks * energy) * (blocks * cycles). Throws as `totals`.
Totals times(const Totals& block, base::Count blocks);

// Of all that the chip describes, in um^2; nothing: a storage or the compute units have no figure.
std::optional<double> area_um2(const machine::Chip& chip);

// Layers with the same question (same_search) are searched once. The answer depends on neither threads nor luck, a time
// limit or an interrupt apart: memory is shared by the layers, not by the threads, and a layer that its share is too
// small for is searched again with all of it. Throws InputError: O1116 for a choice to force that is none, O1004 and
// O1005 for layers beyond counting, O1958 for pads that round nothing up.
MappedModel map_layers(const std::vector<LayerQuestion>& questions, const MapOptions& options);

}  // namespace orrery::verbs
