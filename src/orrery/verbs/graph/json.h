// The JSON document of `graph`: schema "orrery.graph/1". The keys are a contract with users' scripts.
#pragma once

#include "orrery/inputs/graphs/generate_graph.h"
#include "orrery/present/answer.h"

namespace orrery::verbs {

Document<GeneratedGraph> graph_document();

}  // namespace orrery::verbs
