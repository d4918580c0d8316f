#include "orrery/verbs/energy/json.h"

#include <cmath>

#include "orrery/verbs/energy/origin_text.h"

namespace orrery::verbs {
namespace {

using energy::EstimatedAction;
using energy::EstimatedComponent;

Json value_json(const energy::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<base::Count>(&value)) return *count;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value); number && std::isfinite(*number)) return *number;
  return std::holds_alternative<std::monostate>(value) ? Json() : Json(energy::text(value));
}

std::vector<std::pair<std::string, Json>> arguments(const EstimatedAction& action) {
  std::vector<std::pair<std::string, Json>> out;
  for (const auto& [name, value] : action.arguments) out.emplace_back(name, value_json(value));
  return out;
}

Record<EstimatedAction> action() {
  using Action = EstimatedAction;
  return {
      {"name", "`read`, `write`, `update`, `leak`, `compute`, `transfer_NAME`; as in the ERT.", &Action::name},
      {"arguments", "Arguments of the entry, such as num_destinations.", arguments},
      {"energy_pj", "pJ of one action of one instance; of `leak`, in one cycle.", &Action::energy_pj},
      {"source", "Each estimator that took part, and what it went by.", &Action::source},
      {"accuracy_percent", "What the least accurate estimator claims of itself, on Accelergy's scale from 0 to 100.",
       &Action::accuracy_percent},
      {"expected_error_percent",
       "Two thirds of such figures are at most that far from what the estimator imitates; null where that of a part "
       "was not measured.",
       [](const Action& a) { return expected_error_percent(a.shares); }},
      {"basis", "What the parts are: published, modelled, interpolated, extrapolated, measured, assumed.",
       [](const Action& a) { return bases(a.shares); }},
      {"extrapolated", "Bounds of their figures that parts lie beyond; empty within.",
       [](const Action& a) { return extrapolations(a.shares); }},
      {"node_rules", "Rules by which parts were brought to their technology.",
       [](const Action& a) { return node_rules(a.shares); }}};
}

Record<EstimatedComponent> component() {
  using Component = EstimatedComponent;
  return {{"name", "In the architecture.", &Component::name},
          {"table_name", "In ERT and ART.", &Component::table_name},
          {"class", "Class by which it was estimated.", &Component::class_name},
          {"count", "Instances on the chip.", &Component::count},
          {"area_um2", "um^2 of one instance.", &Component::area_um2},
          {"area_source", "As of an action.", &Component::area_source},
          {"area_accuracy_percent", "As of an action.", &Component::area_accuracy_percent},
          {"area_expected_error_percent", "As of an action.",
           [](const Component& c) { return expected_error_percent(c.area_shares); }},
          {"area_basis", "As of an action.", [](const Component& c) { return bases(c.area_shares); }},
          {"area_extrapolated", "As of an action.", [](const Component& c) { return extrapolations(c.area_shares); }},
          {"area_node_rules", "As of an action.", [](const Component& c) { return node_rules(c.area_shares); }},
          {"actions", "One entry an action and value of its arguments.", &Component::actions, action()}};
}

}  // namespace

Document<EstimatedChip> energy_document() {
  return {"energy", "The figures.",
          Record<EstimatedChip>{
              {"components", "Primitives first, then compounds.", &EstimatedChip::components, component()},
              {"total_area_um2", "um^2 of all instances of all components.",
               [](const EstimatedChip& c) { return total_area_um2(c.components); }}}};
}

}  // namespace orrery::verbs
