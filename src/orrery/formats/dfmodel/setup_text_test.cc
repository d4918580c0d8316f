#include "orrery/formats/dfmodel/setup_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {
namespace {

namespace fs = std::filesystem;
using workload::Communication;

dataflow::Setup read_back(const std::string& text) {
  auto file = std::make_shared<base::SourceFile>();
  file->name = "setup.txt";
  file->text = text;
  return read_setup(file).setup;
}

// Everything of a setup as one text: what two setups must agree in.
std::string dump(const workload::KernelGraph& graph) {
  std::ostringstream out;
  out.precision(17);
  for (const workload::Kernel& k : graph.kernels) {
    out << k.name << '|' << int(k.unit) << int(k.direction) << int(k.operands) << '|' << k.outer << ' ' << k.m << ' '
        << k.k << ' ' << k.n << '|' << k.input_bytes << ' ' << k.second_bytes << ' ' << k.output_bytes << '|'
        << (k.sharding ? int(*k.sharding) : -1) << int(k.tiling) << '|' << int(k.communication) << ' '
        << k.communication_bytes << '|' << int(k.second_communication) << ' ' << k.second_communication_bytes << '|'
        << k.configuration << ' ' << k.memory_bytes << ' ' << k.inputs << ' ' << k.skip_weight << ' '
        << k.effective_stages << ' ' << k.sram_extra_bytes << ' ' << k.dram_extra_bytes << ' ' << k.shard_m << ' '
        << k.shard_k << ' ' << k.shard_n << ' ' << k.compute_utilization.value_or(0) << '\n';
  }
  for (const workload::KernelEdge& e : graph.edges) {
    out << e.from << ' ' << e.to << '|' << int(e.communication) << ' ' << e.communication_bytes << ' ' << e.zero_out
        << e.stage_parallel << int(e.second_communication) << ' ' << e.buffer_depth << ' ' << e.tensor_bytes << ' '
        << e.shard_tensor_bytes << '\n';
  }
  return out.str();
}

struct WorkloadDump {
  std::ostringstream& out;
  void operator()(const dataflow::LanguageModelRun& m) const {
    out << "llm " << m.hidden << ' ' << m.head_width << ' ' << m.heads << ' ' << m.sequence << ' ' << m.layers << ' '
        << m.global_batch << ' ' << m.micro_batch << ' ' << m.tile_size << ' ' << m.layers_in_graph;
  }
  void operator()(const dataflow::Recommendation& m) const {
    out << "dlrm " << m.tables << ' ' << m.embedding << ' ' << m.rows << ' ' << m.global_batch << ' ' << m.copies;
  }
  void operator()(const dataflow::Linpack& m) const { out << "hpl " << m.n << ' ' << m.block << ' ' << m.copies; }
  void operator()(const dataflow::FourierTransform& m) const { out << "fft " << m.length << ' ' << m.copies; }
  void operator()(const dataflow::StateSpaceModel& m) const {
    out << m.kind << ' ' << m.hidden << ' ' << m.sequence << ' ' << m.tile_size << ' ' << m.effective_stages;
  }
};

std::string dump(const dataflow::Setup& setup) {
  std::ostringstream out;
  out.precision(17);
  const dataflow::System& system = setup.system;
  const machine::CoreArray& c = system.cores;
  const dataflow::Floorplan& f = system.floorplan;
  const machine::Accelerator& a = system.accelerator;
  out << dump(setup.graph) << system.chips << ' ' << c.cores << ' ' << c.width << ' ' << c.height << ' '
      << c.frequency_ghz << ' ' << a.on_chip_bytes << ' ' << f.memory_units << ' ' << f.memory_unit_bytes << ' '
      << f.grid_x << ' ' << f.grid_y << ' ' << f.diagonal_placement << ' ' << system.link_latency_ns << '\n'
      << a.memory_bytes_per_s << ' ' << a.memory_bytes << ' ' << system.second_memory.bandwidth_gb_per_s << ' '
      << system.second_memory.capacity_bytes << '\n';
  for (const dataflow::NetworkDimension& d : setup.system.network) {
    out << int(d.link) << ' ' << d.size << ' ' << d.bandwidth_gb_per_s << ' '
        << (d.parallelism ? int(*d.parallelism) : -1) << '\n';
  }
  const dataflow::Prices& p = setup.prices;
  out << setup.system.high_bandwidth_domain << '\n'
      << p.link_price << ' ' << p.switch_price << ' ' << p.dram_price << ' ' << p.accelerator_price << ' '
      << p.link_power[0] << ' ' << p.link_power[1] << ' ' << p.link_power[2] << ' ' << p.link_power[3] << ' '
      << p.switch_power << ' ' << p.dram_power << ' ' << p.accelerator_power << '\n';
  const dataflow::Execution& e = setup.execution;
  std::visit(WorkloadDump{out}, e.workload);
  out << '\n'
      << int(e.style) << ' ' << e.configurations << ' ' << int(e.overlap) << ' ' << e.compute_utilization.value_or(-1)
      << ' ' << e.word_bytes << ' ' << e.separate_reduce_scatter_all_gather << ' ' << e.effective_stages << ' '
      << e.skip_inter_chip << e.place_and_route << e.terms << '\n'
      << setup.solver.threads << ' ' << setup.solver.gap << ' ' << setup.solver.seconds << '\n';
  return out.str();
}

double random_bytes() {
  const auto kind = *rc::gen::inRange(0, 4);
  if (kind == 0) return 0;
  if (kind == 1) return *rc::gen::inRange(1, 1 << 20);
  return static_cast<double>(static_cast<float>(*rc::gen::inRange(1, 1 << 30)) * 1.1e3f);
}

Communication random_communication() {
  return static_cast<Communication>(*rc::gen::inRange(0, 7));
}

// Bytes without a communication are not written: they say nothing.
double bytes_of(Communication communication) {
  return communication == Communication::kNone ? 0 : random_bytes();
}

workload::KernelGraph random_graph(base::Count stages, int configurations) {
  workload::KernelGraph graph;
  const int kernels = *rc::gen::inRange(1, 12);
  for (int i = 0; i < kernels; ++i) {
    workload::Kernel k;
    k.name = *rc::gen::nonEmpty<std::string>();
    k.unit = static_cast<workload::KernelUnit>(*rc::gen::inRange(0, 2));
    k.direction = static_cast<workload::Direction>(*rc::gen::inRange(0, 2));
    k.operands = static_cast<workload::Operands>(*rc::gen::inRange(0, 4));
    k.outer = *rc::gen::inRange(1, 100);
    k.m = *rc::gen::inRange(1, 10000);
    k.n = *rc::gen::inRange(1, 10000);
    if (k.is_product()) k.k = *rc::gen::inRange(1, 10000);
    k.input_bytes = random_bytes();
    if (k.operands != workload::Operands::kOneElementwise) k.second_bytes = random_bytes();
    k.output_bytes = random_bytes();
    // K only of products; not the same dimension twice.
    const auto dimension = [&] {
      const auto drawn = static_cast<workload::KernelDimension>(*rc::gen::inRange(0, 5));
      return drawn == workload::KernelDimension::kK && !k.is_product() ? workload::KernelDimension::kN : drawn;
    };
    k.tiling = dimension();
    if (const auto sharding = dimension(); sharding != k.tiling) k.sharding = sharding;
    k.communication = random_communication();
    k.communication_bytes = bytes_of(k.communication);
    k.second_communication = random_communication();
    k.second_communication_bytes = bytes_of(k.second_communication);
    k.configuration = *rc::gen::inRange(-1, configurations);
    k.memory_bytes = random_bytes();
    k.inputs = *rc::gen::inRange(0, 3);
    if (k.operands == workload::Operands::kInputAndWeight) {
      k.skip_weight = *rc::gen::arbitrary<bool>();
      k.effective_stages = *rc::gen::arbitrary<bool>() ? stages : 0;
    }
    k.sram_extra_bytes = *rc::gen::inRange(0, 1 << 30);
    k.dram_extra_bytes = *rc::gen::inRange(0, 1 << 30) * 0.3;  // not a 32-bit number
    k.shard_m = *rc::gen::inRange(0, 3);
    if (k.is_product()) k.shard_k = *rc::gen::inRange(0, 3);
    k.shard_n = *rc::gen::inRange(0, 3);
    graph.kernels.push_back(k);
  }
  const int edges = kernels < 2 ? 0 : *rc::gen::inRange(0, 20);
  for (int i = 0; i < edges; ++i) {
    workload::KernelEdge e;
    e.from = *rc::gen::inRange(0, kernels - 1);
    e.to = *rc::gen::inRange(e.from + 1, kernels);
    e.communication = random_communication();
    e.communication_bytes = bytes_of(e.communication);
    e.second_communication = random_communication();
    e.zero_out = *rc::gen::arbitrary<bool>();
    e.stage_parallel = *rc::gen::arbitrary<bool>();
    e.buffer_depth = *rc::gen::inRange(0, 5);
    e.tensor_bytes = random_bytes();
    e.shard_tensor_bytes = random_bytes();
    graph.edges.push_back(e);
  }
  return graph;
}

dataflow::Workload random_workload(base::Count stages) {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return dataflow::LanguageModelRun{1024,
                                        *rc::gen::inRange(0, 128),
                                        *rc::gen::inRange(0, 16),
                                        512,
                                        4,
                                        64,
                                        *rc::gen::inRange(1, 9),
                                        *rc::gen::inRange(0, 512),
                                        *rc::gen::inRange(1, 5)};
    case 1:
      return dataflow::Recommendation{*rc::gen::inRange(1, 100), 64, 1 << 20, 4096, *rc::gen::inRange(1, 3)};
    case 2:
      return dataflow::Linpack{*rc::gen::inRange(64, 1 << 20), *rc::gen::inRange(1, 65), 2};
    case 3:
      return dataflow::FourierTransform{base::Count{1} << 40, *rc::gen::inRange(1, 4)};
    case 4:
      return dataflow::StateSpaceModel{"gemm_fft_llm", 32, 1 << 18, 0, 0};
    case 5:
      return dataflow::StateSpaceModel{"regular_fft_llm", 32, 1 << 18, 0, 0};
    case 6:
      return dataflow::StateSpaceModel{"vector_fft_llm", 32, 1 << 18, 0, stages};
    default:
      return dataflow::StateSpaceModel{"mamba", 32, 1 << 18, *rc::gen::inRange(0, 1 << 18), stages};
  }
}

