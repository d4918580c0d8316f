// The answer of `sparse bench`: its text and the JSON document "orrery.sparse_bench/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/bench/run.h"

namespace orrery::verbs {

Document<SparseBench> sparse_bench_document();
std::string sparse_bench_text(const SparseBench& answer);

}  // namespace orrery::verbs
