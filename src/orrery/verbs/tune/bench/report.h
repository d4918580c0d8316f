// `tune bench` as text and as the document "orrery.tune_bench/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/bench/run.h"

namespace orrery::verbs {

Document<TunedBench> tune_bench_document();
std::string bench_table(const TunedBench& bench);

}  // namespace orrery::verbs
