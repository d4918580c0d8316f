// The parts of the module, a file each.
#pragma once

#include <nanobind/nanobind.h>

namespace orrery::python {

void define_errors(nanobind::module_& m);
void define_call(nanobind::module_& m);
void define_describe(nanobind::module_& m);
void define_values(nanobind::module_& m);
void define_train(nanobind::module_& m);
void define_layer(nanobind::module_& m);

}  // namespace orrery::python
