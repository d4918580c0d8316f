#include "orrery/verbs/help/json_schema.h"

#include "orrery/present/schemas.h"

namespace orrery::verbs {
namespace {

struct JsonSchemaKind {
  const char* name;
  Json (*schema)();
};

// What verbs print with --json.
constexpr JsonSchemaKind kAnswers[] = {
    {"map", [] { return mapping_schema(true); }},
    {"eval", [] { return mapping_schema(false); }},
    {"energy", energy_schema},
    {"train", train_schema},
    {"tune_run", tune_run_schema},
    {"tune_bench", tune_bench_schema},
    {"tune_ledger", tune_ledger_schema},
    {"tune_layouts", tune_layouts_schema},
    {"tune_select", tune_select_schema},
    {"tune_embed", tune_embed_schema},
    {"tune_generate", tune_generate_schema},
    {"tune_eval", tune_eval_schema},
    {"tune_train", tune_train_schema},
    {"sparse_measure", sparse_measure_schema},
    {"sparse_mask", sparse_mask_schema},
    {"sparse_latency", sparse_latency_schema},
    {"sparse_pack", sparse_pack_schema},
    {"sparse_sweep", sparse_sweep_schema},
    {"sparse_simulate", sparse_simulate_schema},
    {"sparse_design", sparse_design_schema},
    {"sparse_run", sparse_run_schema},
    {"sparse_bench", sparse_bench_schema},
    {"sparse_study", sparse_study_schema},
    {"sparse_break_even", sparse_break_even_schema},
    {"sweep", sweep_schema},
    {"sweep_status", sweep_status_schema},
    {"place", place_schema},
    {"validate", validate_schema},
    {"validate_collectives", validate_collectives_schema},
    {"check", check_schema},
    {"graph", graph_schema},
    {"operators", operators_schema},
    {"catalog", catalog_schema},
    {"doctor", doctor_schema},
    {"sparse_rtl", sparse_rtl_schema},
    {"explain", explain_schema},
    {"schema", kinds_schema},
    {"error", error_schema},
};

Json schema_of(std::string_view name) {
  for (const JsonSchemaKind& kind : kAnswers)
    if (name == kind.name) return kind.schema();
  return input_schema(name);
}

}  // namespace

const std::vector<std::string>& schema_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out = {"chip", "problem", "constraints", "mapping", "mapper", "ert", "study"};
    for (const JsonSchemaKind& kind : kAnswers) out.emplace_back(kind.name);
    return out;
  }();
  return names;
}

std::string json_schema(std::string_view name) {
  const Json schema = schema_of(name);
  if (schema == Json()) return {};
  Json out =
      Json::Object{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Orrery: " + std::string(name)}};
  for (const auto& [key, value] : std::get<Json::Object>(schema.value())) out[key] = value;
  return text(out);
}

}  // namespace orrery::verbs
