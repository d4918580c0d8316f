// One table a kind of document: a field has a name, a type, a unit with its meaning, and, for maps and lists,
// the fields inside. Timeloop's documents are open (unknown keys warn), and any scalar may be an arithmetic
// expression, hence `kExpression` where a number is meant.
#include "orrery/report/json_schema.h"

#include <initializer_list>

#include <nlohmann/json.hpp>

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

enum class Type {
  kString,
  kExpression,  // a number, or text to be evaluated
  kBool,
  kTruth,  // of results: true or false alone
  kNumber,
  kNumberOrNull,
  kMap,      // with the fields given
  kListOf,   // of maps with the fields given
  kNames,    // a list of names
  kFactors,  // "E=1,D<=16", or a list of such
  kOpenMap,  // any keys
  kAnything,
};

struct Field {
  const char* name;
  Type type;
  const char* doc;
  std::vector<Field> fields = {};
  std::vector<std::string> choices = {};
  bool required = false;
};

Json object(const std::vector<Field>& fields);

Json type_json(const Field& field) {
  switch (field.type) {
    case Type::kString:
      return Json{{"type", "string"}};
    case Type::kExpression:
      return Json{{"type", {"number", "string"}}};
    case Type::kBool:
      return Json{{"type", {"boolean", "string"}}};
    case Type::kTruth:
      return Json{{"type", "boolean"}};
    case Type::kNumber:
      return Json{{"type", "number"}};
    case Type::kNumberOrNull:
      return Json{{"type", {"number", "null"}}};
    case Type::kMap:
      return object(field.fields);
    case Type::kListOf:
      return Json{{"type", "array"}, {"items", object(field.fields)}};
    case Type::kNames:
      return Json{{"type", {"array", "string"}}, {"items", Json{{"type", "string"}}}};
    case Type::kFactors:
      return Json{{"type", {"array", "string"}}, {"items", Json{{"type", "string"}}}};
    case Type::kOpenMap:
      return Json{{"type", "object"}};
    case Type::kAnything:
      return Json::object();
  }
  return Json::object();
}

Json object(const std::vector<Field>& fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : fields) {
    Json property = type_json(field);
    property["description"] = field.doc;
    if (!field.choices.empty()) property["enum"] = field.choices;
    properties[field.name] = std::move(property);
    if (field.required) required.push_back(field.name);
  }
  Json out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

Field required(Field field) {
  field.required = true;
  return field;
}

std::vector<Field> loop_constraint_fields() {
  return {
      {"factors", Type::kFactors,
       "Iterations of a dimension at this level: `D=16`, `D<=16`, `D>=4`; `D=0` is the whole dimension."},
      {"permutation", Type::kNames, "Loop order, innermost first; names after `_` are fixed outermost."},
      {"factors_only", Type::kFactors, "As `factors`; every other dimension gets 1."},
      {"no_iteration_over_dataspaces", Type::kNames, "Dimensions of these dataspaces get 1."},
      {"maximize_dims", Type::kAnything,
       "Groups of dimensions that take as much of the fan-out as they can, group by group."},
      {"maximize_dims_capacity", Type::kExpression, "Iterations that `maximize_dims` may give at a temporal level."},
      {"no_reuse", Type::kNames,
       "Dataspaces that are brought again on every iteration (temporal) or to every instance (spatial)."},
  };
}

std::vector<Field> constraint_fields() {
  std::vector<Field> spatial = loop_constraint_fields();
  spatial.push_back({"split", Type::kExpression,
                     "How many loops of the order, from the innermost, go to the X side; the others go to Y."});
  spatial.push_back({"min_parallelism", Type::kExpression, "Least share of the fan-out that must be used, 0 to 1."});
  return {
      {"temporal", Type::kMap, "Restrictions on the loops in time.", loop_constraint_fields()},
      {"spatial", Type::kMap, "Restrictions on the spread over instances.", std::move(spatial)},
      {"dataspace",
       Type::kMap,
       "Which dataspaces a storage keeps.",
       {{"keep", Type::kNames, "Dataspaces kept here."},
        {"bypass", Type::kNames, "Dataspaces that pass by."},
        {"keep_only", Type::kNames, "These are kept, all others pass by."},
        {"bypass_only", Type::kNames, "These pass by, all others are kept."}}},
  };
}

