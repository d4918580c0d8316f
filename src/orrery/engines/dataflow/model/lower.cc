// Makes the partition problem of a setup under degrees, sharding and tile.
//
// Per kernel: compute (kernel_compute.h), its own communication (kernel_network.h), weight, extra traffic, allowed
// configurations. Per edge: a buffer of the producer's tile, m n word bytes, which also streams through DRAM once per
// tile where the edge is cut and then lies there for the micro-batch; layers between the ends need as many buffers as
// there are levels from one to the other, both included, or as many as the file states. Sums over sets of kernels are
// partition.h's.
//
// Configurations: where a graph has both, backward kernels come after forward ones, C/2 each (the middle one of an odd
// number is shared); a pin holds; kernel by kernel, and as many configurations as kernels, mean one kernel each in the
// order of the list (where that is not an order of the graph, in topological order). HPL and FFT are always so. Kernels
// that repeat (`num_input`) do not share with those that do not. Source: DFModel (arXiv 2412.16432) and its logs;
// docs/model/dataflow.md. Cost: a step per kernel and edge, in addition to kernel_compute's.
#include "orrery/engines/dataflow/model/lower.h"

#include <algorithm>

#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/kernel_compute.h"
#include "orrery/engines/dataflow/model/kernel_network.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/model/stored_weights.h"
#include "orrery/engines/dataflow/partition/tilings.h"
#include "orrery/engines/dataflow/search/sharding.h"

