// Documents into questions: every layer read, the energies of chips without an ERT estimated, before anything is
// searched.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/mapping.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs {

// One layer to read: the documents of the chip that runs it, and what runs. Without `einsum` the documents' own
// `problem` is taken.
struct LayerTask {
  std::string name;  // empty: that of the einsum
  base::Count instances = 1;
  const formats::timeloop::Documents* documents = nullptr;  // borrowed
  std::optional<workload::Einsum> einsum;
};

struct ReadLayers {
  std::vector<LayerQuestion> questions;  // as the tasks
  std::vector<base::Input> inputs;       // as of Specification; sorted, each once
  int threads = 0;                       // as a document says; 0: none does
  base::Diagnostics warnings;
};

// Each chip is read and estimated once. Throws InputError with everything wrong in any layer.
ReadLayers read_layers(const std::vector<LayerTask>& tasks, Estimators& estimators);

// One layer with the mapping that its documents give. Throws InputError; O1003 where a part is missing.
struct ReadMapping {
  LayerQuestion question;
  nest::Mapping mapping;
  nest::MappingPlaces places;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};
ReadMapping read_mapping(const formats::timeloop::Documents& documents, Estimators& estimators);

// Gives the chip of documents without an ERT the figures of its components, and hands them out; null where there is
// nothing to estimate. Warnings go to the specification's own; throws InputError.
Estimates complete(formats::timeloop::Specification& specification, Estimators& estimators);

}  // namespace orrery::verbs
