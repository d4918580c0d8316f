// The verbs. Each acts on plain options, prints, and returns the exit code; bad input is thrown as
// base::InputError.
#pragma once

#include "orrery/cli/console.h"
#include "orrery/cli/options.h"

namespace orrery::cli {

int run_map(const MapOptions& options, const Console& console);
int run_eval(const EvalOptions& options, const Console& console);
int run_energy(const EnergyOptions& options, const Console& console);
int run_validate(const ValidateOptions& options, const Console& console);
int run_check(const CheckOptions& options, const Console& console);
int run_train(const TrainOptions& options, const Console& console);
int run_place(const PlaceOptions& options, const Console& console);
int run_graph(const GraphOptions& options, const Console& console);
int run_explain(const ExplainOptions& options, const Console& console);
int run_schema(const SchemaOptions& options, const Console& console);
int run_doctor(const DoctorOptions& options, const Console& console);
int run_catalog(const CatalogOptions& options, const Console& console);

}  // namespace orrery::cli
