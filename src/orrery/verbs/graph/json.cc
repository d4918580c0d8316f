#include "orrery/verbs/graph/json.h"

#include <utility>

namespace orrery::verbs {
namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::Operands;

const char* operands_name(Operands operands) {
  switch (operands) {
    case Operands::kInputAndWeight:
      return "gemm_input1_weight";
    case Operands::kTwoInputs:
      return "gemm_input1_input2";
    case Operands::kOneElementwise:
      return "elementwise_input1";
    case Operands::kTwoElementwise:
      return "elementwise_input1_input2";
  }
  return "";
}

const char* dimension_name(KernelDimension dimension) {
  switch (dimension) {
    case KernelDimension::kOuter:
      return "outer";
    case KernelDimension::kM:
      return "M";
    case KernelDimension::kK:
      return "K";
    case KernelDimension::kN:
      return "N";
    case KernelDimension::kNone:
      return "none";
  }
  return "";
}

const char* communication_name(Communication communication) {
  switch (communication) {
    case Communication::kNone:
      return "none";
    case Communication::kAllReduce:
      return "all-reduce";
    case Communication::kAllToAll:
      return "all-to-all";
    case Communication::kAllGather:
      return "all-gather";
    case Communication::kPeriodicAllReduce:
      return "all-reduce-periodic";
    case Communication::kPointToPoint:
      return "point-to-point";
    case Communication::kBroadcast:
      return "broadcast";
  }
  return "";
}

struct Sent {
  Communication kind;
  double bytes;
};

std::vector<Sent> sent_over(const workload::KernelEdge& edge) {
  if (edge.communication == Communication::kNone) return {};
  return {{edge.communication, edge.communication_bytes}};
}

std::vector<Sent> communications(const Kernel& kernel) {
  std::vector<Sent> list;
  for (const Sent& sent : {Sent{kernel.communication, kernel.communication_bytes},
                           Sent{kernel.second_communication, kernel.second_communication_bytes}})
    if (sent.kind != Communication::kNone) list.push_back(sent);
  return list;
}

// A kernel or a connection by its index.
struct Numbered {
  const workload::KernelGraph& graph;
  std::size_t index;
  int level;

  const Kernel& kernel() const { return graph.kernels[index]; }
  const workload::KernelEdge& edge() const { return graph.edges[index]; }
  int id() const { return static_cast<int>(index) + 1; }
};

std::vector<Numbered> kernels(const GeneratedGraph& generated) {
  const std::vector<int> level = workload::levels(generated.graph);
  std::vector<Numbered> out;
  for (std::size_t k = 0; k < level.size(); ++k) out.push_back({generated.graph, k, level[k]});
  return out;
}

std::vector<Numbered> connections(const GeneratedGraph& generated) {
  std::vector<Numbered> out;
  for (std::size_t e = 0; e < generated.graph.edges.size(); ++e) out.push_back({generated.graph, e, 0});
  return out;
}

Record<Sent> communication() {
  return {{"type", "Collective that is run.", [](const Sent& s) { return communication_name(s.kind); },
           OneOf{{"all-reduce", "all-to-all", "all-gather", "all-reduce-periodic", "point-to-point", "broadcast"}}},
          {"bytes", "Bytes of the whole tensor.", &Sent::bytes}};
}

Record<Numbered> kernel() {
  const Record<Kernel> plain = {
      {"unit", "Unit that runs the kernel.",
       [](const Kernel& k) { return k.unit == workload::KernelUnit::kSystolic ? "systolic" : "simd"; },
       OneOf{{"systolic", "simd"}}},
      {"direction", "Pass that the kernel belongs to.",
       [](const Kernel& k) { return k.direction == workload::Direction::kForward ? "forward" : "backward"; },
       OneOf{{"forward", "backward"}}},
      {"operands", "Kind of kernel, by DFModel's name.", [](const Kernel& k) { return operands_name(k.operands); },
       OneOf{{"gemm_input1_weight", "gemm_input1_input2", "elementwise_input1", "elementwise_input1_input2"}}},
      {"outer", "Instances of the GEMM, such as heads.", &Kernel::outer},
      {"m", "Rows of the output.", &Kernel::m},
      {"k", "Length of the sum; 1 for elementwise kernels.", &Kernel::k},
      {"n", "Columns of the output.", &Kernel::n},
      {"flop", "Floating-point operations: 2 outer M K N on matrix units, outer M K N on vector lanes.",
       [](const Kernel& k) { return verbs::flop(k); }},
      {"input_bytes", "Bytes of the first input.", &Kernel::input_bytes},
      {"second_bytes", "Bytes of the weight or the second input; 0 where it is not stated or there is none.",
       &Kernel::second_bytes},
      {"output_bytes", "Bytes of the output.", &Kernel::output_bytes},
      {"memory_bytes", "Bytes of memory traffic beyond what the edges cause.", &Kernel::memory_bytes},
      {"dram_extra_bytes", "Bytes of DRAM that the kernel occupies on a chip, beside its weight.",
       &Kernel::dram_extra_bytes},
      {"tiling", "Dimension that is split over time.", [](const Kernel& k) { return dimension_name(k.tiling); },
       OneOf{{"outer", "M", "K", "N", "none"}}},
      {"communication", "Collectives that the kernel runs, if any.", communications, communication()}};
  Record<Numbered> out = {{"id", "Number of the kernel, from 1.", &Numbered::id},
                          {"name", "Name of the kernel.", [](const Numbered& n) { return n.kernel().name; }},
                          {"level", "Longest path from a source of the graph; sources have 0.", &Numbered::level}};
  return out.add(plain.of<Numbered>(&Numbered::kernel));
}

Record<Numbered> connection() {
  using N = Numbered;
  return {{"id", "Number of the edge, from 1.", &N::id},
          {"from", "Id of the producer.", [](const N& n) { return n.edge().from + 1; }},
          {"to", "Id of the consumer.", [](const N& n) { return n.edge().to + 1; }},
          {"from_name", "Name of the producer.", [](const N& n) { return n.graph.kernels[n.edge().from].name; }},
          {"to_name", "Name of the consumer.", [](const N& n) { return n.graph.kernels[n.edge().to].name; }},
          {"bytes", "Bytes of the producer's whole output.",
           [](const N& n) { return n.graph.kernels[n.edge().from].output_bytes; }},
          {"communication", "Collectives that the meaning of the kernels demands, whatever the sharding.",
           [](const N& n) { return sent_over(n.edge()); }, communication()}};
}

}  // namespace

Document<GeneratedGraph> graph_document() {
  const Record<GeneratedGraph> result = {
      {"kind", "Kind of graph, as on the command line.", &GeneratedGraph::kind},
      {"model", "Name of the model; null where the graph was made of sizes.",
       [](const GeneratedGraph& g) { return g.model.empty() ? std::nullopt : std::optional(g.model); }},
      {"parameters", "Sizes that were used, defaults included, by DFModel's names.", &GeneratedGraph::parameters},
      {"notes", "Parts of the model that the kernels do not show.", &GeneratedGraph::notes},
      {"flop", "Floating-point operations of all kernels.",
       [](const GeneratedGraph& g) { return verbs::flop(g.graph); }},
      {"kernels", "Kernels in the order of their numbers.", kernels, kernel()},
      {"connections", "Edges in the order of their numbers.", connections, connection()}};
  return {"graph", "The kernel graph.", result};
}

}  // namespace orrery::verbs
