#include "orrery/cli/run_verb.h"

#include "orrery/cli/end_on_signals.h"

namespace orrery::verbs {

const std::atomic<bool>* Run::stop() {
  if (!interrupt_) interrupt_.emplace();
  return interrupt_->flag();
}

void Run::finish() {
  stopped_ = stopped();
  interrupt_.reset();
  progress_.reset();
  answer_begins();
}

}  // namespace orrery::verbs
