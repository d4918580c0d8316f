#include "orrery/formats/dfmodel/setup_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/dfmodel/setup_fields.h"
#include "orrery/formats/dfmodel/setup_schema.h"
#include "orrery/formats/dfmodel/text_writer.h"

namespace orrery::formats::dfmodel {

namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::Operands;

constexpr const char* kDimensions[] = {"OUTER", "M", "K", "N", "NO"};
constexpr const char* kCommunications[] = {
    "", "ALL_REDUCE", "ALL_TO_ALL", "ALL_GATHER", "ALL_REDUCE_PERIODIC", "POINT_TO_POINT", "BROADCAST"};
constexpr const char* kKernelBodies[] = {"gemm_input1_weight", "gemm_input1_input2", "elementwise_input1",
                                         "elementwise_input1_input2"};
constexpr const char* kParallelisms[] = {"TP", "PP", "DP", "SP"};
constexpr const char* kLinks[] = {"r", "sw", "fc"};
constexpr const char* kAxes[] = {"x", "y", "z", "w"};

void write_communication(Communication communication, double bytes, std::string_view suffix, TextWriter& out) {
  const std::string tail(suffix);
  out.stated_name("communication_type" + tail, kCommunications[static_cast<int>(communication)]);
  if (communication != Communication::kNone) out.real("communication_size" + tail, bytes);
}

void write_kernel(const Kernel& kernel, std::size_t id, TextWriter& out) {
  out.open("kernels");
  out.text("name", kernel.name);
  out.count("id", static_cast<base::Count>(id));
  out.count("config", kernel.configuration);
  out.name("fwd_bwd", kernel.direction == workload::Direction::kForward ? "FWD" : "BWD");
  out.name("type", kernel.unit == workload::KernelUnit::kSystolic ? "SYSTOLIC" : "SIMD");
  out.open(kKernelBodies[static_cast<int>(kernel.operands)]);
  out.count("outer", kernel.outer);
  out.count("M", kernel.m);
  if (kernel.is_product()) out.count("K", kernel.k);
  out.count("N", kernel.n);
  const bool one_input = kernel.operands == Operands::kInputAndWeight || kernel.operands == Operands::kOneElementwise;
  out.stated_real(one_input ? "input_tensor_size" : "input_tensor_1_size", kernel.input_bytes);
  if (kernel.operands != Operands::kOneElementwise)
    out.stated_real(one_input ? "weight_tensor_size" : "input_tensor_2_size", kernel.second_bytes);
  out.stated_real("output_tensor_size", kernel.output_bytes);
  if (kernel.sharding)
    out.name("sharding", fmt::format("{}_SHARDING", kDimensions[static_cast<int>(*kernel.sharding)]));
  write_communication(kernel.communication, kernel.communication_bytes, "", out);
  out.stated_count("shard_outer_M", kernel.shard_m);
  if (kernel.is_product()) out.stated_count("shard_K", kernel.shard_k);
  out.stated_count("shard_N", kernel.shard_n);
  out.name("tiling", fmt::format("{}_TILING", kDimensions[static_cast<int>(kernel.tiling)]));
  out.stated_real("memory_size", kernel.memory_bytes);
  write_communication(kernel.second_communication, kernel.second_communication_bytes, "_2", out);
  out.stated_count("num_input", kernel.inputs);
  if (kernel.operands == Operands::kInputAndWeight) {
    out.stated_flag("skip_weight", kernel.skip_weight);
    out.stated_flag("use_effective_stage", kernel.effective_stages > 0);
  }
  out.stated_wide("sram_extra", kernel.sram_extra_bytes);
  out.stated_wide("dram_extra", kernel.dram_extra_bytes);
  out.stated_wide("compute_util", kernel.compute_utilization.value_or(0));
  out.close();
  out.close();
}

void write_edge(const workload::KernelEdge& edge, std::size_t id, TextWriter& out) {
  out.open("connections");
  out.count("startIdx", edge.from + 1);
  out.count("endIdx", edge.to + 1);
  write_communication(edge.communication, edge.communication_bytes, "", out);
  out.stated_count("buffer_depth", edge.buffer_depth);
  out.stated_real("tensor_size", edge.tensor_bytes);
  out.stated_real("shard_tensor_size", edge.shard_tensor_bytes);
  out.count("id", static_cast<base::Count>(id));
  if (edge.stage_parallel) out.name("lane_stage_type", "STAGE");
  out.stated_name("communication_type_2", kCommunications[static_cast<int>(edge.second_communication)]);
  out.stated_flag("zero_out", edge.zero_out);
  out.close();
}

void write(const workload::KernelGraph& graph, TextWriter& out) {
  out.open("dataflow_graph");
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) write_kernel(graph.kernels[i], i + 1, out);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) write_edge(graph.edges[i], i + 1, out);
  out.close();
}

