// What a signal does where nobody watches for it.
#pragma once

#include <string>

namespace orrery::verbs {

// From here on a signal that nobody watches for (base/limits/stop_signal.h) ends the program with 130, and prints
// these: `document` to standard output and `message` to standard error.
void end_on_signals(const std::string& document, const std::string& message);
// From here on it waits until the answer is written; a second one does not.
void answer_begins();

// From here on signals are left alone: whoever runs the program within another one sets base::stop_requested, and
// resets it.
void leave_signals_alone();

}  // namespace orrery::verbs
