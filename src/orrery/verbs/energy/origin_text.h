// Where a figure that is a sum of others comes from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/describe/energy/estimate.h"

namespace orrery::verbs {

// The error to expect of the sum, in percent of it, as if all addends erred to the same side; nothing where the error
// of one of them was not measured, for that of the sum is not known then.
std::optional<double> expected_error_percent(std::span<const energy::Share> shares);

// Names of the addends' bases ("published", "interpolated"), each once, in the order of the addends.
std::vector<std::string> bases(std::span<const energy::Share> shares);

// Bounds that addends lie beyond, and rules by which they were brought to their technology, each once.
std::vector<std::string> extrapolations(std::span<const energy::Share> shares);
std::vector<std::string> node_rules(std::span<const energy::Share> shares);

// um^2 of all instances of all components.
double total_area_um2(std::span<const energy::EstimatedComponent> components);

}  // namespace orrery::verbs
