#include "orrery/describe/machine/fan_out_name.h"

#include <fmt/format.h>

namespace orrery::machine {
namespace {

constexpr std::string_view kBefore = "inter_";
constexpr std::string_view kAfter = "_spatial";

}  // namespace

std::string fan_out_name(std::string_view container) {
  return fmt::format("{}{}{}", kBefore, container, kAfter);
}

std::string_view container_of(std::string_view storage_name) {
  const bool named = storage_name.size() > kBefore.size() + kAfter.size() && storage_name.starts_with(kBefore) &&
                     storage_name.ends_with(kAfter);
  return named ? storage_name.substr(kBefore.size(), storage_name.size() - kBefore.size() - kAfter.size())
               : std::string_view();
}

}  // namespace orrery::machine
