// Asks for each primitive's figures and adds them up.
//
// Many components share primitives, and actions of one component share figures, so answers are kept by query:
// the class, the attributes, the action and its arguments, as text. An estimator is asked once for each.
// Cost: one text per primitive and one look-up per term; the estimators do the work.
#include "orrery/describe/energy/estimate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/energy/estimator_selection.h"
#include "orrery/describe/machine/ranges.h"

namespace orrery::energy {
namespace {

std::string key(const Attributes& attributes) {
  std::string key;
  for (const auto& [name, value] : attributes) {
    key += name;
    key += '\x1f';
    key += static_cast<char>('0' + value.index());  // an estimator may distinguish the text "8" from the number 8
    key += text(value);
    key += '\x1e';
  }
  return key;
}

class Estimation {
 public:
  Estimation(std::span<const std::unique_ptr<Estimator>> estimators, const EstimateOptions& options,
             base::Diagnostics& found)
      : estimators_(estimators), options_(options), found_(found) {}

  EstimatedComponent component(const Component& component) {
    component_ = &component;
    unknown_.assign(component.primitives.size(), {});
    beyond_.assign(component.primitives.size(), {});
    keys_.clear();
    for (const Primitive& primitive : component.primitives)
      keys_.push_back(primitive.class_name + '\x1d' + key(primitive.attributes) + '\x1d');

    EstimatedComponent estimated;
    estimated.name = component.name;
    estimated.table_name = component.table_name;
    estimated.class_name = component.class_name;
    estimated.count = component.instances;
    for (const Action& action : component.actions) {
      EstimatedAction& one = estimated.actions.emplace_back();
      one.name = action.name;
      one.arguments = action.arguments;
      for (const Term& term : action.terms) add(one.shares, term.primitive, term.action, term.arguments, term.weight);
      one.energy_pj = sum(one.shares, fmt::format("the energy of `{}`", action.name), "pJ");
      describe(one.shares, one.accuracy_percent, one.source);
    }
    for (std::size_t i = 0; i < component.primitives.size(); ++i)
      add(estimated.area_shares, i, {}, kNoArguments, component.primitives[i].area_weight);
    estimated.area_um2 = sum(estimated.area_shares, "the area", "um^2");
    describe(estimated.area_shares, estimated.area_accuracy_percent, estimated.area_source);
    report_unknown();
    mention_beyond();
    return estimated;
  }

 private:
  inline static const Attributes kNoArguments;

  // An action of a primitive, or its area, and who answered.
  struct Asked {
    std::string action;  // empty: area
    const Choice* choice;
  };

  // A figure that is multiplied by zero need not be known.
  void add(std::vector<Share>& shares, std::size_t index, const std::string& action, const Attributes& arguments,
           double weight) {
    if (weight == 0) return;
    const Primitive& primitive = component_->primitives.at(index);
    const Query query{primitive.class_name, primitive.attributes, action, arguments};
    auto [at, is_new] = answers_.try_emplace(keys_[index] + action + '\x1d' + key(arguments));
    if (is_new) at->second = choose(query, estimators_);
    const Choice& choice = at->second;
    if (!choice.figure) {
      unknown_[index].push_back({action, &choice});
      return;
    }
    if (!options_.insisted_on.empty()) mention_given_up(primitive, keys_[index], choice);
    if (!choice.figure->beyond.empty()) beyond_[index].push_back({action, &choice});
    shares.push_back({primitive.path, action, weight, *choice.figure});
  }

  // Once for each primitive and reason: usually all its actions fail for the same reason.
  void mention_given_up(const Primitive& primitive, const std::string& key, const Choice& choice) {
    for (const Declined& declined : choice.gave_up) {
      if (declined.estimator != options_.insisted_on || !mentioned_.insert(key + declined.reason).second) continue;
      found_
          .warning("O1256", fmt::format("{} gives no figure of {}", options_.insisted_as, name_of(primitive)),
                   primitive.where)
          .note(fmt::format("{}: {}", declined.estimator, declined.reason))
          .note(fmt::format("`{}` answers instead: {}", choice.figure->estimator, choice.figure->source))
          .hint("check that this is the right program and that it runs by itself, or leave the option out");
    }
  }

  std::string name_of(const Primitive& primitive) const {
    return primitive.path == component_->name ? fmt::format("`{}`", component_->name)
                                              : fmt::format("`{}` in `{}`", primitive.path, component_->name);
  }

