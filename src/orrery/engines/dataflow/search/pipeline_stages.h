// A graph of several layers spread over pipeline stages.
#pragma once

#include <vector>

#include "orrery/engines/dataflow/search/sharding.h"

namespace orrery::dataflow {

// Whether the graph holds more layers than a stage runs, so that a stage gets a part of it. With
// `graph_is_whole_model` graphs of several layers are always spread.
bool spreads_layers(const Setup& setup, const Degrees& degrees, const Defects& defects);

struct StageAssignment {
  std::vector<int> stage;    // per kernel, from 0; never falls along an edge
  std::vector<int> kernels;  // of the slowest stage, ascending
  Setup slowest;             // that stage alone, as a model of one layer per stage
  ShardingOptimum sharding;  // of its kernels
  double slowest_ns = 0;     // compute and network of that stage, per pass
  double bound_ns = 0;       // no assignment's slowest stage is faster
};

// Stages are runs of kernels in topological order, lowest index first, cut so that the slowest is as fast as possible;
// other assignments where one has a faster slowest stage, and the graph is small enough to search them all. `bound_ns`
// then is `slowest_ns`.
StageAssignment assign_stages(const Setup& setup, const Degrees& degrees, const ShardingOptimum& sharding,
                              const Defects& defects);

// `setup` with only `kernels` (ascending) and the edges between them, as one layer for each pipeline stage.
Setup stage_alone(const Setup& setup, const std::vector<int>& kernels, const Degrees& degrees);

}  // namespace orrery::dataflow