void write_topology(const dataflow::System& system, TextWriter& out) {
  std::string name;
  for (const dataflow::NetworkDimension& dimension : system.network)
    name += (name.empty() ? "" : "_") + std::string(kLinks[static_cast<int>(dimension.link)]);
  const std::vector<std::string>& known = topology_names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    base::fail("O1406", fmt::format("DFModel has no topology `{}`: one of {}", name, name_list(known)));
  out.open(name);
  for (std::size_t i = 0; i < system.network.size(); ++i) out.stated_count(kAxes[i], system.network[i].size);
  for (std::size_t i = 0; i < system.network.size(); ++i)
    out.real(fmt::format("link_bw_{}", kAxes[i]), system.network[i].bandwidth_gb_per_s);
  for (std::size_t i = 0; i < system.network.size(); ++i)
    if (const auto parallelism = system.network[i].parallelism)
      out.text(fmt::format("par_{}", kAxes[i]), kParallelisms[static_cast<int>(*parallelism)]);
  out.close();
}

void write(const dataflow::System& system, TextWriter& out) {
  out.open("system");
  out.count("num_chip", system.chips);
  out.open("accelerator");
  const dataflow::Floorplan& chip = system.floorplan;
  out.count("core", system.cores.cores);
  out.count("systolic_width", system.cores.width);
  out.count("systolic_height", system.cores.height);
  out.stated_real("sram_cap", system.accelerator.on_chip_bytes);
  out.stated_count("pmu", chip.memory_units);
  out.stated_real("pmu_cap", chip.memory_unit_bytes);
  out.stated_count("x", chip.grid_x);
  out.stated_count("y", chip.grid_y);
  out.real("freq", system.cores.frequency_ghz);
  if (chip.diagonal_placement) out.text("placement", "diagonalwise");
  out.stated_real("link_latency", system.link_latency_ns);
  out.close();
  write_topology(system, out);
  out.open("memory");
  out.real("dram_bw", system.memory_gb_per_s());
  out.stated_real("dram_cap", system.accelerator.memory_bytes);
  out.stated_real("second_dram_bw", system.second_memory.bandwidth_gb_per_s);
  out.stated_real("second_dram_cap", system.second_memory.capacity_bytes);
  out.close();
  out.stated_count("HBD", system.high_bandwidth_domain);
  out.close();
}

void write(const dataflow::Prices& prices, TextWriter& out) {
  out.open("cost");
  out.stated_real("link_unit_price", prices.link_price);
  out.stated_real("switch_unit_price", prices.switch_price);
  out.stated_real("dram_unit_price", prices.dram_price);
  out.stated_real("accelerator_price", prices.accelerator_price);
  for (int i = 0; i < 4; ++i) out.stated_real(fmt::format("link_unit_power_{}", kAxes[i]), prices.link_power[i]);
  out.stated_real("switch_unit_power", prices.switch_power);
  out.stated_real("dram_unit_power", prices.dram_power);
  out.stated_real("accelerator_power", prices.accelerator_power);
  out.close();
}

