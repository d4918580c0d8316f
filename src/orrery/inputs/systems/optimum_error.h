// How far the best plan of a search is from what a tuned recipe measures: a search ends where predictions err most in
// its favour, so that its error is another one than that of given plans.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace orrery::verbs {

// Of published recipes: the predicted speed of the best plan that is found over the speed that was measured.
struct OptimumError {
  std::size_t recipes = 0;
  double least = 0, median = 0, most = 0;  // two of three recipes are from `least` to `most`
};

// Of some ratios.
OptimumError optimum_error(std::vector<double> ratios);

// catalog/validation/expected/optima.csv, which `orrery validate optima` made: of the software's recipes, or nothing
// where fewer than kLeastRecipes were published. Throws InputError O1358 where it cannot be read.
inline constexpr std::size_t kLeastRecipes = 5;
std::optional<OptimumError> read_optimum_error(const std::string& directory, const std::string& stack);
// As that file has it.
std::string optimum_error_line(const std::string& stack, const OptimumError& error);

}  // namespace orrery::verbs
