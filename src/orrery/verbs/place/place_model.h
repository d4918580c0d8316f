// A model on a system of the catalogue as a question for `place`: the setup that DFModel's users write by hand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/inputs/systems/run_question.h"

namespace orrery::verbs {

class SystemChip;

struct PlaceModelRequest : RunQuestion {
  std::optional<std::string> stack;  // "encoder" or "decoder" (default), of a model that has both
  std::optional<base::Count> layer;
  bool forward = false;  // without the backward pass

  bool asked() const { return !model.empty() || !system.empty() || !chip.empty(); }
};

struct PlacedModelQuestion {
  dataflow::Setup setup;
  machine::Precision precision = machine::Precision::kBf16;
  dataflow::WantedDegrees wanted;    // neither of which a setup's file states
  cluster::System system;            // with the chip in it
  std::unique_ptr<SystemChip> chip;  // null: the system's own accelerator
  std::vector<std::string> notes;    // what of the model is placed, and what its kernels do not show
  std::string not_looked_at;         // placements that the network's dimensions cannot express; empty: none
  std::vector<base::Input> inputs;
  bool partial = false;  // not all of the model's layers are placed
  base::Diagnostics warnings;
};

// The graph of one layer (inputs/graphs/generate_graph.h), the accelerator as cores of multipliers, the innermost
// network as one dimension of the size of a node and the network between nodes as two, whose sizes and services are
// searched. Kernels run one after the other, products at the rate that the accelerator reaches; with a chip, in one
// tile, which its loop nests cut to fit. `chip_overrides`: of the chip's documents. Layers of other kinds than the
// graph's are left out, with warning O1469.
//
// Throws InputError: O1465 where model, system, the number of accelerators or the batch is missing, O1466 for numbers
// of accelerators that do not fill nodes and for networks that `place` has no dimension for, and what readers say.
PlacedModelQuestion place_model(const PlaceModelRequest& request, const base::Overrides& chip_overrides);

}  // namespace orrery::verbs
