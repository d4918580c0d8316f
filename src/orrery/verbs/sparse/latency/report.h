// Answers of `sparse latency`: Sanger's lines, and the JSON document "orrery.sparse_latency/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/latency/run.h"

namespace orrery::verbs {

Document<SparseLatencyAnswer> sparse_latency_document();
std::string sparse_latency_text(const SparseLatencyAnswer& answer);

}  // namespace orrery::verbs
