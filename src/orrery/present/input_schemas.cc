// The schemas of the documents that Orrery reads, one table of fields a kind. Timeloop's documents are open (unknown
// keys warn), and any scalar may be an arithmetic expression, hence `kExpression` where a number is meant.
#include <string>
#include <vector>

#include "orrery/present/record.h"
#include "orrery/present/schemas.h"

namespace orrery::verbs {
namespace {

enum class Type {
  kString,
  kExpression,  // a number, or text to be evaluated
  kBool,
  kMap,      // with the fields given
  kListOf,   // of maps with the fields given
  kNodes,    // of maps with the fields given, and of groups of such (`!Parallel`, `!Hierarchical`), to any depth
  kNames,    // a list of names, or one
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

Field required(Field field) {
  field.required = true;
  return field;
}

Json object(const std::vector<Field>& fields);

Json either(const char* one, const char* other) {
  return Json::Object{{"type", Json::List{one, other}}};
}

Json type_json(const Field& field) {
  switch (field.type) {
    case Type::kString:
      return typed("string");
    case Type::kExpression:
      return either("number", "string");
    case Type::kBool:
      return either("boolean", "string");
    case Type::kMap:
      return object(field.fields);
    case Type::kListOf:
      return list_schema(object(field.fields));
    case Type::kNodes:
      return list_schema(Json::Object{{"$ref", "#/definitions/node"}});
    case Type::kNames:
    case Type::kFactors: {
      Json out = either("array", "string");
      out["items"] = typed("string");
      return out;
    }
    case Type::kOpenMap:
      return typed("object");
    case Type::kAnything:
      break;
  }
  return Json::Object();
}

Json object(const std::vector<Field>& fields) {
  Json::Object properties;
  Json::List required;
  for (const Field& field : fields) {
    Json property = type_json(field);
    property["description"] = field.doc;
    if (!field.choices.empty()) restrict(property, field.choices);
    if (field.required) required.push_back(field.name);
    properties.emplace_back(field.name, std::move(property));
  }
  Json out = typed("object");
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  return out;
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
      {"temporal", Type::kMap, "Restrictions on the loops in time of this level.", loop_constraint_fields()},
      {"spatial", Type::kMap, "Restrictions on the loops in space: how work is spread over instances.",
       std::move(spatial)},
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

std::vector<Field> node_fields() {
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
  return {
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
}

// A node of an architecture's tree: a component, a group of nodes, or `!Nothing`.
Json node_schema() {
  Json group = object({
      {"name", Type::kString, "Name of the group; none is needed."},
      required({"nodes", Type::kNodes, "Outer to inner in a `!Hierarchical`, side by side in a `!Parallel`."}),
  });
  return any_of({object(node_fields()), std::move(group), typed("null")});
}

std::vector<Field> chip_fields() {
  return {
      required({"architecture",
                Type::kMap,
                "The architecture of the chip.",
                {{"version", Type::kExpression, "Version of the format: 0.4, or 0.3 for the processed form."},
                 {"nodes", Type::kNodes, "Outer to inner: containers, storages, one compute unit last."},
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
      {"bits_per_value", Type::kExpression, "Bits of a value, where it is not a word of each storage."},
  };
  return {required({"problem",
                    Type::kMap,
                    "One layer: an extended einsum.",
                    {{"version", Type::kExpression, "Version of the format: 0.4."},
                     {"instance", Type::kOpenMap,
                      "Bounds of the dimensions, values of the coefficients, and `bitwidths`: bits of the values of "
                      "dataspaces."},
                     {"shape",
                      Type::kMap,
                      "The loops and what they touch.",
                      {{"name", Type::kString, "Name of the layer."},
                       {"dimensions", Type::kNames, "Names of the loops."},
                       {"coefficients", Type::kAnything, "Strides and dilations: name and default."},
                       {"data_spaces", Type::kListOf, "Operands and result.", dataspace}}}}}),
          {"variables", Type::kOpenMap, "Names for use in every expression."}};
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
             {{"version", Type::kExpression, "Version of the format: 0.4."},
              {"targets", Type::kListOf, "One entry a level.", target}}},
            {"architecture_constraints",
             Type::kMap,
             "Restrictions on mappings, in the processed form.",
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
  if (name == "study") {
    return {required(
        {"study",
         Type::kMap,
         "Many points of one question: docs/studies.md.",
         {{"version", Type::kExpression, "Version of the format: 1."},
          {"title", Type::kString, "Title of the study."},
          {"verb",
           Type::kString,
           "Verb that answers the points; default map.",
           {},
           {"map", "energy", "train", "place"}},
          {"files", Type::kNames, "Files that the verb is given."},
          {"base", Type::kOpenMap, "Options of the verb, without dashes: `model: bert-large`."},
          {"arguments", Type::kNames, "Options of the verb as they would be typed."},
          {"vary", Type::kAnything,
           "Paths and their values, all combinations; in a list, the fields of an entry change together."},
          {"where", Type::kNames, "Expressions over the fields that vary; all must hold."},
          {"budgets", Type::kOpenMap, "Largest allowed value of a figure, such as `area: 4e6`."},
          {"objectives", Type::kNames, "Figures to minimise: edp, energy, cycles, area, seconds, dollars, ..."}}})};
  }
  if (name == "ert") {
    const std::vector<Field> action = {
        required({"name", Type::kString, "read, write, update, leak, compute, transfer_NAME."}),
        {"arguments", Type::kOpenMap, "Arguments of the action, such as num_destinations."},
        required({"energy", Type::kExpression, "pJ of one action on one block."}),
    };
    return {{"ERT",
             Type::kMap,
             "Energies of every component's actions.",
             {{"version", Type::kExpression, "Version of the format: 0.4."},
              {"tables",
               Type::kListOf,
               "One entry a component.",
               {required({"name", Type::kString, "Path of the component: `system.PE[1..16]`."}),
                {"actions", Type::kListOf, "Actions of the component.", action}}}}},
            {"ART",
             Type::kMap,
             "Areas of every component.",
             {{"version", Type::kExpression, "Version of the format: 0.4."},
              {"tables",
               Type::kListOf,
               "One entry a component.",
               {required({"name", Type::kString, "Path of the component."}),
                {"area", Type::kExpression, "um^2 of one instance."}}}}}};
  }
  return {};
}

}  // namespace

Json input_schema(std::string_view kind) {
  const std::vector<Field> fields = fields_of(kind);
  if (fields.empty()) return {};
  Json out = object(fields);
  if (kind == "chip") out["definitions"] = Json::Object{{"node", node_schema()}};
  // Kinds that have two forms: one of them must be there.
  const auto with = [](const char* key) { return Json::Object{{"required", Json::List{key}}}; };
  if (kind == "ert") out["anyOf"] = Json::List{with("ERT"), with("ART")};
  if (kind == "constraints") out["anyOf"] = Json::List{with("constraints"), with("architecture_constraints")};
  return out;
}

}  // namespace orrery::verbs
