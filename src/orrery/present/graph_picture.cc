#include "orrery/present/graph_picture.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace orrery::verbs {

using workload::Kernel;

std::string shape_text(const Kernel& kernel) {
  std::string text;
  for (base::Count size : {kernel.outer, kernel.m, kernel.n})
    if (size != 1) text += fmt::format("{}{}", text.empty() ? "" : " x ", size);
  if (text.empty()) text = "1";
  if (kernel.is_product()) text += fmt::format(", K {}", kernel.k);
  return text;
}

std::vector<std::string> kernel_lines(const GraphPicture& picture, int kernel) {
  std::vector<std::string> lines;
  if (picture.edge_labels.empty()) lines.push_back(shape_text(picture.graph->kernels[kernel]));
  const auto index = static_cast<std::size_t>(kernel);
  if (index < picture.kernel_labels.size() && !picture.kernel_labels[index].empty())
    lines.push_back(picture.kernel_labels[index]);
  return lines;
}

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string edge_text(const GraphPicture& picture, std::size_t edge) {
  if (edge < picture.edge_labels.size()) return picture.edge_labels[edge];
  const workload::KernelEdge& of = picture.graph->edges[edge];
  return bytes_text(picture.graph->kernels[static_cast<std::size_t>(of.from)].output_bytes);
}

std::vector<int> used_configurations(const GraphPicture& picture) {
  std::vector<int> used = picture.configuration;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

std::string configuration_label(const GraphPicture& picture, int configuration) {
  const auto index = static_cast<std::size_t>(configuration);
  if (configuration >= 0 && index < picture.configuration_labels.size() && !picture.configuration_labels[index].empty())
    return picture.configuration_labels[index];
  return fmt::format("configuration {}", configuration);
}

std::string_view configuration_colour(int configuration) {
  static constexpr std::array<std::string_view, 8> kColours = {"#e8f1fb", "#fdeedd", "#e6f5e9", "#f6e9f7",
                                                               "#fff7d6", "#e3f4f4", "#fbe6e6", "#ededf9"};
  return kColours[static_cast<std::size_t>(std::max(0, configuration)) % kColours.size()];
}

std::string_view kernel_colour(const Kernel& kernel) {
  const bool systolic = kernel.unit == workload::KernelUnit::kSystolic;
  if (kernel.direction == workload::Direction::kForward) return systolic ? "#a9cbee" : "#ffffff";
  return systolic ? "#f2c29b" : "#fff4ea";
}

}  // namespace orrery::verbs