// A directive of the processed form: one target, one type.
std::vector<Field> directive_fields() {
  return {
      required({"target", Type::kString, "Name of the level."}),
      {"type",
       Type::kString,
       "What the entry restricts or sets.",
       {},
       {"temporal", "spatial", "datatype", "dataspace", "bypass", "bypassing", "utilization", "parallelism",
        "max_overbooked_proportion"}},
      {"factors", Type::kFactors, "`E=1,D=16` in constraints, `E1 D16` in mappings."},
      {"permutation", Type::kNames, "Loop order, innermost first."},
      {"split", Type::kExpression, "How many loops of a spatial order go to the X side."},
      {"keep", Type::kNames, "Dataspaces kept at the level."},
      {"bypass", Type::kNames, "Dataspaces that pass by the level."},
  };
}

std::vector<Field> chip_fields() {
  const std::vector<Field> attributes = {
      {"width", Type::kExpression, "Bits moved together."},
      {"datawidth", Type::kExpression, "Bits of a word; 16 when absent."},
      {"depth", Type::kExpression, "Rows of `width` bits."},
      {"entries", Type::kExpression, "Words held; instead of depth and width."},
      {"read_bandwidth", Type::kExpression, "Words a cycle, one instance; unlimited when absent."},
      {"write_bandwidth", Type::kExpression, "Words a cycle, one instance; unlimited when absent."},
      {"shared_bandwidth", Type::kExpression, "Words a cycle of reads and writes together."},
      {"multiple_buffering", Type::kExpression, "The usable words are the words held divided by this."},
      {"min_utilization", Type::kExpression, "Least share of the usable words that must be used, 0 to 1."},
      {"network_fill_latency", Type::kExpression, "Cycles added to the run for filling."},
      {"network_drain_latency", Type::kExpression, "Cycles added to the run for draining."},
      {"network_read", Type::kString, "Network that carries reads to the level below."},
      {"network_update", Type::kString, "Network that carries updates from the level below."},
      {"vector_access_energy", Type::kExpression, "pJ for any access; leakage is then 0."},
      {"global_cycle_seconds", Type::kExpression, "Seconds of one cycle."},
  };
  std::vector<Field> node = {
      required({"name", Type::kString, "Name of the node; `PE[0..15]` makes 16 instances in the processed form."}),
      {"class", Type::kString, "Component class; one that has `DRAM` in it is a DRAM."},
      {"subclass", Type::kString, "Class by which the figures are found."},
      {"attributes", Type::kMap, "Figures of the component; other keys are allowed and passed on.", attributes},
      {"spatial",
       Type::kMap,
       "Copies of the node.",
       {{"meshX", Type::kExpression, "Copies side by side along X."},
        {"meshY", Type::kExpression, "Copies side by side along Y."}}},
      {"constraints", Type::kMap, "Constraints on this node.", constraint_fields()},
  };
  return {
      required({"architecture",
                Type::kMap,
                "The chip.",
                {{"version", Type::kExpression, "0.4, or 0.3 for the processed form."},
                 {"nodes", Type::kListOf, "Outer to inner: containers, storages, one compute unit last.", node},
                 {"subtree", Type::kAnything, "The processed form: nested `local` lists, outer to inner."}}}),
      {"variables", Type::kOpenMap, "Names for use in every expression."},
      {"components", Type::kAnything, "Compound components; their figures come from the energy tables."},
  };
}

