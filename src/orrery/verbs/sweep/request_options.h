// What verbs ask, without asking it: for sweeps, which ask it many times. Each is defined beside its verb.
#pragma once

#include <sstream>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"
#include "orrery/inputs/inputs.h"
#include "orrery/verbs/accelerator/simulate/run.h"
#include "orrery/verbs/map/run.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

// Takes what a verb's options say of output, and shows nothing.
struct QuietConsole : private std::ostringstream, Console {
  QuietConsole() : Console{static_cast<std::ostringstream&>(*this), static_cast<std::ostringstream&>(*this)} {}
};

[[noreturn]] inline void refuse_help() {
  misuse("O1101", "`--help` in a question", "leave it out");
}

// Throw InputError as the verb does.
MapRequest map_request(const Arguments& arguments);
DocumentRequest energy_request(const Arguments& arguments);
TrainRequest train_request(const Arguments& arguments);
PlaceRequest place_request(const Arguments& arguments);
SimulateRequest simulate_request(const Arguments& arguments);
TuneSelectRequest select_request(const Arguments& arguments);

}  // namespace orrery::verbs
