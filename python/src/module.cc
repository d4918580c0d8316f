#include "module.h"

#include "orrery/orrery.h"

NB_MODULE(_orrery, m) {
  m.doc() = "The program of Orrery in this process. Use the package `orrery`, not this.";
  nanobind::set_leak_warnings(false);  // when a process ends, PyTorch still holds what its graph refers to
  m.attr("__version__") = orrery::version();
  orrery::python::define_errors(m);
  orrery::python::define_call(m);
  orrery::python::define_describe(m);
  orrery::python::define_values(m);
  orrery::python::define_train(m);
  orrery::python::define_layer(m);
}