dataflow::System random_system() {
  using dataflow::Link;
  constexpr Link kR = Link::kRing, kS = Link::kSwitch, kF = Link::kFullyConnected;
  const std::vector<std::vector<Link>> topologies = {{kR},         {kS},         {kF},         {kR, kR},
                                                     {kR, kF},     {kR, kS},     {kS, kS},     {kF, kF},
                                                     {kR, kR, kR}, {kR, kS, kS}, {kS, kS, kS}, {kR, kR, kR, kR}};
  dataflow::System system;
  const std::vector<Link> links = *rc::gen::elementOf(topologies);
  system.chips = 1;
  std::vector<dataflow::Parallelism> order = {dataflow::Parallelism::kTensor, dataflow::Parallelism::kPipeline,
                                              dataflow::Parallelism::kData};
  if (links.size() == 4) order.push_back(dataflow::Parallelism::kSequence);
  for (const Link link : links) {
    dataflow::NetworkDimension d;
    d.link = link;
    d.size = *rc::gen::inRange(1, 64);
    system.chips *= d.size;
    if (links.size() > 1 && *rc::gen::inRange(0, 4) == 0) d.size = 0;  // to be found
    d.bandwidth_gb_per_s = static_cast<double>(static_cast<float>(*rc::gen::inRange(1, 100000)) * 0.01f);
    if (*rc::gen::arbitrary<bool>()) {
      const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(order.size())));
      d.parallelism = order[at];
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
    }
    system.network.push_back(d);
  }
  if (links.size() == 3 && *rc::gen::arbitrary<bool>()) system.high_bandwidth_domain = 1;
  system.cores = {640, 32, 6, 1.25};
  system.accelerator.on_chip_bytes = 335544320.0;
  if (*rc::gen::arbitrary<bool>()) {
    system.floorplan.memory_units = 640;
    system.floorplan.memory_unit_bytes = 524288;
    system.floorplan.grid_x = 20;
    system.floorplan.grid_y = 32;
    system.floorplan.diagonal_placement = *rc::gen::arbitrary<bool>();
  }
  system.link_latency_ns = random_bytes();
  system.accelerator.memory_bytes_per_s = 100e9;
  system.accelerator.memory_bytes = random_bytes();
  system.second_memory = {static_cast<double>(*rc::gen::inRange(1, 101)), random_bytes()};
  return system;
}

