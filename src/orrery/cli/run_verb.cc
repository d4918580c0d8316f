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

void check_page(const Console& console) {
  check_file(console.html, console.force);
}

void write_page(const Console& console, const std::string& document, const std::vector<base::Input>& inputs) {
  if (console.html.empty() || console.pictures == nullptr) return;
  keep_inputs(console.html, inputs);
  std::vector<base::Diagnostic> remarks;
  write_file(console.html, console.pictures->page(document, remarks));
  report(console, remarks);
}

void print_plots(const Console& console, const std::string& document) {
  if (!console.plot || console.json || console.pictures == nullptr) return;
  if (const std::string plots = console.pictures->plots(document, console); !plots.empty())
    print(console, "\n" + plots);
}

}  // namespace orrery::verbs
