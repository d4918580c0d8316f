#include "orrery/formats/amped/equation_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
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
        .hint(base::did_you_mean(name, names, fmt::format("defects: {}", base::joined(names, ", "))));
  } else if (value != "true" && value != "false") {
    found.error("O1341", fmt::format("`equations.defects.{}` is true or false, not `{}`", name, value));
  } else {
    *defect = value == "true";
  }
}

void set_constant(const std::string& name, const std::string& value, equations::Constants& constants,
                  base::Diagnostics& found) {
  const auto constant = std::find_if(equations::kConstants.begin(), equations::kConstants.end(),
                                     [&](const equations::Constant& known) { return known.name == name; });
  if (constant == equations::kConstants.end()) {
    std::vector<std::string> names;
    for (const equations::Constant& known : equations::kConstants) names.emplace_back(known.name);
    found.error("O1341", fmt::format("the equations have no constant `{}`", name))
        .hint(base::did_you_mean(name, names,
                                 fmt::format("constants: {}; switches: defects.NAME", base::joined(names, ", "))));
    return;
  }
  const auto number = parse_unit_value(value);
  if (!number || number->number < 0 || number->number > constant->most ||
      (number->number == 0 && !constant->may_be_zero)) {
    found.error("O1341", fmt::format("`equations.{}` must be a number {} 0 and at most {}, not `{}`", name,
                                     constant->may_be_zero ? "from" : "above", constant->most, value));
    return;
  }
  constants.*constant->field = number->number;
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