TEST(SetupText, ReadsBackToTheSameSetup) {
  const bool held = rc::check("a random setup survives its text", [] {
    dataflow::Setup setup;
    const base::Count stages = *rc::gen::inRange(1, 9);
    setup.execution.workload = random_workload(stages);
    setup.execution.style = static_cast<dataflow::Style>(*rc::gen::inRange(0, 2));
    setup.execution.configurations = *rc::gen::inRange(1, 9);
    setup.execution.overlap = static_cast<dataflow::Overlap>(*rc::gen::inRange(0, 3));
    if (*rc::gen::arbitrary<bool>()) setup.execution.compute_utilization = static_cast<double>(0.9f);
    setup.execution.word_bytes = *rc::gen::inRange(1, 9);
    setup.execution.separate_reduce_scatter_all_gather = *rc::gen::arbitrary<bool>();
    setup.execution.effective_stages = stages;
    setup.execution.skip_inter_chip = *rc::gen::arbitrary<bool>();
    setup.execution.place_and_route = *rc::gen::arbitrary<bool>();
    setup.execution.terms = *rc::gen::element<std::string>("CMN", "CM", "CN", "C");
    setup.graph = random_graph(stages, 1);
    setup.system = random_system();
    double* const prices[] = {&setup.prices.link_price,    &setup.prices.switch_price,     &setup.prices.dram_price,
                              &setup.prices.link_power[0], &setup.prices.link_power[3],    &setup.prices.dram_power,
                              &setup.prices.switch_power,  &setup.prices.accelerator_power};
    for (double* price : prices) *price = random_bytes();
    setup.prices.accelerator_price = static_cast<double>(16522.25023f);
    setup.solver = {*rc::gen::inRange(0, 9), static_cast<double>(0.001f), 180.0};
    const std::string text = write_setup(setup);
    try {
      RC_ASSERT(dump(read_back(text)) == dump(setup));
    } catch (const base::InputError& error) {
      RC_FAIL(error.diagnostics.front().code + ": " + error.diagnostics.front().message + "\n" + text);
    }
  });
  EXPECT_TRUE(held);
}

