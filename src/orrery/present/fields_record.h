// Columns of a value that lends its fields (`base/text/field.h`): a key a field, with the field's text, type and
// choices.
#pragma once

#include <string_view>

#include "orrery/base/text/field.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

Json field_json(const base::Field& field);
Json field_schema(const base::Field& field);

// The fields whose path is `group` ("overlap.") and one name more.
template <typename T>
Record<T> fields_record(std::string_view group = "") {
  Record<T> out({});
  T sample;
  const base::Fields known = cluster::fields(sample);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string& path = known[i].path;
    if (!path.starts_with(group) || path.find('.', group.size()) != std::string::npos) continue;
    const auto value = [i](const T& of) {
      T copy = of;  // fields are bound to what can be changed
      return field_json(cluster::fields(copy)[i]);
    };
    out.add({{path.substr(group.size()), known[i].text, value, WithSchema{field_schema(known[i])}}});
  }
  return out;
}

}  // namespace orrery::verbs
