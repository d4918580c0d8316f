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
  return {{"name", "Name of the action as in the ERT: `read`, `write`, `update`, `leak`, `compute`, `transfer_NAME`.",
           &Action::name},
          {"arguments", "Arguments of the action, such as num_destinations.", arguments},
          {"energy_pj", "Energy of one action of one instance, in pJ; of `leak`, in one cycle.", &Action::energy_pj},
          {"source", "Estimators that took part, and what each went by.", &Action::source},
          {"accuracy_percent",
           "Accuracy that the least accurate estimator claims of itself, on Accelergy's scale from 0 to 100.",
           &Action::accuracy_percent},
          {"expected_error_percent",
           "Two of three such figures are within this percentage of what the estimator imitates; null where the error "
           "of a part was not measured.",
           [](const Action& a) { return expected_error_percent(a.shares); }},
          {"basis",
           "What the parts' figures rest on: published, modelled, interpolated, extrapolated, measured or assumed.",
           [](const Action& a) { return bases(a.shares); }},
          {"extrapolated", "Bounds of published figures that parts lie beyond; empty: none.",
           [](const Action& a) { return extrapolations(a.shares); }},
          {"node_rules", "Rules by which parts were scaled to their technology.",
           [](const Action& a) { return node_rules(a.shares); }}};
}

Record<EstimatedComponent> component() {
  using Component = EstimatedComponent;
  return {
      {"name", "Name of the component in the architecture.", &Component::name},
      {"table_name", "Name of the component in ERT and ART.", &Component::table_name},
      {"class", "Class by which the component was estimated.", &Component::class_name},
      {"count", "Instances on the chip.", &Component::count},
      {"area_um2", "Area of one instance, in um^2.", &Component::area_um2},
      {"area_source", "Estimators of the area, and what each went by.", &Component::area_source},
      {"area_accuracy_percent",
       "Accuracy that the least accurate estimator of the area claims of itself, on Accelergy's scale from 0 to 100.",
       &Component::area_accuracy_percent},
      {"area_expected_error_percent",
       "Two of three such areas are within this percentage of what the estimator imitates; null where that was not "
       "measured.",
       [](const Component& c) { return expected_error_percent(c.area_shares); }},
      {"area_basis", "What the area rests on: published, modelled, interpolated, extrapolated, measured or assumed.",
       [](const Component& c) { return bases(c.area_shares); }},
      {"area_extrapolated", "Bounds of published areas that parts lie beyond; empty: none.",
       [](const Component& c) { return extrapolations(c.area_shares); }},
      {"area_node_rules", "Rules by which areas of parts were scaled to their technology.",
       [](const Component& c) { return node_rules(c.area_shares); }},
      {"actions", "Energies, one entry for each action and value of its arguments.", &Component::actions, action()}};
}

}  // namespace

Document<EstimatedChip> energy_document() {
  return {"energy", "Energies and areas of the chip's components.",
          Record<EstimatedChip>{{"components", "Components of the chip, primitives first, then compounds.",
                                 &EstimatedChip::components, component()},
                                {"total_area_um2", "Area of all instances of all components, in um^2.",
                                 [](const EstimatedChip& c) { return total_area_um2(c.components); }}}};
}

}  // namespace orrery::verbs
