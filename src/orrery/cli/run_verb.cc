#include "orrery/cli/run_verb.h"

namespace orrery::verbs {

const std::atomic<bool>* Run::stop() {
  if (!interrupt_) interrupt_.emplace();
  return interrupt_->flag();
}

void Run::finish() {
  stopped_ = stopped();
  interrupt_.reset();
  progress_.reset();
}

}  // namespace orrery::verbs
