// Refusals as exceptions of Python: the package's InputError receives the JSON document and the text that the program
// prints.
#include <exception>
#include <sstream>
#include <string>

#include "module.h"
#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/cli/console.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;

nb::object& input_error() {
  static auto* const known = new nb::object;  // never destroyed: Python has ended by then
  return *known;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const base::InputError& error) {
    std::ostringstream document, text;
    verbs::refuse({document, text, false, false, false, true}, error.diagnostics);
    const std::string json = document.str(), shown = text.str();
    const nb::object arguments =
        nb::make_tuple(nb::bytes(json.data(), json.size()), nb::bytes(shown.data(), shown.size()));
    PyErr_SetObject(input_error().is_valid() ? input_error().ptr() : PyExc_ValueError, arguments.ptr());
  }
}

}  // namespace

void define_errors(nb::module_& m) {
  nb::register_exception_translator(translate);
  m.def(
      "set_input_error", [](nb::object type) { input_error() = std::move(type); }, nb::arg("type"),
      "The exception that refusals become; it is made of their JSON document and their text, both bytes.");
}

}  // namespace orrery::python
