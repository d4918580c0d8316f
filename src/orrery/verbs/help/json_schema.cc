#include "orrery/verbs/help/json_schema.h"

#include "orrery/present/error_json.h"
#include "orrery/present/schemas.h"
#include "orrery/verbs/check/json.h"
#include "orrery/verbs/energy/json.h"
#include "orrery/verbs/graph/json.h"
#include "orrery/verbs/graph/operators_json.h"
#include "orrery/verbs/help/verbs_json.h"
#include "orrery/verbs/map/fuse/json.h"
#include "orrery/verbs/map/json.h"
#include "orrery/verbs/place/json.h"
#include "orrery/verbs/report/json.h"
#include "orrery/verbs/serve/json.h"
#include "orrery/verbs/sparse/bench/report.h"
#include "orrery/verbs/sparse/break_even/report.h"
#include "orrery/verbs/sparse/design/report.h"
#include "orrery/verbs/sparse/latency/report.h"
#include "orrery/verbs/sparse/mask_report.h"
#include "orrery/verbs/sparse/pack/report.h"
#include "orrery/verbs/sparse/rtl/json.h"
#include "orrery/verbs/sparse/run/report.h"
#include "orrery/verbs/sparse/simulate/report.h"
#include "orrery/verbs/sparse/study/report.h"
#include "orrery/verbs/sparse/sweep/report.h"
#include "orrery/verbs/sweep/report.h"
#include "orrery/verbs/train/amped/report.h"
#include "orrery/verbs/train/json.h"
#include "orrery/verbs/tune/bench/report.h"
#include "orrery/verbs/tune/layouts/report.h"
#include "orrery/verbs/tune/ledger/report.h"
#include "orrery/verbs/tune/run/json.h"
#include "orrery/verbs/tune/select/json.h"
#include "orrery/verbs/tune/texts/report.h"
#include "orrery/verbs/validate/collectives_table.h"
#include "orrery/verbs/validate/optima_table.h"
#include "orrery/verbs/validate/served_runs_table.h"
#include "orrery/verbs/validate/table.h"

namespace orrery::verbs {
namespace {

struct JsonSchemaKind {
  const char* name;
  Json (*schema)();
};

// What verbs print with --json.
constexpr JsonSchemaKind kAnswers[] = {
    {"map", [] { return mapping_document(true).schema(); }},
    {"map_fuse", [] { return map_fuse_document().schema(); }},
    {"eval", [] { return mapping_document(false).schema(); }},
    {"energy", [] { return energy_document().schema(); }},
    {"train",
     [] {
       return any_of({train_document().schema(), amped_document().schema()});
     }},
    {"serve", [] { return serve_document().schema(); }},
    {"tune_run", [] { return tune_run_document().schema(); }},
    {"tune_bench", [] { return tune_bench_document().schema(); }},
    {"tune_ledger", [] { return tune_ledger_document().schema(); }},
    {"tune_layouts", [] { return tune_layouts_document().schema(); }},
    {"tune_select", [] { return tune_select_document().schema(); }},
    {"tune_embed", [] { return tune_embed_document().schema(); }},
    {"tune_generate", [] { return tune_generate_document().schema(); }},
    {"tune_eval", [] { return tune_eval_document().schema(); }},
    {"tune_train", [] { return tune_train_document().schema(); }},
    {"sparse_measure", [] { return sparse_measure_document().schema(); }},
    {"sparse_mask", [] { return sparse_mask_document().schema(); }},
    {"sparse_latency", [] { return sparse_latency_document().schema(); }},
    {"sparse_pack", [] { return sparse_pack_document().schema(); }},
    {"sparse_sweep", [] { return sparse_sweep_document().schema(); }},
    {"sparse_simulate", [] { return sparse_simulate_document().schema(); }},
    {"sparse_design", [] { return sparse_design_document().schema(); }},
    {"sparse_run", [] { return sparse_run_document().schema(); }},
    {"sparse_bench", [] { return sparse_bench_document().schema(); }},
    {"sparse_study", [] { return sparse_study_document().schema(); }},
    {"sparse_break_even", [] { return break_even_document().schema(); }},
    {"sweep", [] { return sweep_document().schema(); }},
    {"sweep_status", [] { return sweep_status_document().schema(); }},
    {"place", [] { return place_document().schema(); }},
    {"validate", [] { return validate_document().schema(); }},
    {"validate_collectives", [] { return validate_collectives_document().schema(); }},
    {"validate_optima", [] { return validate_optima_document().schema(); }},
    {"validate_serve", [] { return validate_serve_document().schema(); }},
    {"report", [] { return report_document().schema(); }},
    {"chart", [] { return chart_document().schema(); }},
    {"check", [] { return check_document().schema(); }},
    {"graph", [] { return graph_document().schema(); }},
    {"operators", [] { return operators_document().schema(); }},
    {"catalog",
     [] {
       return any_of({catalogue_document().schema(), entry_document().schema(), model_document().schema()});
     }},
    {"doctor", [] { return doctor_document().schema(); }},
    {"sparse_rtl", [] { return sparse_rtl_document().schema(); }},
    {"explain",
     [] {
       return any_of({codes_document().schema(), page_document().schema()});
     }},
    {"schema", [] { return kinds_document().schema(); }},
    {"error", [] { return error_document().schema(); }},
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
