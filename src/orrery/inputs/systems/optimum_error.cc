#include "orrery/inputs/systems/optimum_error.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {

OptimumError optimum_error(std::vector<double> ratios) {
  OptimumError error;
  error.recipes = ratios.size();
  if (ratios.empty()) return error;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t beyond = ratios.size() / 6;  // at each end
  error.least = ratios[beyond];
  error.median = (ratios[(ratios.size() - 1) / 2] + ratios[ratios.size() / 2]) / 2;
  error.most = ratios[ratios.size() - 1 - beyond];
  return error;
}

std::optional<OptimumError> read_optimum_error(const std::string& directory, const std::string& stack) {
  const std::string path = (std::filesystem::path(directory) / "validation/expected/optima.csv").string();
  base::Diagnostics found;
  const formats::csv::Document document =
      formats::csv::parse(formats::yaml::read_file(path), formats::csv::Comments::kHash, found);
  std::optional<OptimumError> out;
  for (std::size_t i = 1; i < document.rows.size(); ++i) {
    const auto& cells = document.rows[i].cells;
    try {
      const OptimumError error = {std::stoul(cells.at(1).text), std::stod(cells.at(2).text),
                                  std::stod(cells.at(3).text), std::stod(cells.at(4).text)};
      if (cells.at(0).text == stack && error.recipes >= kLeastRecipes) out = error;
    } catch (const std::exception&) {
      found.error("O1358", "a software's optima are a row of five cells: its name, recipes, least, median, most",
                  document.place(document.rows[i]));
    }
  }
  found.throw_if_errors();
  return out;
}

std::string optimum_error_line(const std::string& stack, const OptimumError& error) {
  return fmt::format("{},{},{:.2f},{:.2f},{:.2f}\n", stack, error.recipes, error.least, error.median, error.most);
}

}  // namespace orrery::verbs
