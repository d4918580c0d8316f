// optimize(setup): degrees, sharding, tile and partition that end soonest, with proof.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/dataflow/evaluate.h"
#include "orrery/dataflow/sharding.h"

namespace orrery::dataflow {

struct PlaceLimits {
  double seconds = 0;  // 0: the setup's hint, else none
  double gap = 0;
  int threads = 1;  // changes the time only
  const std::atomic<bool>* stop = nullptr;
  std::function<void(double best_ns, double bound_ns)> progress;
};

struct Placement {
  std::optional<Mapping> mapping;  // nothing: none found
  Evaluation evaluation;
  ShardingOptimum sharding;
  cost::Certificate certificate;  // of final_ns, over degrees, tiles and partitions under the sharding rule
  std::string method;
  bool infeasible = false;
  bool interrupted = false;
  std::vector<base::Diagnostic> reasons;  // when infeasible: the smallest set of limits that cannot hold together
};

Placement optimize(const Setup& setup, Generation generation, const PlaceLimits& limits = {},
                   const machine::OperatorModel* operators = nullptr);

}  // namespace orrery::dataflow