namespace orrery::dataflow {

namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::KernelEdge;
using workload::KernelGraph;

bool tensor_parallel(const Setup& setup) {
  return std::holds_alternative<LanguageModelRun>(setup.execution.workload) ||
         std::holds_alternative<StateSpaceModel>(setup.execution.workload);
}

// The configuration of each kernel when it has one of its own.
std::vector<int> own_configurations(const KernelGraph& graph) {
  std::vector<int> place(graph.kernels.size());
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = static_cast<int>(i);
  const bool ordered =
      std::all_of(graph.edges.begin(), graph.edges.end(), [](const KernelEdge& edge) { return edge.from < edge.to; });
  if (ordered) return place;
  const std::vector<int> order = workload::topological_order(graph);
  for (std::size_t at = 0; at < order.size(); ++at) place[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
  return place;
}

void set_configurations(const Setup& setup, PartitionProblem& problem) {
  const KernelGraph& graph = setup.graph;
  const int kernels = static_cast<int>(graph.kernels.size());
  if (one_kernel_each(setup)) {
    problem.configurations = std::max(1, kernels);
    const std::vector<int> place = own_configurations(graph);
    for (int i = 0; i < kernels; ++i) problem.kernels[i].first = problem.kernels[i].last = place[i];
  } else {
    const ConfigurationRanges ranges = configuration_ranges(setup);
    problem.configurations = ranges.count;
    for (std::size_t i = 0; i < problem.kernels.size(); ++i) {
      problem.kernels[i].first = ranges.first[i];
      problem.kernels[i].last = ranges.last[i];
    }
  }
}

// Bytes of DRAM on a chip that belong to no kernel or edge.
double tables_bytes(const Setup& setup) {
  const double word = static_cast<double>(setup.execution.word_bytes);
  const double chips = static_cast<double>(setup.system.chips);
  const Workload& workload = setup.execution.workload;
  if (const auto* dlrm = std::get_if<Recommendation>(&workload))
    return static_cast<double>(dlrm->tables) * static_cast<double>(dlrm->embedding) * static_cast<double>(dlrm->rows) *
           word / chips;
  if (const auto* hpl = std::get_if<Linpack>(&workload))
    return static_cast<double>(hpl->n) * static_cast<double>(hpl->n) * word / chips;
  if (const auto* fft = std::get_if<FourierTransform>(&workload))
    return static_cast<double>(fft->length) * word / chips;
  return 0;
}

// HPL and FFT work block by block within a kernel: their buffers are not whole tiles.
bool sram_is_checked(const Setup& setup, const Defects& defects) {
  const Workload& workload = setup.execution.workload;
  if (std::holds_alternative<LanguageModelRun>(workload)) return true;
  if (std::holds_alternative<Recommendation>(workload)) return !defects.unchecked_recommendation_sram;
  if (const auto* model = std::get_if<StateSpaceModel>(&workload))
    return !defects.unchecked_state_space_sram && (!defects.mamba_sram_alone || model->kind == "mamba");
  return false;
}

void set_chip(const Setup& setup, const Defects& defects, PartitionProblem& problem) {
  const System& system = setup.system;
  const Execution& execution = setup.execution;
  problem.overlap = execution.overlap;
  if (execution.overlap == Overlap::kNone && !execution.terms.empty()) {
    problem.use_compute = execution.terms.find('C') != std::string::npos;
    problem.use_memory = execution.terms.find('M') != std::string::npos;
    problem.use_network = execution.terms.find('N') != std::string::npos;
  }
  problem.free_cores = !execution.compute_utilization;
  problem.cores = system.cores.cores;
  problem.dram_bandwidth_gb_per_s = system.memory_gb_per_s();
  problem.dram_bytes = system.accelerator.memory_bytes;
  if (problem.dram_bytes > 0 && system.second_memory.capacity_bytes > 0) {
    problem.second_dram_bytes = system.second_memory.capacity_bytes;
    problem.mixed_bandwidth_gb_per_s = system.mixed_memory_gb_per_s();
  }
  if (sram_is_checked(setup, defects) && !execution.whole_kernels) {
    problem.sram_bytes = system.accelerator.on_chip_bytes;
    problem.memory_units = system.floorplan.memory_units;
    problem.memory_unit_bytes = system.floorplan.memory_unit_bytes;
  }
  problem.systolic_width = system.cores.width;
  problem.systolic_height = system.cores.height;
}

std::vector<double> whole_machine_network_ns(const Setup& setup, const Mapping& mapping,
                                             const std::vector<Shard>& shards, const Defects& defects) {
  const Workload& workload = setup.execution.workload;
  if (std::holds_alternative<Linpack>(workload)) return hpl_network_ns(setup, mapping, defects);
  if (std::holds_alternative<FourierTransform>(workload)) return fft_network_ns(setup, mapping, defects);
  return dlrm_network_ns(setup, mapping, shards, defects);
}

// Tensor- and data-parallel groups take turns at a chip's network interface, unless `simultaneous_groups`.
void set_network(const Setup& setup, const Mapping& mapping, const std::vector<Shard>& shards, const Defects& defects,
                 PartitionProblem& problem) {
  if (!tensor_parallel(setup)) {
    const std::vector<double> ns = whole_machine_network_ns(setup, mapping, shards, defects);
    for (std::size_t i = 0; i < ns.size(); ++i) problem.kernels[i].network_ns = ns[i];
    return;
  }
  const std::vector<GroupTimes> times = tensor_parallel_network_ns(setup, mapping, shards, defects);
  for (std::size_t i = 0; i < times.size(); ++i) {
    PartitionKernel& kernel = problem.kernels[i];
    if (defects.simultaneous_groups) {
      kernel.network_ns = times[i].tensor_ns;
      kernel.beside_ns = times[i].data_ns;
    } else {
      kernel.network_ns = times[i].tensor_ns + times[i].data_ns;
    }
  }
}

}  // namespace

bool one_kernel_each(const Setup& setup) {
  const Execution& execution = setup.execution;
  return execution.style == Style::kKernelByKernel || std::holds_alternative<Linpack>(execution.workload) ||
         std::holds_alternative<FourierTransform>(execution.workload) ||
         execution.configurations == static_cast<int>(setup.graph.kernels.size());
}

ConfigurationRanges configuration_ranges(const Setup& setup) {
  const std::vector<Kernel>& kernels = setup.graph.kernels;
  const bool halves =
      setup.graph.has_backward() && std::any_of(kernels.begin(), kernels.end(), [](const Kernel& kernel) {
        return kernel.direction == workload::Direction::kForward;
      });
  ConfigurationRanges ranges;
  const int count = setup.execution.configurations;
  ranges.count = count > 0 ? count : std::max(1, static_cast<int>(kernels.size()));
  for (const Kernel& kernel : kernels) {
    const bool backward = kernel.direction == workload::Direction::kBackward;
    const int pin = kernel.configuration;
    ranges.first.push_back(pin >= 0 ? pin : halves && backward ? ranges.count / 2 : 0);
    ranges.last.push_back(pin >= 0 ? pin : halves && !backward ? (ranges.count + 1) / 2 - 1 : ranges.count - 1);
  }
  return ranges;
}

double conversion_ns(const KernelGraph& graph, const KernelEdge& edge, KernelDimension from, KernelDimension to,
                     const GroupCharges& charges) {
  const EdgeConversion change = edge.communication != Communication::kNone
                                    ? EdgeConversion{edge.communication, edge.communication_bytes}
                                    : conversion(graph, edge, from, to);
  return charges.of(change.communication).ns(change.bytes);
}

PartitionProblem lower(const Setup& setup, const Mapping& mapping, const Defects& defects,
                       const machine::OperatorModel* operators) {
  if (!mapping.tilings.empty()) {
    std::vector<PartitionProblem> problems;
    for (const Tiling& tiling : mapping.tilings) {
      Mapping one = mapping;
      one.tilings.clear();
      one.tiles = tiling.tiles;
      one.tile_size = tiling.tile_size;
      problems.push_back(lower(setup, one, defects, operators));
    }
    return fastest_of(std::move(problems));
  }
  const KernelGraph& graph = setup.graph;
  const std::vector<Shard> parts = shards(setup, mapping, defects);
  const double word = static_cast<double>(setup.execution.word_bytes);
  const double tiles = static_cast<double>(mapping.tiles);
  const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload);

