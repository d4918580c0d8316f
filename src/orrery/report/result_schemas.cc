#include "orrery/report/schema_fields.h"

#include <utility>

namespace orrery::report {
namespace {

// What `orrery energy --json` prints.
std::vector<Field> energy_fields() {
  const std::vector<Field> action = {
      required({"name", Type::kString, "read, write, update, leak, compute, transfer_NAME."}),
      required({"arguments", Type::kOpenMap, "Arguments of the entry, such as num_destinations."}),
      required({"energy_pj", Type::kNumber, "pJ of one action; of `leak`, in one cycle."}),
      required({"source", Type::kString, "Estimators and what they went by."}),
      required({"accuracy_percent", Type::kNumber, "What the least accurate estimator claims of itself, 0 to 100."}),
      required(
          {"expected_error_percent", Type::kNumberOrNull,
           "Two thirds of such figures are at most that far from what the estimator imitates; null where it was not "
           "measured of every addend."}),
      required({"basis", Type::kNames, "published, modelled, interpolated, extrapolated, measured, assumed."}),
      required({"extrapolated", Type::kNames, "Bounds of their figures that addends lie beyond; empty within."}),
      required({"node_rules", Type::kNames, "Rules by which addends were brought to their technology."}),
  };
  const std::vector<Field> component = {
      required({"name", Type::kString, "Name in the architecture."}),
      required({"table_name", Type::kString, "Name in ERT and ART."}),
      required({"class", Type::kString, "Class by which it was estimated."}),
      required({"count", Type::kNumber, "Instances on the chip."}),
      required({"area_um2", Type::kNumber, "um^2 of one instance."}),
      required({"area_source", Type::kString, "As of an action."}),
      required({"area_accuracy_percent", Type::kNumber, "As of an action."}),
      required({"area_expected_error_percent", Type::kNumberOrNull, "As of an action."}),
      required({"area_basis", Type::kNames, "As of an action."}),
      required({"area_extrapolated", Type::kNames, "As of an action."}),
      required({"area_node_rules", Type::kNames, "As of an action."}),
      required({"actions", Type::kListOf, "One entry an action and value of its arguments.", action}),
  };
  return {
      required({"schema", Type::kString, "The kind of document.", {}, {"orrery.energy/1"}}),
      required({"version", Type::kString, "Version of Orrery."}),
      {"compat", Type::kNames, "Originals reproduced."},
      {"inputs",
       Type::kListOf,
       "What was read.",
       {{"name", Type::kString, "File or override."}, {"hash", Type::kString, "Hash of its content."}}},
      required({"result",
                Type::kMap,
                "The figures.",
                {required({"components", Type::kListOf, "Primitives first, then compounds.", component}),
                 {"total_area_um2", Type::kNumber, "um^2 of all instances of all components."}}}),
      {"warnings", Type::kAnything, "As of `orrery map`."},
      {"timing", Type::kOpenMap, "`seconds` of the whole command."},
  };
}

std::vector<Field> numbers(const std::vector<std::pair<const char*, const char*>>& names) {
  std::vector<Field> fields;
  for (const auto& [name, doc] : names) fields.push_back(required({name, Type::kNumber, doc}));
  return fields;
}

// What `orrery train --json` prints.
std::vector<Field> train_fields() {
  const std::vector<Field> breakdown = numbers({{"forward", "s of operators of the forward passes."},
                                                {"backward", "s of gradients with respect to inputs and weights."},
                                                {"recompute", "s of forward work done again."},
                                                {"optimizer", "s of the step, and what an iteration costs once."},
                                                {"tp_exposed", "s of communication that no work hides."},
                                                {"pp_exposed", "As tp_exposed, between stages."},
                                                {"dp_exposed", "As tp_exposed, gradients and sharded weights."},
                                                {"ep_exposed", "As tp_exposed, tokens to experts and back."},
                                                {"cp_exposed", "As tp_exposed, keys and values."},
                                                {"bubble", "s of waiting for other stages."}});
  const std::vector<Field> classes = numbers({{"tp", "s"}, {"pp", "s"}, {"dp", "s"}, {"ep", "s"}, {"cp", "s"}});
  const std::vector<Field> memory = numbers({{"weights", "Bytes."},
                                             {"gradients", "Bytes."},
                                             {"optimizer", "Bytes."},
                                             {"activations", "Bytes kept for the backward pass."},
                                             {"buffers", "Bytes of gathered weights, boundary tensors, logits."},
                                             {"total", "Sum of the five."}});
  const std::vector<Field> cost = {
      required({"accelerator_hours", Type::kNumber, "Of all accelerators together."}),
      required({"usd", Type::kNumberOrNull, "At the system's price of an accelerator; null where it names none."}),
      required({"kwh", Type::kNumberOrNull, "At an accelerator's rated power, hosts apart; null where it names none."}),
  };
  std::vector<Field> training = numbers({{"tokens", "As asked."}, {"seconds", "For them."}});
  training.insert(training.end(), cost.begin(), cost.end());
  std::vector<Field> result = {
      required({"iteration_s", Type::kNumber, "Seconds of one iteration."}),
      required({"breakdown", Type::kMap, "Its terms; they sum to it.", breakdown}),
      required({"hidden", Type::kMap, "Communication that ran beside work, by class.", classes}),
      required({"memory_bytes", Type::kMap, "Of the fullest accelerator.", memory}),
      required({"capacity_bytes", Type::kNumberOrNull, "Memory of an accelerator; null where AMPeD's file has none."}),
      required({"fits", Type::kTruth, "Whether the total is at most the capacity."}),
      required({"excess_bytes", Type::kNumber, "By how much it is not; else 0."}),
      required({"largest_term", Type::kString, "Of memory_bytes."}),
      required({"mfu", Type::kNumber, "Share of the peak, 0 to 1, counting the model's FLOPs as they are done."}),
      required({"hfu", Type::kNumber, "Share of the peak, 0 to 1, counting what is computed again, too."}),
      required({"tokens_per_s", Type::kNumber, "Of all accelerators together."}),
      required({"tflops_per_gpu", Type::kNumber, "1e12 FLOPs of the model a second, of one accelerator."}),
      {"published_count", Type::kMap,
       "The same three as papers count: attention in full, also what a causal mask hides; not with AMPeD's equations.",
       numbers({{"mfu", "Can exceed 1."}, {"hfu", "Can exceed 1."}, {"tflops_per_gpu", "1e12 FLOP/s."}})},
      required({"parameters", Type::kNumber, "Of the model."}),
      required({"active_parameters", Type::kNumber, "That a token visits."}),
      {"cost", Type::kMap, "Of one iteration; not with AMPeD's equations.", cost},
      {"training", Type::kMap, "With --tokens.", training},
      required({"config", Type::kOpenMap, "Model, system and plan as evaluated; `defaulted` lists what was chosen."}),
  };
  return {
      required({"schema", Type::kString, "The kind of document.", {}, {"orrery.train/1"}}),
      required({"version", Type::kString, "Version of Orrery."}),
      {"inputs",
       Type::kListOf,
       "What was read.",
       {{"name", Type::kString, "File or override."}, {"hash", Type::kString, "Hash of its content."}}},
      required({"result", Type::kMap, "The figures.", std::move(result)}),
      {"warnings", Type::kAnything, "As of `orrery map`."},
      {"timing", Type::kOpenMap, "`seconds` of the whole command."},
  };
}

// What `orrery place --json` prints.
std::vector<Field> place_fields() {
  const std::vector<Field> configuration = {
      required({"kernels", Type::kNames, "Names of those that run together; none where it is empty."}),
      required({"kernel_ids", Type::kAnything, "The same as ids of the graph, from 1."}),
      required({"compute_ns", Type::kNumber, "Of a pass over one sequence, all tiles."}),
      required({"memory_ns", Type::kNumber, "DRAM traffic of a pass."}),
      required({"network_ns", Type::kNumber, "Communication of a pass."}),
      required({"ii_ns", Type::kNumber, "Initiation interval: from one pass to the next."}),
      required({"bound", Type::kAnything, "compute, memory or network: what binds; null where it is empty."}),
      required({"sram_bytes", Type::kNumber, "Buffers and weights."}),
      required({"dram_bytes", Type::kNumber, "Resident while it runs: weights, tensors that wait, tables."}),
      required({"tiling_factor", Type::kNumber, "Parts into which a lone kernel's weight is cut."}),
      {"tiles", Type::kNumber, "Of a sequence, where configurations differ (gen4, head)."},
      {"tile_size", Type::kNumber, "Tokens of one, where configurations differ."},
      {"memory_units", Type::kNumber, "In use, where SRAM is made of units."},
      {"cores", Type::kNumber, "In use, where cores are dealt out."},
      {"cores_per_kernel", Type::kListOf, "Of each kernel, in order.",
       numbers({{"cores", "lanes x stages"}, {"lanes", "Along M."}, {"stages", "Along N."}})},
  };
  const std::vector<Field> dimension = {
      required({"link", Type::kString, "Its kind.", {}, {"ring", "switch", "fully_connected"}}),
      required({"size", Type::kNumber, "Chips along it."}),
      required({"bandwidth_gb_per_s", Type::kNumber, "Of a link."}),
      required({"parallelism", Type::kAnything, "TP, PP, DP or SP; null where it serves none."}),
  };
  std::vector<Field> result = {
      required({"configurations", Type::kListOf, "In the order in which they run.", configuration}),
      required({"assignment", Type::kAnything, "Configuration of each kernel, in the order of ids."}),
      required({"sharding", Type::kOpenMap, "Dimension of each kernel that is split over TP: outer, M, K, N, none."}),
      required({"sharding_rule", Type::kString, "Where it came from: pinned, reference table, optimised."}),
      required({"parallelism",
                Type::kMap,
                "Degrees, and what each dimension of the network serves.",
                {required({"tp", Type::kNumber, "Tensor."}), required({"pp", Type::kNumber, "Pipeline."}),
                 required({"dp", Type::kNumber, "Data."}), required({"sp", Type::kNumber, "Sequence."}),
                 required({"dims", Type::kAnything, "Sizes of the network's dimensions, x first."}),
                 required({"network", Type::kListOf, "The same dimensions in full.", dimension})}}),
      required({"cost_usd", Type::kOpenMap, "By part; links and switches also by dimension."}),
      required({"power_w", Type::kOpenMap, "By part, at peak."}),
      required(
          {"formulas", Type::kString, "Whose arithmetic.", {}, {"corrected", "gen1", "gen2", "gen3", "gen4", "head"}}),
  };
  for (Field& field : numbers({{"sum_ii_ns", "Over configurations."},
                               {"final_ns", "Of the whole run."},
                               {"pipeline_factor", "What the pipeline's bubble multiplies the time by."},
                               {"p2p_ns", "Messages between pipeline stages."},
                               {"layers_per_stage", "Passes of the graph on a chip for a sequence."},
                               {"micro_batches", "Of a replica."},
                               {"tiles", "Of a sequence."},
                               {"tile_size", "Tokens of a tile."},
                               {"flop", "Of the workload, unsharded."},
                               {"flops_utilization", "FLOP over time, chips and peak; 0 to 1."},
                               {"system_cost_usd", "Accelerators, DRAM, links, switches."},
                               {"system_power_w", "The same at peak."},
                               {"communication_bytes", "That the sharding causes in a pass, of whole tensors."}}))
    result.push_back(std::move(field));
  result.push_back({"latency_ns", Type::kNumber, "Of one sequence through all stages; models that only run forward."});
  return {
      required({"schema", Type::kString, "The kind of document.", {}, {"orrery.place/1"}}),
      required({"version", Type::kString, "Version of Orrery."}),
      {"inputs",
       Type::kListOf,
       "What was read.",
       {{"name", Type::kString, "File or override."}, {"hash", Type::kString, "Hash of its content."}}},
      required({"result", Type::kMapOrNull, "The placement, or null where there is none.", std::move(result)}),
      required(
          {"certificate",
           Type::kMap,
           "What is proven of `final_ns`.",
           {required({"optimal", Type::kTruth, "No placement ends sooner."}),
            required({"lower_bound", Type::kNumber, "ns; none ends before."}),
            required({"gap", Type::kNumber, "(final - bound) / final."}),
            required({"space", Type::kNumber, "Placements that limits of order and pins allow."}),
            required({"evaluated", Type::kNumber, "Of them, priced one by one."}),
            required({"pruned", Type::kOpenMap, "By argument."}), required({"method", Type::kString, "Of the search."}),
            required({"infeasible", Type::kTruth, "Proven that nothing fits."}),
            required({"seconds", Type::kNumber, "Of the search."})}}),
      {"warnings", Type::kAnything, "As of `orrery map`."},
      {"timing", Type::kOpenMap, "`seconds` of the whole command."},
  };
}

// What `orrery graph --json` prints.
std::vector<Field> graph_fields() {
  const std::vector<Field> communication = {
      required({"type",
                Type::kString,
                "The collective.",
                {},
                {"all-reduce", "all-to-all", "all-gather", "all-reduce-periodic", "point-to-point", "broadcast"}}),
      required({"bytes", Type::kNumber, "Of the whole tensor."})};
  const std::vector<Field> kernel = {
      required({"id", Type::kNumber, "From 1."}),
      required({"name", Type::kString, "Of the kernel."}),
      required({"level", Type::kNumber, "Longest path from a source, 0."}),
      required({"unit", Type::kString, "What does it.", {}, {"systolic", "simd"}}),
      required({"direction", Type::kString, "Of the pass.", {}, {"forward", "backward"}}),
      required({"operands",
                Type::kString,
                "As DFModel calls the body.",
                {},
                {"gemm_input1_weight", "gemm_input1_input2", "elementwise_input1", "elementwise_input1_input2"}}),
      required({"outer", Type::kNumber, "Instances of the product, such as heads."}),
      required({"m", Type::kNumber, "Rows of the output."}),
      required({"k", Type::kNumber, "Summed over; 1 for elementwise kernels."}),
      required({"n", Type::kNumber, "Columns of the output."}),
      required({"flop", Type::kNumber, "2 outer M K N on matrix units, outer M N on vector lanes."}),
      required({"input_bytes", Type::kNumber, "Of the first input."}),
      required({"second_bytes", Type::kNumber, "Of the weight or the second input; 0: not stated, or there is none."}),
      required({"output_bytes", Type::kNumber, "Of the output."}),
      required({"memory_bytes", Type::kNumber, "More memory traffic than the edges cause."}),
      required({"tiling", Type::kString, "Dimension split over time.", {}, {"outer", "M", "K", "N", "none"}}),
      required({"communication", Type::kListOf, "What it sends, if anything.", communication}),
  };
  const std::vector<Field> connection = {
      required({"id", Type::kNumber, "From 1."}),
      required({"from", Type::kNumber, "Id of the producer."}),
      required({"to", Type::kNumber, "Id of the consumer."}),
      required({"from_name", Type::kString, "Of the producer."}),
      required({"to_name", Type::kString, "Of the consumer."}),
      required({"bytes", Type::kNumber, "The producer's whole output."}),
  };
  return {
      required({"schema", Type::kString, "The kind of document.", {}, {"orrery.graph/1"}}),
      required({"version", Type::kString, "Version of Orrery."}),
      {"inputs",
       Type::kListOf,
       "What was read.",
       {{"name", Type::kString, "File."}, {"hash", Type::kString, "Hash of its content."}}},
      required({"result",
                Type::kMap,
                "The graph.",
                {required({"kind", Type::kString, "As on the command line."}),
                 {"model", Type::kAnything, "Name of the model, or null."},
                 required({"parameters", Type::kOpenMap, "Sizes as used, by DFModel's names."}),
                 {"notes", Type::kNames, "What of the model the kernels do not show."},
                 required({"flop", Type::kNumber, "Of all kernels."}),
                 required({"kernels", Type::kListOf, "In the order of their ids.", kernel}),
                 required({"connections", Type::kListOf, "In the order of their ids.", connection})}}),
      {"warnings", Type::kAnything, "As of `orrery map`."},
      {"timing", Type::kOpenMap, "`seconds` of the whole command."},
  };
}

}  // namespace

std::vector<Field> result_fields(std::string_view verb) {
  if (verb == "energy") return energy_fields();
  if (verb == "train") return train_fields();
  if (verb == "place") return place_fields();
  if (verb == "graph") return graph_fields();
  return {};
}

}  // namespace orrery::report
