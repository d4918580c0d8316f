#include "orrery/verbs/energy/origin_text.h"

#include <algorithm>

namespace orrery::verbs {

std::optional<double> expected_error_percent(std::span<const energy::Share> shares) {
  if (shares.empty()) return std::nullopt;
  double sum = 0, error = 0;
  for (const energy::Share& share : shares) {
    if (!share.figure.expected_error_percent) return std::nullopt;
    const double part = share.weight * share.figure.value;
    sum += part;
    error += part * *share.figure.expected_error_percent;
  }
  return sum > 0 ? error / sum : 0;
}

std::vector<std::string> bases(std::span<const energy::Share> shares) {
  std::vector<std::string> names;
  for (const energy::Share& share : shares) {
    std::string name(energy::name(share.figure.basis));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> extrapolations(std::span<const energy::Share> shares) {
  std::vector<std::string> bounds;
  for (const energy::Share& share : shares)
    for (const std::string& bound : share.figure.beyond)
      if (std::find(bounds.begin(), bounds.end(), bound) == bounds.end()) bounds.push_back(bound);
  return bounds;
}

std::vector<std::string> node_rules(std::span<const energy::Share> shares) {
  std::vector<std::string> rules;
  for (const energy::Share& share : shares) {
    const std::string& rule = share.figure.node_rule;
    if (!rule.empty() && std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  }
  return rules;
}

double total_area_um2(std::span<const energy::EstimatedComponent> components) {
  double sum = 0;
  for (const energy::EstimatedComponent& component : components)
    sum += component.area_um2 * static_cast<double>(component.count);
  return sum;
}

}  // namespace orrery::verbs
