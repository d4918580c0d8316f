// What is placed, as a setup: the one that the user gave, or the one that a model on a system comes to.
#pragma once

#include <memory>
#include <string>

#include "orrery/base/text/override.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/verbs/place/place_model.h"
#include "orrery/verbs/place/request.h"

namespace orrery::verbs {

// The documents of a question, and the model where one is placed on a system.
struct PlaceDocuments {
  std::shared_ptr<const PlacedModelQuestion> question;
  formats::dfmodel::SetupDocument document;
};

// Throws InputError: O1462, O1465, O1393, O1466, and what place_model and the reader of setups say.
PlaceDocuments documents_of(const PlaceRequest& request);

// A setup whose graph and execution describe the same workload; its warnings are complete.
formats::dfmodel::SetupDocument load_checked_setup(const std::string& path, const base::Overrides& overrides);

}  // namespace orrery::verbs
