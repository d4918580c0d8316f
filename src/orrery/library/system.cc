#include <utility>

#include "orrery/formats/orrery/systems.h"
#include "orrery/library/reading.h"
#include "orrery/machine/roofline.h"
#include "orrery/orrery.h"

namespace orrery {

struct System::Description {
  explicit Description(cluster::System system) : value(std::move(system)), roofline(value.accelerator) {}

  cluster::System value;
  machine::Roofline roofline;
  std::vector<Diagnostic> warnings;
};

System System::named(const std::string& name, const Reading& how) {
  formats::orrery::SystemFile file = formats::orrery::load_system(library::directory_of(how), name, how.overrides);
  auto description = std::make_shared<Description>(std::move(file.system));
  description->warnings = file.diagnostics.all();
  return System(std::move(description));
}

System System::from_text(const std::string& text, const Reading& how) {
  formats::orrery::SystemFile file =
      formats::orrery::read_system(library::directory_of(how), library::source(text), how.overrides);
  auto description = std::make_shared<Description>(std::move(file.system));
  description->warnings = file.diagnostics.all();
  return System(std::move(description));
}

System::System(cluster::System value) : description_(std::make_shared<Description>(std::move(value))) {}

const cluster::System& System::value() const {
  return description_->value;
}
const machine::OperatorModel& System::operators() const {
  return description_->roofline;
}
const std::vector<Diagnostic>& System::warnings() const {
  return description_->warnings;
}

}  // namespace orrery
