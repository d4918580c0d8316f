#include "orrery/inputs/layers/changed_tables.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/components/energy_table_text.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::ReadOptions;
using Components = std::vector<energy::Component>;

constexpr std::size_t kMostNotes = 4;

struct Change {
  std::string what;
  double before = 0, after = 0;
  double size() const { return before > 0 && after > 0 ? std::abs(std::log(after / before)) : HUGE_VAL; }
};

// Figures of components that both chips have.
std::vector<Change> changes(const std::vector<energy::EstimatedComponent>& before,
                            const std::vector<energy::EstimatedComponent>& after) {
  std::vector<Change> out;
  const auto compare = [&](const std::string& what, double a, double b) {
    if (a != b) out.push_back({what, a, b});
  };
  for (const energy::EstimatedComponent& one : before) {
    const auto other =
        std::find_if(after.begin(), after.end(), [&](const auto& each) { return each.name == one.name; });
    if (other == after.end()) continue;
    compare(fmt::format("area of `{}`", one.name), one.area_um2, other->area_um2);
    for (std::size_t a = 0; a < std::min(one.actions.size(), other->actions.size()); ++a)
      if (one.actions[a].name == other->actions[a].name)
        compare(fmt::format("`{}` of `{}`", one.actions[a].name, one.name), one.actions[a].energy_pj,
                other->actions[a].energy_pj);
  }
  std::stable_sort(out.begin(), out.end(), [](const Change& a, const Change& b) { return a.size() > b.size(); });
  return out;
}

// How many words move in a cycle, and how many tiles a storage holds at once, change no energy of an access and no
// area.
bool changes_no_figure(const std::string& attribute) {
  return attribute.find("bandwidth") != std::string::npos || attribute == "multiple_buffering";
}

// "depth of `GlobalBuffer`": attributes that are others and may change a figure.
std::vector<std::string> changed_attributes(const Components& before, const Components& after) {
  std::vector<std::string> out;
  for (const energy::Component& one : before) {
    const auto other =
        std::find_if(after.begin(), after.end(), [&](const auto& each) { return each.name == one.name; });
    if (other == after.end()) continue;
    for (const auto& [key, value] : other->attributes) {
      const auto known = one.attributes.find(key);
      if (!changes_no_figure(key) && (known == one.attributes.end() || !(known->second == value)))
        out.push_back(fmt::format("`{}` of `{}`", key, one.name));
    }
  }
  return out;
}

}  // namespace

void warn_of_changed_tables(const std::vector<std::shared_ptr<const base::SourceFile>>& files, ReadOptions how,
                            Estimators& estimators, base::Diagnostics& found) {
  if (how.overrides.empty()) return;
  how.tables_wanted = how.mapped = how.mapping_wanted = how.energies_required = false;
  const base::Overrides overrides = std::exchange(how.overrides, {});
  std::vector<Change> changed;
  std::vector<std::string> attributes;  // where nothing is estimated
  try {
    const Documents given = Documents::gather(files, how);
    if (given.find("ERT") == nullptr && given.find("ART") == nullptr) return;
    const Components before = given.read().components;
    how.overrides = overrides;
    const Components after = Documents::gather(files, how).read().components;
    if (formats::timeloop::flattened_text(before) == formats::timeloop::flattened_text(after)) return;
    base::Diagnostics unsaid;
    const Estimates one = estimators.estimate(before, unsaid), other = estimators.estimate(after, unsaid);
    if (one && other)
      changed = changes(*one, *other);
    else
      attributes = changed_attributes(before, after);
  } catch (const base::InputError&) {  // nothing to compare with; the reading itself says what is refused
    return;
  }
  if (changed.empty() && attributes.empty()) return;
  std::vector<std::string> paths;
  for (const base::Override& set : overrides) paths.push_back(set.path);
  auto& warning =
      found.warning("O1265", fmt::format("energies and areas stay as the ERT and the ART say, although `{}` "
                                         "{} set",
                                         base::joined(paths, "`, `"), base::plural(paths.size(), "is", "are")));
  warning.primary.where = base::OverrideText(overrides.front()).path();
  warning.note("these tables were made for the chip without it");
  for (std::size_t i = 0; i < std::min(kMostNotes, changed.size()); ++i)
    warning.note(fmt::format("estimates of {}: {:.4g} {} without it, {:.4g} {} with it", changed[i].what,
                             changed[i].before, changed[i].what.starts_with("area") ? "um^2" : "pJ", changed[i].after,
                             changed[i].what.starts_with("area") ? "um^2" : "pJ"));
  if (changed.size() > kMostNotes) warning.note(fmt::format("and {} more", changed.size() - kMostNotes));
  if (changed.empty())
    warning
        .note(fmt::format("changed: {}; what that comes to cannot be estimated for this chip",
                          base::joined(attributes, ", ")))
        .hint("give an ERT of the changed chip; cycles follow what is set in any case");
  else
    warning.hint("`orrery sweep map` with `--vary` in place of `--set` estimates them, `orrery energy` shows them");
}

}  // namespace orrery::verbs
