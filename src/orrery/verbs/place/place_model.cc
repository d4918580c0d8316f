// Idea: both engines know the same machine in other words.
//
//   accelerator    peak = 2 cores width height frequency: `units` cores, each with the power of two of multipliers that
//                  puts the clock between 1 and 2 GHz
//   a network      DFModel states what one link carries each way: a switch's is what an accelerator sends, a ring's
//   half
//                  of it, a torus's a half for each dimension, a full connection's its part for each of the others
//
// A node's full connection is taken for a switch of the same rate, which a collective of the whole node does not
// notice.
#include "orrery/verbs/place/place_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/graphs/generate_graph.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/verbs/place/train_kernels.h"

namespace orrery::verbs {
namespace {

using base::Count;
using collective::Network;
using collective::Topology;
using dataflow::Link;
using dataflow::NetworkDimension;

void require(const PlaceModelRequest& request) {
  base::Diagnostics found;
  const auto lacks = [&](bool missing, const char* what, const char* way) {
    if (missing) found.error("O1465", fmt::format("{} must be specified", what)).hint(way);
  };
  lacks(request.model.empty(), "the model", "give `--model NAME`; `orrery catalog models` lists them");
  lacks(request.system.empty(), "the system", "give `--system NAME`; `orrery catalog systems` lists them");
  lacks(!request.gpus && !(request.tp && request.pp && request.dp), "the number of accelerators",
        "give `--gpus N`, or all of `--tp`, `--pp` and `--dp`");
  lacks(!request.global_batch, "the global batch", "give `--global-batch N`, sequences");
  found.throw_if_errors();
}

// As `train` has it, for the degrees that are known: those given, and one that follows from them.
cluster::Plan spread_of(const PlaceModelRequest& request, const cluster::System& system, base::Diagnostics& found) {
  cluster::Plan plan;
  plan.global_batch = *request.global_batch;
  plan.micro_batch = request.micro_batch.value_or(1);
  plan.precision = request.precision.value_or(plan.precision);
  struct Degree {
    const char* name;
    Count& value;
    const std::optional<Count>& given;
  };
  const std::array<Degree, 3> degrees = {
      {{"dp", plan.dp, request.dp}, {"pp", plan.pp, request.pp}, {"tp", plan.tp, request.tp}}};
  std::vector<std::string> open;
  const Degree* last = nullptr;  // that is open; the others are 1
  double product = 1;
  for (const Degree& degree : degrees) {
    degree.value = degree.given.value_or(1);
    product *= static_cast<double>(degree.value);
    if (degree.given) continue;
    open.insert(open.begin(), degree.name);
    if (last == nullptr) last = &degree;
  }
  plan.gpus = request.gpus.value_or(base::saturated(product));
  if (last != nullptr && product <= static_cast<double>(plan.gpus)) last->value = plan.gpus / base::saturated(product);
  // Of two open degrees, others may share the batch.
  if (open.size() > 1 && static_cast<double>(last->value) * product == static_cast<double>(plan.gpus))
    plan.global_batch = plan.micro_batch * last->value;
  base::Diagnostics own;
  cluster::check_spread(system, plan, own);
  const bool in_vain = open.size() > 1 && std::any_of(own.all().begin(), own.all().end(),
                                                      [](const auto& one) { return one.code == "O1305"; });
  if (in_vain) refuse_choice_of(open, own);
  found.append(own);
  return plan;
}

double gb_per_s(const Network& network, double links) {
  return network.rate() / links / 1e9;
}

[[noreturn]] void refuse_network(const std::string& message, const std::string& hint) {
  base::Diagnostics found;
  found.error("O1466", message).hint(hint);
  throw base::InputError(found.all());
}

int dimensions_of(const Network& torus) {
  int count = 0;
  for (const int extent : torus.torus) count += extent > 0 ? 1 : 0;
  return std::max(1, count);
}

// A torus is a ring in each dimension; its extents follow from the number of accelerators.
std::vector<NetworkDimension> torus_dimensions(const Network& network) {
  const int dimensions = network.topology == Topology::kRing ? 1 : dimensions_of(network);
  return std::vector<NetworkDimension>(static_cast<std::size_t>(dimensions),
                                       NetworkDimension{Link::kRing, 0, gb_per_s(network, 2.0 * dimensions), {}});
}

std::vector<NetworkDimension> network_of(const cluster::System& system, Count gpus, base::Diagnostics& warnings) {
  const Network& inside = system.fabric.levels[0];
  if (inside.topology == Topology::kTorus || inside.topology == Topology::kRing) {
    if (inside.size > 0 && gpus > inside.size)
      refuse_network(fmt::format("{} accelerators are more than the {} that {} joins, and `place` knows no network "
                                 "around a torus",
                                 gpus, inside.size, system.name),
                     fmt::format("give at most `--gpus {}`", inside.size));
    return torus_dimensions(inside);
  }
  if (inside.topology == Topology::kFullyConnected)
    warnings
        .warning("O1467",
                 fmt::format("the links inside a node of `{}` are taken for a switch of the same rate", system.name))
        .note("`place` knows full connections alone, or inside a ring; a collective of a whole node takes as long");
  const NetworkDimension node{Link::kSwitch, 0, gb_per_s(inside, 1), {}};
  const Count size = inside.size > 0 ? inside.size : gpus;
  if (gpus <= size) return {node, node, node};
  if (gpus % size != 0)
    refuse_network(fmt::format("{} accelerators do not fill nodes of {}", gpus, size),
                   fmt::format("give a multiple of {}, such as `--gpus {}`", size, gpus / size * size));
  if (system.fabric.count < 2)
    refuse_network(fmt::format("{} has no network between its nodes of {}", system.name, size),
                   fmt::format("give at most `--gpus {}`", size));
  const Network& outside = system.fabric.levels[1];
  if (outside.topology != Topology::kSwitch)
    refuse_network(fmt::format("the nodes of {} are not joined by a switch", system.name),
                   "`place` a setup file with the network that is meant");
  NetworkDimension first = node;
  first.size = size;
  const NetworkDimension between{Link::kSwitch, 0, gb_per_s(outside, 1), {}};
  return {first, between, between};
}

machine::CoreArray cores_of(const machine::Accelerator& accelerator, machine::Precision precision) {
  machine::CoreArray out;
  out.cores = std::max<Count>(1, accelerator.units);
  const double per_core = accelerator.peak(precision) / 2 / static_cast<double>(out.cores);  // multiply-accumulates a s
  const int exponent = std::clamp(std::ilogb(per_core / 1e9), 0, 60);
  out.width = Count{1} << ((exponent + 1) / 2);
  out.height = Count{1} << (exponent / 2);
  out.frequency_ghz = per_core / 1e9 / std::exp2(exponent);
  return out;
}

// DFModel's memory has neither gradients nor the optimiser's state; the least that `train` counts for them.
void say_what_training_holds(const GeneratedGraph& generated, const cluster::System& system,
                             const dataflow::Setup& setup, PlacedModelQuestion& out) {
  constexpr double kStateBytes = 16;  // weights, gradients, Adam's two moments and its 32-bit weights
  const double weights = static_cast<double>(setup.execution.word_bytes);
  out.notes.push_back(fmt::format(
      "DRAM holds no gradients and no optimiser's state, which are {} bytes a parameter or more: `train` counts them",
      kStateBytes - weights));
  const double layers = static_cast<double>(std::get<dataflow::LanguageModelRun>(setup.execution.workload).layers);
  const double parameters =
      layers * static_cast<double>(workload::block_parameters(*generated.layer, generated.parameter("hidden")));
  const double chips = static_cast<double>(setup.system.chips), room = system.accelerator.memory_bytes,
               node = static_cast<double>(std::max<Count>(1, system.node_size));
  if (kStateBytes * parameters <= chips * room) return;
  out.warnings
      .warning("O1472", fmt::format("{:.0f} accelerators cannot hold what training these layers keeps, however it is "
                                    "sharded",
                                    chips))
      .note(
          fmt::format("weights, gradients and Adam's state: {:.3g} parameters x {} bytes = {:.0f} GB; all DRAM: {:.0f} "
                      "x {:.4g} GB = {:.0f} GB",
                      parameters, kStateBytes, kStateBytes * parameters / 1e9, chips, room / 1e9, chips * room / 1e9))
      .hint(fmt::format("give at least `--gpus {:.0f}`; ask `orrery train`, which counts them, offloading among it; or "
                        "place `--forward`",
                        node * std::ceil(kStateBytes * parameters / room / node)));
}

}  // namespace

PlacedModelQuestion place_model(const PlaceModelRequest& request, const base::Overrides& chip_overrides) {
  require(request);
  const std::string catalogue = catalogue_directory();
  PlacedModelQuestion out;

  GraphRequest graph;
  graph.kind = request.forward ? "llm-fwd" : "llm";
  graph.model = request.model;
  graph.ignored = request.ignored;
  graph.like = request.like;
  graph.stack = request.stack.value_or("");
  const machine::Precision precision = request.precision.value_or(machine::Precision::kBf16);
  const double word = machine::bytes_per_element(precision);
  if (word != std::floor(word))
    base::fail("O1982",
               fmt::format("`place` counts in words of whole bytes, and {} has {} bytes an element",
                           machine::name(precision), word),
               {}, "take fp8: the scales of blocks are left out then");
  graph.sizes["word"] = static_cast<Count>(word);
  if (request.seq) graph.sizes["seq"] = *request.seq;
  if (request.layer) graph.sizes["layer"] = *request.layer;
  GeneratedGraph generated = generate_graph(graph);
  out.notes = generated.notes;
  out.inputs = generated.inputs;
  out.warnings = generated.warnings;
  out.partial = !generated.left_out.empty();
  if (out.partial) {
    const Count layers = generated.parameter("num_layer");
    base::Diagnostic& partial =
        out.warnings.warning("O1469", fmt::format("only {} layer{} of `{}` {} placed", layers, base::plural(layers),
                                                  generated.model, base::plural(layers, "is", "are")));
    for (const std::string& note : generated.left_out) partial.note(note);
    partial.hint(
        "place the others by themselves and add the times: `--layer N`, or a setup from `orrery graph --stack "
        "encoder`");
  }

  SystemReading machine = read_system(catalogue, request.system, {}, request.chip, chip_overrides);
  out.system = std::move(machine.system);
  out.chip = std::move(machine.chip);
  out.inputs.insert(out.inputs.end(), machine.inputs.begin(), machine.inputs.end());
  out.warnings.append(machine.warnings);
  base::Diagnostics found;
  const Count gpus = spread_of(request, out.system, found).gpus;
  found.throw_if_errors();

  dataflow::Setup& setup = out.setup;
  setup.graph = std::move(generated.graph);
  setup.system.chips = gpus;
  setup.system.accelerator = out.system.accelerator;
  setup.system.accelerator.memory_bytes_per_s *= out.system.accelerator.memory_efficiency;
  setup.system.accelerator.memory_efficiency = 1;
  setup.system.cores = cores_of(out.system.accelerator, precision);
  setup.system.network = network_of(out.system, gpus, out.warnings);
  if (const Count node = setup.system.network[0].size; node > 1)
    out.not_looked_at = fmt::format(
        "placements that divide the {} accelerators of a node between TP, PP and DP: a node serves one of them", node);
  setup.prices.accelerator_power = out.system.watts_per_gpu;

  dataflow::LanguageModelRun run;
  run.hidden = generated.parameter("hidden");
  run.head_width = generated.parameter("head_dim");
  run.heads = generated.parameter("num_head");
  run.sequence = generated.parameter("seq");
  run.layers = std::max<Count>(1, generated.parameter("num_layer"));
  run.global_batch = *request.global_batch;
  run.micro_batch = request.micro_batch.value_or(1);
  setup.execution.workload = run;
  setup.execution.style = dataflow::Style::kKernelByKernel;
  setup.execution.compute_utilization = out.system.accelerator.matrix_efficiency;
  setup.execution.word_bytes = graph.sizes["word"];
  out.precision = precision;
  const workload::Transformer model =
      load_model(catalogue, request.model, {request.ignored, formats::huggingface::Outside::kPassed, request.like})
          .transformer;
  if (!request.forward) say_what_training_holds(generated, out.system, setup, out);
  take_kernels_of_training(model, *generated.layer, out.chip ? nullptr : &out.system, setup, out.notes);
  out.wanted = {request.tp.value_or(0), request.pp.value_or(0), request.dp.value_or(0)};
  return out;
}

}  // namespace orrery::verbs
