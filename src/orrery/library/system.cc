#include <memory>
#include <utility>

#include "orrery/describe/machine/roofline.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/library/reading.h"
#include "orrery/orrery.h"

namespace orrery {

// A chip that the system's file names times its products, as in `orrery train`.
struct System::Description {
  explicit Description(cluster::System system) : value(std::move(system)), roofline(value.accelerator) {}
  explicit Description(verbs::SystemReading read)
      : value(std::move(read.system)),
        roofline(value.accelerator),
        chip(std::move(read.chip)),
        nests(chip ? chip->operators({}, value.accelerator.host_seconds_per_op) : nullptr),
        warnings(read.warnings.all()) {}

  cluster::System value;
  machine::Roofline roofline;
  std::unique_ptr<verbs::SystemChip> chip;
  std::unique_ptr<verbs::ChipOperators> nests;  // refers to `chip`
  std::vector<Diagnostic> warnings;
};

System System::named(const std::string& name, const Reading& how) {
  return System(std::make_shared<Description>(verbs::read_system(library::directory_of(how), name, how.overrides)));
}

System System::from_text(const std::string& text, const Reading& how) {
  return System(std::make_shared<Description>(verbs::with_chip(
      formats::orrery::read_system(library::directory_of(how), library::source(text), how.overrides))));
}

System::System(cluster::System value) : description_(std::make_shared<Description>(std::move(value))) {}

const cluster::System& System::value() const {
  return description_->value;
}
const machine::OperatorModel& System::operators() const {
  if (description_->nests) return *description_->nests;
  return description_->roofline;
}
const std::vector<Diagnostic>& System::warnings() const {
  return description_->warnings;
}

}  // namespace orrery
