// energy of a part = sum over its actions of uses x energy of one; leakage = instances x cycles x energy of one cycle.
// Cost: an estimate a part, some dozens.
#include "orrery/verbs/sparse/array_price.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

energy::Component component_of(const ArrayPart& part, const std::string& technology, double hertz) {
  energy::Component out;
  out.name = out.table_name = part.name;
  out.class_name = part.class_name;
  energy::Attributes attributes = part.attributes;
  attributes["technology"] = technology;
  attributes["global_cycle_seconds"] = 1 / hertz;
  out.attributes = attributes;
  out.primitives.push_back({part.name, part.class_name, attributes, part.outside ? 0.0 : 1.0, {}});
  for (const auto& [action, uses] : part.uses) out.actions.push_back({action, {}, {{0, action, {}, 1}}});
  if (!part.outside) out.actions.push_back({"leak", {}, {{0, "leak", {}, 1}}});
  return out;
}

void note(const std::vector<energy::Share>& shares, PricedPart& part) {
  const auto add = [](std::vector<std::string>& to, const std::string& one) {
    if (!one.empty() && std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  };
  for (const energy::Share& share : shares) {
    add(part.basis, std::string(energy::name(share.figure.basis)));
    add(part.sources, fmt::format("{}: {}", share.figure.estimator, share.figure.source));
    for (const std::string& bound : share.figure.beyond) add(part.sources, "extrapolated: " + bound);
    add(part.sources, share.figure.node_rule);
  }
}

// What one estimator does not know, it mostly knows of no part: the first stands for all.
[[noreturn]] void refuse(const base::Diagnostics& found) {
  std::vector<base::Diagnostic> errors;
  for (const base::Diagnostic& one : found.all())
    if (one.severity == base::Severity::kError) errors.push_back(one);
  base::Diagnostic first = errors.front();
  if (errors.size() > 1) first.note(fmt::format("and {} other parts, likewise", errors.size() - 1));
  first.hint("take another `--technology`, `--dram` or `--frequency`");
  throw base::InputError({first});
}

}  // namespace

ArrayPrice price_parts(const std::vector<ArrayPart>& parts, const std::string& technology, double hertz, double cycles,
                       Estimators& estimators) {
  std::vector<energy::Component> components;
  for (const ArrayPart& part : parts) components.push_back(component_of(part, technology, hertz));
  base::Diagnostics found;
  // What lies beyond an estimator's range is told beside the figure, as its basis.
  const Estimates estimates = estimators.estimate(components, found);
  if (estimates == nullptr) refuse(found);
  ArrayPrice out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const energy::EstimatedComponent& known = (*estimates)[i];
    PricedPart one;
    one.name = parts[i].name;
    one.instances = parts[i].instances;
    for (std::size_t a = 0; a < parts[i].uses.size(); ++a) {
      one.uses += parts[i].uses[a].second;
      one.energy_pj += parts[i].uses[a].second * known.actions[a].energy_pj;
      note(known.actions[a].shares, one);
    }
    if (!parts[i].outside) {
      one.leakage_pj = one.instances * cycles * known.actions.back().energy_pj;
      one.area_um2 = one.instances * known.area_um2;
      note(known.actions.back().shares, one);
      note(known.area_shares, one);
    }
    out.energy_pj += one.energy_pj + one.leakage_pj;
    out.leakage_pj += one.leakage_pj;
    out.area_um2 += one.area_um2;
    out.parts.push_back(std::move(one));
  }
  return out;
}

}  // namespace orrery::verbs
