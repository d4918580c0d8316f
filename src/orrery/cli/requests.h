// What verbs ask, without asking it: for sweeps, which ask it many times. Each is defined beside its verb.
#pragma once

#include <sstream>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"
#include "orrery/scenario/inputs.h"
#include "orrery/scenario/map.h"
#include "orrery/scenario/place.h"
#include "orrery/scenario/sparse_simulate.h"
#include "orrery/scenario/train.h"
#include "orrery/scenario/tune_select.h"

namespace orrery::cli {

// Takes what a verb's options say of output, and shows nothing.
struct QuietConsole : private std::ostringstream, Console {
  QuietConsole() : Console{static_cast<std::ostringstream&>(*this), static_cast<std::ostringstream&>(*this)} {}
};

[[noreturn]] inline void refuse_help() {
  misuse("O1101", "`--help` in a question", "leave it out");
}

// Throw InputError as the verb does.
scenario::MapRequest map_request(const Arguments& arguments);
scenario::DocumentRequest energy_request(const Arguments& arguments);
scenario::TrainRequest train_request(const Arguments& arguments);
scenario::PlaceRequest place_request(const Arguments& arguments);
scenario::SimulateRequest simulate_request(const Arguments& arguments);
scenario::TuneSelectRequest select_request(const Arguments& arguments);

}  // namespace orrery::cli
