// Options that are lists of choices, of verbs that compute every combination.
#pragma once

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "orrery/cli/command_line.h"

namespace orrery::verbs {

// A value given twice is tried once.
template <class Value>
void add_choice(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

template <class Value>
void default_to(std::vector<Value>& values, Value value) {
  if (values.empty()) values.push_back(value);
}

// Throws InputError O1103 where there are more. `points`: a double, so that no product of choices overflows.
inline void refuse_more_points(double points, double most) {
  if (points > most)
    misuse("O1103", fmt::format("up to {:.0f} points are more than {:.0f}", points, most), "give fewer choices");
}

}  // namespace orrery::verbs