  PartitionProblem problem;
  set_chip(setup, defects, problem);
  problem.kernels.resize(graph.kernels.size());
  set_configurations(setup, problem);
  set_network(setup, mapping, parts, defects, problem);
  const bool alone = one_kernel_each(setup);
  const double layers = static_cast<double>(layers_per_stage(setup, mapping.degrees));
  KernelCompute compute(setup, mapping.tiles, defects, operators);
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const Kernel& kernel = graph.kernels[i];
    PartitionKernel& result = problem.kernels[i];
    compute.price(kernel, parts[i], alone, result);
    result.memory_bytes = kernel.memory_bytes;
    if (kernel.has_weight())
      result.weight_bytes = static_cast<double>(parts[i].m) * static_cast<double>(parts[i].k) * word;
    if (setup.execution.stream_weights) result.memory_bytes += result.weight_bytes;
    result.sram_extra_bytes = kernel.sram_extra_bytes;
    result.dram_bytes = layers * (result.weight_bytes + kernel.dram_extra_bytes);
    result.repeat_class = kernel.inputs > 0 ? 1 : 0;
    result.can_split_weight = kernel.has_weight();
  }
  if (!defects.weights_of_both_directions) store_weights_once(graph, mapping.sharding, word, layers, problem.kernels);
  if (!problem.kernels.empty()) problem.kernels.front().dram_bytes += tables_bytes(setup);

  const std::vector<int> level = workload::levels(graph);
  const double batch = model != nullptr ? static_cast<double>(std::max<Count>(1, model->micro_batch)) : 1;
  problem.edges.reserve(graph.edges.size());
  const bool converted =
      tensor_parallel(setup) && mapping.degrees.tensor > 1 && mapping.sharding.size() == graph.kernels.size();
  GroupCharges charges;
  if (converted)
    charges = group_charges(setup.system, mapping.degrees, Parallelism::kTensor, defects,
                            setup.execution.separate_reduce_scatter_all_gather);
  for (const KernelEdge& edge : graph.edges) {
    const Shard& from = parts[static_cast<std::size_t>(edge.from)];
    PartitionEdge result;
    result.from = edge.from;
    result.to = edge.to;
    result.buffer_bytes = edge.zero_out ? 0 : static_cast<double>(from.m) * static_cast<double>(from.n) * word;
    result.depth = level[static_cast<std::size_t>(edge.to)] - level[static_cast<std::size_t>(edge.from)] + 1;
    if (edge.buffer_depth > 0 && stated_parts_hold(setup, defects)) result.depth = edge.buffer_depth;
    result.stream_bytes = tiles * result.buffer_bytes;
    result.resident_bytes = result.stream_bytes * batch;
    if (converted)
      result.network_ns = conversion_ns(graph, edge, mapping.sharding[static_cast<std::size_t>(edge.from)],
                                        mapping.sharding[static_cast<std::size_t>(edge.to)], charges);
    result.stage_parallel = edge.stage_parallel;
    problem.edges.push_back(result);
  }
  return problem;
}

}  // namespace orrery::dataflow
