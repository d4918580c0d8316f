#include "orrery/report/energy_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "orrery/report/energy_origin.h"
#include "orrery/report/warnings_json.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

Json value_json(const energy::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<base::Count>(&value)) return *count;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value); number && std::isfinite(*number)) return *number;
  return std::holds_alternative<std::monostate>(value) ? Json(nullptr) : Json(energy::text(value));
}

Json arguments_json(const energy::Attributes& arguments) {
  Json out = Json::object();
  for (const auto& [name, value] : arguments) out[name] = value_json(value);
  return out;
}

Json error_json(const std::vector<energy::Share>& shares) {
  const auto error = expected_error_percent(shares);
  return error ? Json(*error) : Json(nullptr);
}

Json action_json(const energy::EstimatedAction& action) {
  return Json{{"name", action.name},
              {"arguments", arguments_json(action.arguments)},
              {"energy_pj", action.energy_pj},
              {"source", action.source},
              {"accuracy_percent", action.accuracy_percent},
              {"expected_error_percent", error_json(action.shares)},
              {"basis", bases(action.shares)},
              {"extrapolated", extrapolations(action.shares)},
              {"node_rules", node_rules(action.shares)}};
}

Json component_json(const energy::EstimatedComponent& component) {
  Json actions = Json::array();
  for (const energy::EstimatedAction& action : component.actions) actions.push_back(action_json(action));
  return Json{{"name", component.name},
              {"table_name", component.table_name},
              {"class", component.class_name},
              {"count", component.count},
              {"area_um2", component.area_um2},
              {"area_source", component.area_source},
              {"area_accuracy_percent", component.area_accuracy_percent},
              {"area_expected_error_percent", error_json(component.area_shares)},
              {"area_basis", bases(component.area_shares)},
              {"area_extrapolated", extrapolations(component.area_shares)},
              {"area_node_rules", node_rules(component.area_shares)},
              {"actions", std::move(actions)}};
}

}  // namespace

std::string energy_json(const EnergyDocument& document) {
  Json inputs = Json::array();
  for (const auto& [name, hash] : document.inputs) inputs.push_back(Json{{"name", name}, {"hash", hash}});
  Json components = Json::array();
  for (const energy::EstimatedComponent& component : *document.components)
    components.push_back(component_json(component));
  Json warnings = Json::parse(warnings_json(*document.warnings));
  const Json out{
      {"schema", "orrery.energy/1"},
      {"version", document.version},
      {"compat", document.compat},
      {"inputs", std::move(inputs)},
      {"result", Json{{"components", std::move(components)}, {"total_area_um2", total_area_um2(*document.components)}}},
      {"warnings", std::move(warnings)},
      {"timing", Json{{"seconds", document.seconds}}}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