TEST(SetupText, OfEveryGoldenCaseReadsBackToTheSameSetup) {
  const fs::path goldens = base::kShared / "goldens" / "dataflow";
  ORRERY_NEEDS_SHARED();
  for (const fs::directory_entry& folder : fs::directory_iterator(goldens)) {
    if (!fs::exists(folder.path() / "setup.txt")) continue;
    const dataflow::Setup setup = load_setup(folder.path().string()).setup;
    EXPECT_EQ(dump(read_back(write_setup(setup))), dump(setup)) << folder.path();
  }
}

TEST(SetupText, NumbersOf32BitsAreShort) {
  workload::KernelGraph graph;
  graph.kernels.emplace_back();
  graph.kernels[0].name = "a \"b\"\n";
  graph.kernels[0].output_bytes = static_cast<double>(0.9f);
  const std::string text = write_graph(graph);
  EXPECT_NE(text.find("output_tensor_size: 0.9\n"), std::string::npos) << text;
  EXPECT_NE(text.find("name: \"a \\\"b\\\"\\012\"\n"), std::string::npos) << text;
}

TEST(SetupText, ANetworkThatDfmodelHasNotIsRefused) {
  dataflow::Setup setup;
  setup.system.network = {{dataflow::Link::kFullyConnected}, {dataflow::Link::kSwitch}};
  EXPECT_EQ(base::refused([&] { write_setup(setup); }).at(0).code, "O1406");
}

}  // namespace
}  // namespace orrery::formats::dfmodel
