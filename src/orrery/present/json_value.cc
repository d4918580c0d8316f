#include "orrery/present/json_value.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace orrery::verbs {
namespace {

using Printed = nlohmann::ordered_json;

struct ToPrinted {
  template <typename Scalar>
  Printed operator()(const Scalar& scalar) const {
    return scalar;
  }
  Printed operator()(const Json::List& list) const {
    Printed out = Printed::array();
    for (const Json& each : list) out.push_back(std::visit(*this, each.value()));
    return out;
  }
  Printed operator()(const Json::Object& object) const {
    Printed out = Printed::object();
    for (const auto& [key, each] : object) out[key] = std::visit(*this, each.value());
    return out;
  }
};

}  // namespace

Json& Json::operator[](std::string_view key) {
  auto& object = std::get<Object>(value_);
  const auto at = std::find_if(object.begin(), object.end(), [&](const auto& entry) { return entry.first == key; });
  return at == object.end() ? object.emplace_back(key, Json()).second : at->second;
}

std::string json_quoted(std::string_view text) {
  return Printed(std::string(text)).dump(-1, ' ', false, Printed::error_handler_t::replace);
}

std::string text(const Json& json) {
  return std::visit(ToPrinted(), json.value()).dump(2, ' ', false, Printed::error_handler_t::replace) + "\n";
}

}  // namespace orrery::verbs
