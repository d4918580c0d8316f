#include "orrery/report/energy_origin.h"

#include <algorithm>

namespace orrery::report {

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

double total_area_um2(std::span<const energy::EstimatedComponent> components) {
  double sum = 0;
  for (const energy::EstimatedComponent& component : components)
    sum += component.area_um2 * static_cast<double>(component.count);
  return sum;
}

}  // namespace orrery::report
