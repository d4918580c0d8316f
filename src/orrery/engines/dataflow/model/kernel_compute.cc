// At a given utilisation u, the kernel's own or the execution's, T tiles of a shard take T * FLOP / (u * peak). On l
// lanes and s stages of W x H cores
//
//   product      ceil(m / (l W)) * ceil(n / (s H)) * k cycles a tile
//   elementwise  ceil(m / (l W)) * n, a product on vector lanes k times as much (under a roofline, too: the state or
//                window that is passed over k times stays on the chip)
//   chain of e effective stages  ceil(k / (s e)) * n
//
// times the repeats that the user states (`num_input`). DFModel counts repeats with free cores only; corrected, always.
// Source: DFModel (arXiv 2412.16432); docs/model/dataflow.md, "Compute". Cost: that of machine::SystolicCores per
// distinct shard.
#include "orrery/engines/dataflow/model/kernel_compute.h"

#include <algorithm>

namespace orrery::dataflow {

namespace {

machine::Precision precision_of(Count word_bytes) {
  if (word_bytes <= 1) return machine::Precision::kFp8;
  return word_bytes == 2 ? machine::Precision::kBf16 : machine::Precision::kFp32;
}

double repeats_of(const workload::Kernel& kernel) {
  return static_cast<double>(std::max<Count>(1, kernel.inputs));
}

}  // namespace

machine::Accelerator data_sheet(const System& system) {
  machine::Accelerator accelerator = system.accelerator;
  accelerator.peak_flops_per_s.fill(system.cores.gflops() * 1e9);
  return accelerator;
}

KernelCompute::KernelCompute(const Setup& setup, Count tiles, const Defects& defects,
                             const machine::OperatorModel* operators)
    : tiles_(static_cast<double>(tiles)),
      frequency_ghz_(setup.system.cores.frequency_ghz),
      vector_products_are_shallow_(defects.vector_products_are_shallow),
      repeats_count_(!defects.inputs_are_free),
      every_pair_(setup.system.floorplan.memory_units > 0 &&
                  !std::holds_alternative<Linpack>(setup.execution.workload) &&
                  !std::holds_alternative<FourierTransform>(setup.execution.workload)),
      precision_(setup.execution.precision.value_or(precision_of(setup.execution.word_bytes))),
      peak_(data_sheet(setup.system), 1),
      cores_(setup.system.cores, setup.system.accelerator.memory_bytes_per_s) {
  if (!setup.execution.compute_utilization) return;
  operators_ = operators;
  if (operators_ != nullptr) return;
  flat_.emplace(data_sheet(setup.system), *setup.execution.compute_utilization);
  operators_ = &*flat_;
}

double KernelCompute::vector_depth(const Shard& shard) const {
  return vector_products_are_shallow_ ? 1 : static_cast<double>(std::max<Count>(1, shard.k));
}

std::vector<machine::CoreShare> KernelCompute::shares(const workload::Kernel& kernel, const Shard& shard,
                                                      bool alone) const {
  if (kernel.effective_stages > 0) return cores_.chain(shard.k, shard.n, kernel.effective_stages);
  if (kernel.unit == workload::KernelUnit::kSimd) {
    std::vector<machine::CoreShare> shares = cores_.elementwise(shard.m, shard.n);
    for (machine::CoreShare& share : shares) share.cycles *= vector_depth(shard);
    return shares;
  }
  if (!alone || every_pair_)
    return cores_.product(shard.m, shard.n, shard.k,
                          every_pair_ ? machine::Shares::kEveryPair : machine::Shares::kFewestCores);
  const machine::CoreShare fastest = cores_.fastest_product(shard.m, shard.n, shard.k);
  if (fastest.cores == 0) return {};
  return {fastest};
}

void KernelCompute::price(const workload::Kernel& kernel, const Shard& shard, bool alone, PartitionKernel& result) {
  if (operators_ != nullptr) {
    const machine::OperatorModel& model = kernel.compute_utilization ? peak_ : *operators_;
    const double elements = static_cast<double>(shard.m) * static_cast<double>(shard.n), depth = vector_depth(shard);
    double seconds = 0;
    if (kernel.unit != workload::KernelUnit::kSimd) {
      seconds = model.matrix_product_seconds({1, shard.m, shard.n, shard.k, precision_});
    } else if (depth > 1 && !flat_ && !kernel.compute_utilization) {
      // What is passed over again stays on the chip: a state, a filter's window.
      double cycles = 0;
      for (const machine::CoreShare& share : cores_.elementwise(shard.m, shard.n))
        cycles = cycles > 0 ? std::min(cycles, share.cycles) : share.cycles;
      seconds = std::max(model.elementwise_seconds(elements, precision_), cycles * depth / (frequency_ghz_ * 1e9));
    } else {
      seconds = model.elementwise_seconds(elements * depth, precision_);
    }
    seconds /= kernel.compute_utilization.value_or(1);
    result.compute_ns = tiles_ * seconds * 1e9 * (repeats_count_ ? repeats_of(kernel) : 1);
    return;
  }
  const Key key{
      alone,        kernel.unit == workload::KernelUnit::kSimd, shard.m, shard.n, shard.k, kernel.effective_stages,
      kernel.inputs};
  const auto [known, fresh] = known_.try_emplace(key);
  if (fresh) {
    const double ns_per_cycle = tiles_ / frequency_ghz_ * repeats_of(kernel);
    for (const machine::CoreShare& share : shares(kernel, shard, alone))
      known->second.push_back({share.cores, share.lanes, share.stages, share.cycles * ns_per_cycle});
  }
  result.choices = known->second;
}

}  // namespace orrery::dataflow
