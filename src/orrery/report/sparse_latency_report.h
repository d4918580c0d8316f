// Answers of `sparse latency`: Sanger's lines, and the JSON document "orrery.sparse_latency/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_latency.h"

namespace orrery::report {

struct SparseLatencyDocument {
  std::string version;
  const scenario::SparseLatencyAnswer* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_latency_json(const SparseLatencyDocument& document);
std::string sparse_latency_text(const scenario::SparseLatencyAnswer& answer);

}  // namespace orrery::report
