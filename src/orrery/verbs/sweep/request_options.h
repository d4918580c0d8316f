// What verbs ask, without asking it: for sweeps, which ask it many times. Each is defined beside its verb.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/inputs/inputs.h"
#include "orrery/verbs/accelerator/simulate/run.h"
#include "orrery/verbs/map/run.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

// Throw InputError as the verb does.
MapRequest map_request(const Arguments& arguments);
DocumentRequest energy_request(const Arguments& arguments);
TrainRequest train_request(const Arguments& arguments);
PlaceRequest place_request(const Arguments& arguments);
SimulateRequest simulate_request(const Arguments& arguments);
TuneSelectRequest select_request(const Arguments& arguments);

// The verbs themselves.
VerbFunction run_map, run_energy, run_train, run_place, run_sparse_simulate, run_tune_select;

}  // namespace orrery::verbs
