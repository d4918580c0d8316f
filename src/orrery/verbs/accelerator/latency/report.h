// Answers of `sparse latency`: Sanger's lines, and the JSON document "orrery.sparse_latency/1".
#pragma once

#include <string>

#include "orrery/verbs/accelerator/latency/run.h"

namespace orrery::verbs {

struct SparseLatencyDocument {
  std::string version;
  const SparseLatencyAnswer* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_latency_json(const SparseLatencyDocument& document);
std::string sparse_latency_text(const SparseLatencyAnswer& answer);

}  // namespace orrery::verbs
