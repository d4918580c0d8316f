// Constants and defects of the equations by name, as `--set equations.zero_gather=0` gives them.
#pragma once

#include "orrery/engines/amped/equations.h"
#include "orrery/formats/amped/amped_config.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

// Takes those overrides whose path begins with `equations.` into `model` and returns the others. Throws InputError:
// O1341 for names and values that the equations do not have (`equations.efficiency`, `equations.defects.no_softmax`,
// ...).
Overrides take_equation_options(const Overrides& overrides, equations::Model& model);

}  // namespace orrery::formats::amped
