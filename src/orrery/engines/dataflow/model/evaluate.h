// evaluate(setup, mapping): what a placement of a graph of kernels on chips costs. Pure; the only place where times of
// a run, money and power are computed. setup.h is the question, mapping.h an answer; lower.h makes of both the problem
// that partition/ prices, network_time.h the times of collectives.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/dataflow/model/lower.h"

namespace orrery::dataflow {

struct PlacementMoney {  // dollars, and watts at peak
  double dram_cost = 0, accelerator_cost = 0, link_cost = 0, switch_cost = 0;
  double dram_power = 0, accelerator_power = 0, link_power = 0, switch_power = 0;
  std::vector<double> link_cost_by_dimension, switch_cost_by_dimension;
  double total_cost() const { return dram_cost + accelerator_cost + link_cost + switch_cost; }
  double total_power() const { return dram_power + accelerator_power + link_power + switch_power; }
};
PlacementMoney money(const Setup& setup, const Degrees& degrees, const Defects& defects);

struct Evaluation {
  PartitionCost partition;  // per configuration, its kernels, times and bytes
  double sum_interval_ns = 0;
  Count layers_per_stage = 1;
  Count micro_batches = 1;
  double pipeline_factor = 1;
  double point_to_point_ns = 0;
  double final_ns = 0;    // of the batch, of the transform, of the factorisation
  double latency_ns = 0;  // of one sequence through all stages, of models that only run forward; 0: none
  double flop = 0;        // of the workload, unsharded
  double flops_utilization = 0;
  PlacementMoney money;
};

// FLOP of the whole workload, before sharding and tiling.
double workload_flop(const Setup& setup);

// Micro-batches that a replica works through; nothing where the batch does not divide into whole ones.
std::optional<Count> micro_batches(const Setup& setup, const Degrees& degrees);

// The same; throws O1430 where it does not divide.
Count required_micro_batches(const Setup& setup, const Degrees& degrees);

// How often a stage runs the graph for a sequence: its layers over the graph's.
Count layers_per_stage(const Setup& setup, const Degrees& degrees);

// Times of the run from `sum_interval_ns` and `flop`. Pure arithmetic, without the partition. Throws O1430 where the
// batch is not whole micro-batches.
void roll_up(const Setup& setup, const Degrees& degrees, const Defects& defects, Evaluation& evaluation);

Evaluation evaluate(const Setup& setup, const Mapping& mapping, const Defects& defects,
                    const machine::OperatorModel* operators = nullptr);

}  // namespace orrery::dataflow
