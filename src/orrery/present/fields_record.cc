#include "orrery/present/fields_record.h"

namespace orrery::verbs {

Json field_json(const base::Field& field) {
  return std::visit([](const auto& value) { return Json(value); }, field.get());
}

Json field_schema(const base::Field& field) {
  Json schema =
      std::visit([](const auto& value) { return Leaf::schema<std::decay_t<decltype(value)>>(); }, field.get());
  if (!field.choices.empty()) restrict(schema, field.choices);
  return schema;
}

}  // namespace orrery::verbs
