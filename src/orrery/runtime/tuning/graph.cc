#include "orrery/runtime/tuning/graph.h"

#include <algorithm>

namespace orrery::tuning {
namespace {

template <typename Named>
const Named* named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const Variable* Graph::variable(std::string_view name) const {
  return named(variables, name);
}

const Operator* Graph::find(std::string_view operator_name) const {
  return named(operators, operator_name);
}

}  // namespace orrery::tuning