struct WorkloadWriter {
  TextWriter& out;

  void operator()(const dataflow::LanguageModelRun& model) const {
    out.open("llm");
    out.count("hidden_dim", model.hidden);
    out.stated_count("head_dim", model.head_width);
    out.stated_count("num_head", model.heads);
    out.count("seq_len", model.sequence);
    out.count("num_layer", model.layers);
    out.count("global_batch_size", model.global_batch);
    out.count("micro_batch_size", model.micro_batch);
    out.stated_count("tile_size", model.tile_size);
    out.count("num_layer_in_graph", model.layers_in_graph);
    out.close();
  }
  void operator()(const dataflow::Recommendation& model) const {
    out.open("dlrm");
    out.count("num_table", model.tables);
    out.count("emb_dim", model.embedding);
    out.count("row", model.rows);
    out.count("global_batch_size", model.global_batch);
    out.count("num_copy", model.copies);
    out.close();
  }
  void operator()(const dataflow::Linpack& problem) const {
    out.open("hpl");
    out.count("n", problem.n);
    out.count("b", problem.block);
    out.count("num_copy", problem.copies);
    out.close();
  }
  void operator()(const dataflow::FourierTransform& transform) const {
    out.open("fft");
    out.count("length", transform.length);
    out.count("num_copy", transform.copies);
    out.close();
  }
  void operator()(const dataflow::StateSpaceModel& model) const {
    out.open(model.kind);
    out.count("hidden", model.hidden);
    out.count("seq_len", model.sequence);
    out.stated_count("tile_size", model.tile_size);
    out.stated_count("effective_stage", model.effective_stages);
    out.close();
  }
};

void write(const dataflow::Execution& execution, TextWriter& out) {
  constexpr const char* kOverlaps[] = {"PERFECT_OVERLAP", "NO_OVERLAP", "OVERLAP_COMPUTE_MEMORY"};
  const auto* model = std::get_if<dataflow::LanguageModelRun>(&execution.workload);
  out.open(model && model->tile_size_counts_tiles ? "miscellany" : "execution");
  std::visit(WorkloadWriter{out}, execution.workload);
  out.name("execution_style", execution.style == dataflow::Style::kKernelByKernel ? "KERNEL_BY_KERNEL" : "DATAFLOW");
  out.stated_count("num_config", execution.configurations);
  out.name("overlap", kOverlaps[static_cast<int>(execution.overlap)]);
  if (execution.compute_utilization) out.real("compute_util", *execution.compute_utilization);
  out.count("word", execution.word_bytes);
  out.stated_count("effective_stage", execution.effective_stages);
  out.stated_flag("separate_rs_ag_for_ar", execution.separate_reduce_scatter_all_gather);
  out.stated_flag("skip_inter_chip_optimization", execution.skip_inter_chip);
  out.stated_flag("turn_off_p_and_r", !execution.place_and_route);
  out.stated_flag("whole_kernels", execution.whole_kernels);
  out.stated_flag("stream_weights", execution.stream_weights);
  if (execution.terms != "CMN") out.text("optimization", execution.terms);
  out.close();
}

void write(const dataflow::SolverHints& hints, TextWriter& out) {
  if (hints.threads == 0 && hints.gap == 0 && hints.seconds == 0) return;
  out.open("gurobi");
  out.stated_count("thread", hints.threads);
  out.stated_real("gap", hints.gap);
  out.stated_count("time", base::saturated(hints.seconds));
  out.close();
}

}  // namespace

std::string write_graph(const workload::KernelGraph& graph) {
  TextWriter out;
  write(graph, out);
  return out.written();
}

std::string write_setup(const dataflow::Setup& setup) {
  TextWriter out;
  write(setup.graph, out);
  write(setup.system, out);
  write(setup.prices, out);
  write(setup.execution, out);
  write(setup.solver, out);
  return out.written();
}

}  // namespace orrery::formats::dfmodel
