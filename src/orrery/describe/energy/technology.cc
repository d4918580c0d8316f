#include "orrery/describe/energy/technology.h"

#include <cmath>
#include <string_view>

namespace orrery::energy {
namespace {

// Where a node lies among those of the table: between entries `first` and `first + 1`, `rest` of the way.
struct Index {
  std::size_t first = 0;
  std::size_t second = 0;
  double rest = 0;
};

std::optional<Index> index_of(const NodeScaling& scaling, double nm) {
  const auto& nodes = scaling.nodes_nm;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nm == nodes[i]) return Index{i, i, 0};
    if (i > 0 && nm < nodes[i - 1] && nm > nodes[i])
      return Index{i - 1, i, (nodes[i - 1] - nm) / (nodes[i - 1] - nodes[i])};
  }
  return std::nullopt;
}

double between(double a, double b, double rest) {
  return a * (1 - rest) + b * rest;
}

double energy_at(const NodeScaling& scaling, const Index& index) {
  const auto at = [&](std::size_t i) {
    const auto& [a, b, c] = scaling.energy[i];
    return a * kScalingVolts * kScalingVolts + b * kScalingVolts + c;
  };
  return between(at(index.first), at(index.second), index.rest);
}

}  // namespace

std::optional<double> energy_factor(const NodeScaling& scaling, double from_nm, double to_nm) {
  const auto from = index_of(scaling, from_nm);
  const auto to = index_of(scaling, to_nm);
  if (!from || !to) return std::nullopt;
  return energy_at(scaling, *to) / energy_at(scaling, *from);
}

std::optional<double> area_factor(const NodeScaling& scaling, double from_nm, double to_nm) {
  const auto from = index_of(scaling, from_nm);
  const auto to = index_of(scaling, to_nm);
  if (!from || !to) return std::nullopt;
  const auto row = [&](std::size_t i) {
    return between(scaling.area[i][to->first], scaling.area[i][to->second], to->rest);
  };
  return between(row(from->first), row(from->second), from->rest);
}

std::optional<double> node_nm(const Value& technology) {
  std::optional<double> value = number(technology);
  if (const auto* text = std::get_if<std::string>(&technology); text && !value) {
    constexpr std::string_view kUnit = "nm";
    if (text->size() > kUnit.size() && text->compare(text->size() - kUnit.size(), kUnit.size(), kUnit) == 0)
      value = number(Value(text->substr(0, text->size() - kUnit.size())));
    if (value && *value > 0) return value;
    return std::nullopt;
  }
  if (!value || *value <= 0) return std::nullopt;
  return *value < 1 ? *value * 1e9 : *value;
}

}  // namespace orrery::energy
