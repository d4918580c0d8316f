#include "orrery/formats/amped/equation_options.h"

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/formats/amped/unit_value.h"

namespace orrery::formats::amped {
namespace {

constexpr std::string_view kPrefix = "equations.";
constexpr std::string_view kDefectPrefix = "defects.";

void set_defect(const std::string& name, const std::string& value, equations::Defects& defects,
                base::Diagnostics& found) {
  bool* const defect = base::defect_named(equations::kDefects, defects, name);
  if (defect == nullptr) {
    const std::vector<std::string> names = base::defect_names(equations::kDefects);
    found.error("O1341", fmt::format("the equations have no defect `{}`", name))
        .hint(base::did_you_mean(name, names, fmt::format("defects: {}", fmt::join(names, ", "))));
  } else if (value != "true" && value != "false") {
    found.error("O1341", fmt::format("`equations.defects.{}` is true or false, not `{}`", name, value));
  } else {
    *defect = value == "true";
  }
}

void set_constant(const std::string& name, const std::string& value, equations::Constants& constants,
                  base::Diagnostics& found) {
  double* const constant = equations::constant_named(constants, name);
  if (constant == nullptr) {
    const std::vector<std::string> names = equations::constant_names();
    found.error("O1341", fmt::format("the equations have no constant `{}`", name))
        .hint(base::did_you_mean(name, names,
                                 fmt::format("constants: {}; switches: defects.NAME", fmt::join(names, ", "))));
    return;
  }
  const auto number = parse_unit_value(value);
  const bool share = name == "efficiency" || name == "efficiency_cap" || name == "exposed";
  const bool zero_allowed = name == "zero_gather" || name == "exposed" || name == "efficiency_exponent";
  const double most = share ? 1 : 1e6;
  if (!number || number->number < 0 || number->number > most || (number->number == 0 && !zero_allowed)) {
    found.error("O1341", fmt::format("`equations.{}` must be a number {} 0 and at most {}, not `{}`", name,
                                     zero_allowed ? "from" : "above", most, value));
    return;
  }
  *constant = number->number;
}

}  // namespace

Overrides take_equation_options(const Overrides& overrides, equations::Model& model) {
  Overrides others;
  base::Diagnostics found;
  for (const auto& [path, value] : overrides) {
    if (path.rfind(kPrefix, 0) != 0) {
      others.push_back({path, value});
      continue;
    }
    const std::string name = path.substr(kPrefix.size());
    if (name.rfind(kDefectPrefix, 0) == 0)
      set_defect(name.substr(kDefectPrefix.size()), value, model.defects, found);
    else
      set_constant(name, value, model.constants, found);
  }
  found.throw_if_errors();
  return others;
}

}  // namespace orrery::formats::amped
