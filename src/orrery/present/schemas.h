// The schema of each kind of document: of those that are read, and of those that verbs print, the latter from the
// descriptions that write them.
#pragma once

#include <string_view>

#include "orrery/present/json_value.h"

namespace orrery::verbs {

Json input_schema(std::string_view kind);  // "chip", "problem", ...; null where it is none

Json mapping_schema(bool searched);  // of `map`, or of `eval`
Json energy_schema();
Json train_schema();  // by either kind of equations
Json amped_schema();
Json tune_run_schema();
Json tune_bench_schema();
Json tune_ledger_schema();
Json tune_layouts_schema();
Json tune_select_schema();
Json tune_embed_schema();
Json tune_generate_schema();
Json tune_eval_schema();
Json tune_train_schema();
Json sparse_measure_schema();
Json sparse_mask_schema();
Json sparse_latency_schema();
Json sparse_pack_schema();
Json sparse_sweep_schema();
Json sparse_simulate_schema();
Json sparse_design_schema();
Json sparse_run_schema();
Json sparse_bench_schema();
Json sparse_study_schema();
Json sparse_break_even_schema();
Json sweep_schema();
Json sweep_status_schema();
Json place_schema();
Json graph_schema();
Json operators_schema();
Json validate_schema();
Json validate_collectives_schema();
Json check_schema();
Json catalog_schema();
Json doctor_schema();
Json sparse_rtl_schema();
Json explain_schema();
Json kinds_schema();
Json error_schema();

}  // namespace orrery::verbs
