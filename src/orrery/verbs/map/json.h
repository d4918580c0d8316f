// The JSON documents of `map` and `eval`: schemas "orrery.map/1" and "orrery.eval/1". The keys are a
// contract with users' scripts.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/layers/map_model.h"
#include "orrery/present/answer.h"
#include "orrery/verbs/map/fuse_pairs.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

// An answer of `map` or of `eval`.
struct Results : MapAnswer {
  std::vector<FusedPair> fused;     // with --fuse auto
  std::vector<std::string> compat;  // originals reproduced, defects included
};

// Doubles round-trip exactly. All but `timing` and each certificate's `seconds` is a pure function of the input.
// `searched`: of `map`, else of `eval`.
Document<Results> mapping_document(bool searched);

}  // namespace orrery::verbs