std::vector<Field> problem_fields() {
  const std::vector<Field> dataspace = {
      required({"name", Type::kString, "Name of the dataspace."}),
      required(
          {"projection", Type::kAnything, "One entry a coordinate: a sum of [dimension] or [dimension, coefficient]."}),
      {"read_write", Type::kBool, "True for the output."},
  };
  return {required({"problem",
                    Type::kMap,
                    "One layer: an extended einsum.",
                    {{"version", Type::kExpression, "0.4"},
                     {"instance", Type::kOpenMap, "Bounds of the dimensions and values of the coefficients."},
                     {"shape",
                      Type::kMap,
                      "The loops and what they touch.",
                      {{"name", Type::kString, "Name of the layer."},
                       {"dimensions", Type::kNames, "Names of the loops."},
                       {"coefficients", Type::kAnything, "Strides and dilations: name and default."},
                       {"data_spaces", Type::kListOf, "Operands and result.", dataspace}}}}}),
          {"variables", Type::kOpenMap, "Names for use in every expression."}};
}

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
           "Error to expect against what the estimator imitates; null where it was not measured of every addend."}),
      required({"basis", Type::kNames, "published, modelled, interpolated, measured, assumed."}),
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
      required({"mfu", Type::kNumber, "Share of the peak, 0 to 1, counting the model's FLOPs."}),
      required({"hfu", Type::kNumber, "Share of the peak, counting recomputation, too."}),
      required({"tokens_per_s", Type::kNumber, "Of all accelerators together."}),
      required({"tflops_per_gpu", Type::kNumber, "1e12 FLOPs of the model a second, of one accelerator."}),
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

std::vector<Field> fields_of(std::string_view name) {
  if (name == "chip") return chip_fields();
  if (name == "problem") return problem_fields();
  if (name == "constraints") {
    std::vector<Field> target = directive_fields();
    for (Field& field : constraint_fields()) target.push_back(std::move(field));
    return {{"constraints",
             Type::kMap,
             "Restrictions on mappings.",
             {{"version", Type::kExpression, "0.4"}, {"targets", Type::kListOf, "One entry a level.", target}}},
            {"architecture_constraints",
             Type::kMap,
             "The same in the processed form.",
             {{"targets", Type::kListOf, "One entry a level and type.", directive_fields()}}}};
  }
  if (name == "mapping") {
    return {required(
        {"mapping", Type::kListOf, "One entry a level and type, as `orrery map -o` writes them.", directive_fields()})};
  }
  if (name == "mapper") {
    return {required({"mapper",
                      Type::kMap,
                      "What to search for. Orrery's search is exact: limits of a random search are read and ignored.",
                      {{"optimization_metrics", Type::kNames, "Compared in this order: edp, energy, delay."},
                       {"num_threads", Type::kExpression, "Threads of the search; they change the time only."},
                       {"algorithm", Type::kString, "Read and ignored."},
                       {"timeout", Type::kExpression, "Read and ignored."},
                       {"victory_condition", Type::kExpression, "Read and ignored."}}})};
  }
  if (name == "energy") return energy_fields();
  if (name == "train") return train_fields();
  if (name == "graph") return graph_fields();
  if (name == "ert") {
    const std::vector<Field> action = {
        required({"name", Type::kString, "read, write, update, leak, compute, transfer_NAME."}),
        {"arguments", Type::kOpenMap, "Arguments of the action, such as num_destinations."},
        required({"energy", Type::kExpression, "pJ of one action on one block."}),
    };
    return {required({"ERT",
                      Type::kMap,
                      "Energies of every component's actions.",
                      {{"version", Type::kExpression, "0.4"},
                       {"tables",
                        Type::kListOf,
                        "One entry a component.",
                        {required({"name", Type::kString, "Path of the component: `system.PE[1..16]`."}),
                         {"actions", Type::kListOf, "Its actions.", action}}}}}),
            {"ART",
             Type::kMap,
             "Areas of every component.",
             {{"version", Type::kExpression, "0.4"},
              {"tables",
               Type::kListOf,
               "One entry a component.",
               {required({"name", Type::kString, "Path of the component."}),
                {"area", Type::kExpression, "um^2 of one instance."}}}}}};
  }
  return {};
}

}  // namespace

const std::vector<std::string>& schema_names() {
  static const std::vector<std::string> names = {"chip", "problem", "constraints", "mapping", "mapper",
                                                 "ert",  "energy",  "train",       "graph"};
  return names;
}

std::string json_schema(std::string_view name) {
  const std::vector<Field> fields = fields_of(name);
  if (fields.empty()) return {};
  Json out{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Orrery: " + std::string(name)}};
  out.update(object(fields));
  return out.dump(2) + "\n";
}

}  // namespace orrery::report
