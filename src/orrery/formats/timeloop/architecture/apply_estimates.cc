#include "orrery/formats/timeloop/architecture/apply_estimates.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/timeloop/architecture/prices.h"

namespace orrery::formats::timeloop {
namespace {

class Estimates : public PriceSource {
 public:
  explicit Estimates(std::span<const energy::EstimatedComponent> all) {
    for (const energy::EstimatedComponent& one : all) by_name_.emplace(one.name, &one);
  }

  const energy::EstimatedComponent* find(std::string_view component) const {
    const auto known = by_name_.find(component);
    return known == by_name_.end() ? nullptr : known->second;
  }
  // A component without actions has no entry in an ERT.
  bool has(const std::string& component) override {
    const auto* one = find(component);
    return one != nullptr && !one->actions.empty();
  }
  Prices prices(const std::string& component) override {
    Prices prices;
    for (const energy::EstimatedAction& action : find(component)->actions) {
      base::Count destinations = 1;
      if (const energy::Value* given = energy::find(action.arguments, "num_destinations")) {
        if (const auto count = energy::number(*given)) destinations = base::saturated(*count);
      }
      prices.add(action.name, destinations, action.energy_pj);
    }
    return prices;
  }
  // The reader of the components sees to it that the actions a level needs are asked for.
  void no_entry(const std::string& component, const base::Location&) override {
    ORRERY_CHECK(false, fmt::format("`{}` has not been estimated", component));
  }
  void no_action(const std::string& component, std::string_view what, ActionNames) override {
    ORRERY_CHECK(false, fmt::format("`{}` of `{}` has not been estimated", what, component));
  }
  double instead_of(const std::string& component, std::string_view what, ActionNames names) override {
    no_action(component, what, names);
    return 0;
  }

 private:
  std::map<std::string_view, const energy::EstimatedComponent*, std::less<>> by_name_;
};

}  // namespace

std::optional<Prices> prices_in(std::span<const energy::EstimatedComponent> estimates, const std::string& component) {
  Estimates source(estimates);
  if (!source.has(component)) return std::nullopt;
  return source.prices(component);
}

void apply_estimates(std::span<const energy::EstimatedComponent> estimates, machine::Chip& chip) {
  Estimates source(estimates);
  apply_prices(source, chip);
  const auto area = [&](const std::string& name, std::optional<double>& area_um2) {
    const auto* one = source.find(name);
    if (one != nullptr && !area_um2) area_um2 = one->area_um2;
  };
  for (machine::Storage& storage : chip.storages) area(storage.name, storage.area_um2);
  for (machine::Network& network : chip.networks) area(network.name, network.area_um2);
  area(chip.compute.name, chip.compute.area_um2);
}

}  // namespace orrery::formats::timeloop