  // Once for each primitive of its own: compounds repeat them, and so do the actions of one.
  void mention_beyond() {
    for (std::size_t i = 0; i < beyond_.size(); ++i) {
      if (beyond_[i].empty()) continue;
      const Primitive& primitive = component_->primitives[i];
      const std::vector<std::string>& bounds = beyond_[i].front().choice->figure->beyond;
      if (!mentioned_.insert(fmt::format("{}\n{}{}", component_->name, keys_[i], base::joined(bounds, "\n"))).second)
        continue;
      auto& warning = found_.warning(
          "O1263", fmt::format("{} is outside the range of its estimator", name_of(primitive)), primitive.where);
      for (const std::string& bound : bounds) warning.note(bound);
      std::vector<std::string> errors, unmeasured, rules;
      for (const Asked& one : beyond_[i]) {
        const Figure& figure = *one.choice->figure;
        const std::string what = one.action.empty() ? "area" : one.action;
        std::vector<std::string>& list = figure.expected_error_percent ? errors : unmeasured;
        std::string error = figure.expected_error_percent
                                ? fmt::format("{:.0f} % ({})", *figure.expected_error_percent, what)
                                : fmt::format("`{}`", what);
        if (std::find(list.begin(), list.end(), error) == list.end()) list.push_back(std::move(error));
        if (!figure.node_rule.empty() && std::find(rules.begin(), rules.end(), figure.node_rule) == rules.end())
          rules.push_back(figure.node_rule);
      }
      if (!rules.empty()) warning.note(fmt::format("technology: {}", base::joined(rules, "; ")));
      warning.note(fmt::format("`{}` extrapolates; {}", beyond_[i].front().choice->figure->estimator,
                               errors.empty()
                                   ? std::string("the error of its figures was not measured")
                                   : fmt::format("its figures may be off by {}", base::joined(errors, ", "))));
      if (!errors.empty() && !unmeasured.empty())
        warning.note(fmt::format("the error of {} was not measured", base::joined(unmeasured, ", ")));
      warning.hint("give figures of this component with `--tables`, or describe one within this range");
    }
  }

  double sum(const std::vector<Share>& shares, const std::string& what, const char* unit) {
    double sum = 0;
    for (const Share& share : shares) sum += share.weight * share.figure.value;
    if (machine::in_range(sum)) return six_digits(sum);
    auto& error = found_.error("O1202", fmt::format("{} of `{}` comes out as {:g}", what, component_->name, sum),
                               component_->where);
    for (const Share& share : shares)
      error.note(fmt::format("{:g} x {:g} of `{}` ({})", share.weight, share.figure.value, share.primitive,
                             share.figure.source));
    if (std::isfinite(sum)) error.note(machine::range_broken(sum, unit));
    error.hint("check the scales and the sizes of this component");
    return 0;
  }

  static void describe(const std::vector<Share>& shares, double& accuracy, std::string& source) {
    accuracy = 100;
    std::vector<std::string> sources;
    for (const Share& share : shares) {
      accuracy = std::min(accuracy, share.figure.accuracy_percent);
      std::string one = fmt::format("{}: {}", share.figure.estimator, share.figure.source);
      if (std::find(sources.begin(), sources.end(), one) == sources.end()) sources.push_back(std::move(one));
    }
    source = sources.empty() ? "nothing counts" : base::joined(sources, "; ");
  }

  // One message for each primitive and set of reasons; compounds repeat primitives of a class, and actions reasons.
  void report_unknown() {
    std::vector<std::pair<std::size_t, std::vector<Asked>>> groups;
    for (std::size_t i = 0; i < unknown_.size(); ++i) {
      for (const Asked& missing : unknown_[i]) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
          return component_->primitives[group.first].class_name == component_->primitives[i].class_name &&
                 group.second.front().choice->refusals == missing.choice->refusals;
        });
        if (same == groups.end()) {
          groups.push_back({i, {missing}});
        } else if (std::none_of(same->second.begin(), same->second.end(),
                                [&](const Asked& other) { return other.action == missing.action; })) {
          same->second.push_back(missing);
        }
      }
    }
    for (const auto& [index, missing] : groups) report(component_->primitives[index], missing);
  }

  void report(const Primitive& primitive, const std::vector<Asked>& missing) {
    std::vector<std::string> actions;
    bool area = false;
    for (const Asked& one : missing) {
      if (one.action.empty())
        area = true;
      else
        actions.push_back(fmt::format("`{}`", one.action));
    }
    std::string what = actions.empty() ? "" : fmt::format("the energy of {}", base::joined(actions, ", "));
    if (area) what += actions.empty() ? "the area" : " and the area";
    auto& error = found_.error(
        "O1201", fmt::format("no estimator has {} of {}, class `{}`", what, name_of(primitive), primitive.class_name),
        primitive.where);
    explain(missing.front().choice->refusals, primitive, estimators_, error);
  }

  std::span<const std::unique_ptr<Estimator>> estimators_;
  const EstimateOptions& options_;
  base::Diagnostics& found_;
  std::set<std::string> mentioned_;
  std::unordered_map<std::string, Choice> answers_;  // references into it stay valid
  const Component* component_ = nullptr;
  std::vector<std::string> keys_;            // of the component's primitives
  std::vector<std::vector<Asked>> unknown_;  // of the component's primitives
  std::vector<std::vector<Asked>> beyond_;   // of the component's primitives
};

}  // namespace

double six_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  char buffer[32];
  std::from_chars(buffer, std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific, 5).ptr, value);
  return value;
}

std::vector<EstimatedComponent> estimate(std::span<const Component> components,
                                         std::span<const std::unique_ptr<Estimator>> estimators,
                                         const EstimateOptions& options, base::Diagnostics& found) {
  Estimation estimation(estimators, options, found);
  std::vector<EstimatedComponent> estimated;
  estimated.reserve(components.size());
  for (const Component& component : components) estimated.push_back(estimation.component(component));
  return estimated;
}

}  // namespace orrery::energy
