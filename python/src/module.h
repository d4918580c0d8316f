// The parts of the module, a file each.
#pragma once

#include <nanobind/nanobind.h>

namespace orrery::python {

void define_call(nanobind::module_& m);

}  // namespace orrery::python
