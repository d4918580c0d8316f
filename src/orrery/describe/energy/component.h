// What is to be estimated: components, broken down to the primitives that estimators know.
//
// A component of the architecture is a primitive itself (an SRAM) or a compound of a user's class (a buffer
// of an SRAM and two address generators). Either way it is a list of primitives and, for each action, a sum:
//
//   energy(action) = sum over terms of weight * energy(primitive, action, arguments)
//   area           = sum over primitives of area_weight * area(primitive)
//
// `weight` holds every energy scale down the tree and the count of the range used in the action; `area_weight`
// every area scale and the count of the whole range (docs/model/energy.md). All figures are of ONE instance
// of the component.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/energy/attribute_value.h"

namespace orrery::energy {

struct Primitive {
  std::string path;  // "Scratchpad.storage"; of a component that is a primitive: its name
  std::string class_name;
  Attributes attributes;
  double area_weight = 1;
  base::Location where;  // the subcomponent, or the component
};

struct Term {
  std::size_t primitive = 0;  // index into Component::primitives
  std::string action;
  Attributes arguments;
  double weight = 1;
};

// One entry of an energy table. An action whose argument runs over a range has one entry per value.
struct Action {
  std::string name;
  Attributes arguments;  // as the table prints them
  std::vector<Term> terms;
};

struct Component {
  std::string name;        // "Accumulator"
  std::string table_name;  // "System_top_level.Accumulator[1..16]": its name in ERT and ART
  std::string class_name;  // as the user wrote it
  base::Count instances = 1;
  Attributes attributes;  // with those inherited
  std::vector<Primitive> primitives;
  std::vector<Action> actions;
  base::Location where;
};

}  // namespace orrery::energy
