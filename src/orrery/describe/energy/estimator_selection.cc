#include "orrery/describe/energy/estimator_selection.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

// Names that descriptions written for Accelergy use in `plug_in`.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAccelergyNames{{
    {"cactisram", "sram"},
    {"cactidram", "dram"},
    {"library", "library"},
    {"aladdin_table", "aladdin"},
    {"table-based-plug-ins", "table"},
    {"dummy_table", "dummy"},
}};

std::string our_name(const std::string& wanted) {
  const std::string name = base::lower(wanted);
  for (const auto& [theirs, ours] : kAccelergyNames)
    if (name == theirs) return std::string(ours);
  return name;
}

// What classes in other descriptions usually stand for: part of their names, in lower case, and our classes.
struct Kin {
  std::string_view part;
  std::array<std::string_view, 2> classes;
};
constexpr auto kKin = std::to_array<Kin>({{"regfile", {"regfile", "SRAM"}},
                                          {"reg_file", {"regfile", "SRAM"}},
                                          {"register_file", {"regfile", "SRAM"}},
                                          {"reg", {"register", ""}},
                                          {"dram", {"DRAM", ""}},
                                          {"hbm", {"DRAM", ""}},
                                          {"buffer", {"SRAM", ""}},
                                          {"cache", {"SRAM", ""}},
                                          {"scratchpad", {"SRAM", ""}},
                                          {"spad", {"SRAM", ""}},
                                          {"storage", {"SRAM", ""}},
                                          {"memory", {"SRAM", "DRAM"}},
                                          {"ram", {"SRAM", "DRAM"}},
                                          {"fp_mac", {"fpmac", ""}},
                                          {"fmac", {"fpmac", ""}},
                                          {"fma", {"fpmac", ""}},
                                          {"mac", {"intmac", "fpmac"}},
                                          {"compute", {"intmac", "fpmac"}},
                                          {"add", {"intadder", "fpadder"}},
                                          {"mul", {"intmultiplier", "fpmultiplier"}},
                                          {"noc", {"router", "wire"}},
                                          {"link", {"wire", ""}},
                                          {"bus", {"wire", ""}}});

std::vector<std::string> kin_of(std::string_view class_name, const std::vector<std::string>& classes) {
  const std::string name = base::lower(class_name);
  for (const Kin& kin : kKin) {
    if (name.find(kin.part) == std::string::npos) continue;
    std::vector<std::string> known;
    for (std::string_view one : kin.classes)
      if (std::find(classes.begin(), classes.end(), one) != classes.end()) known.push_back(fmt::format("`{}`", one));
    if (!known.empty()) return known;
  }
  return {};
}

// Why the attributes of a query exclude an estimator; empty: they do not.
std::string kept_out(const Query& query, std::string_view name, double accuracy) {
  if (const Value* wanted = find(query.attributes, "plug_in"); wanted && our_name(text(*wanted)) != name)
    return fmt::format("`plug_in` asks for `{}`", text(*wanted));
  if (const Value* least = find(query.attributes, "minimum_accuracy")) {
    const auto bound = number(*least);
    if (!bound) return fmt::format("`minimum_accuracy` is not a number, but `{}`", text(*least));
    if (accuracy < *bound)
      return fmt::format("its accuracy of {:g} % is below `minimum_accuracy`, {:g} %", accuracy, *bound);
  }
  if (const Value* instances = find(query.attributes, "n_instances")) {
    const auto count = number(*instances);
    if (!count || *count < 0) return fmt::format("`n_instances` is not a count, but `{}`", text(*instances));
  }
  return {};
}

}  // namespace

Choice choose(const Query& query, std::span<const std::unique_ptr<Estimator>> estimators) {
  Choice choice;
  std::vector<std::pair<double, const Estimator*>> candidates;
  std::vector<Declined> strangers;
  for (const auto& estimator : estimators) {
    if (const auto accuracy = estimator->accuracy(query))
      candidates.push_back({*accuracy, estimator.get()});
    else
      strangers.push_back({std::string(estimator->name()), "does not know this class", false, {}});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Declined> gave_up;
  for (const auto& [accuracy, estimator] : candidates) {
    std::string reason = kept_out(query, estimator->name(), accuracy), way_out;
    if (reason.empty()) {
      Answer answer = estimator->estimate(query);
      if (auto* figure = std::get_if<Figure>(&answer)) {
        if (std::isfinite(figure->value) && figure->value >= 0) {
          choice.figure = std::move(*figure);
          choice.refusals.clear();
          choice.gave_up = std::move(gave_up);
          const Value* instances = find(query.attributes, "n_instances");
          if (instances && (query.wants_area() || query.action == "leak"))
            choice.figure->value *= number(*instances).value_or(1);
          return choice;
        }
        reason = fmt::format("computed {:g}, which cannot be used ({})", figure->value, figure->source);
      } else {
        reason = std::get<Refusal>(answer).reason;
        way_out = std::get<Refusal>(answer).way_out;
      }
      gave_up.push_back({std::string(estimator->name()), reason, true, {}});
    }
    choice.refusals.push_back({std::string(estimator->name()), std::move(reason), true, std::move(way_out)});
  }
  choice.refusals.insert(choice.refusals.end(), strangers.begin(), strangers.end());
  return choice;
}

void explain(const std::vector<Declined>& refusals, const Primitive& primitive,
             std::span<const std::unique_ptr<Estimator>> estimators, base::Diagnostic& error) {
  std::vector<std::string> strangers;
  bool known = false;
  for (const Declined& declined : refusals) {
    known |= declined.knows_class;
    if (declined.knows_class)
      error.note(fmt::format("{}: {}", declined.estimator, declined.reason));
    else
      strangers.push_back(declined.estimator);
  }
  if (!strangers.empty())
    error.note(fmt::format("{}: {} not know class `{}`", base::joined(strangers, ", "),
                           base::plural(strangers.size(), "does", "do"), primitive.class_name));
  if (refusals.empty()) error.note("no estimator is available");

  if (const Value* wanted = find(primitive.attributes, "plug_in")) {
    std::vector<std::string> names;
    for (const auto& estimator : estimators) names.emplace_back(estimator->name());
    const std::string meant = our_name(text(*wanted));
    if (std::find(names.begin(), names.end(), meant) == names.end())
      error.hint(base::did_you_mean(meant, names, fmt::format("`plug_in` may name {}", base::joined(names, ", "))));
  }
  std::vector<std::string> ways_out;
  for (const Declined& declined : refusals)
    if (!declined.way_out.empty() && std::find(ways_out.begin(), ways_out.end(), declined.way_out) == ways_out.end())
      ways_out.push_back(declined.way_out);
  for (std::string& way_out : ways_out) error.hint(std::move(way_out));
  if (known) return;
  std::vector<std::string> classes;
  for (const auto& estimator : estimators)
    for (std::string& name : estimator->classes()) classes.push_back(std::move(name));
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  const std::vector<std::string> kin = kin_of(primitive.class_name, classes);
  if (base::closest(primitive.class_name, classes).empty() && !kin.empty())
    error.hint(fmt::format("a similar class with figures is {}", base::joined(kin, " or ")));
  error.hint(base::did_you_mean(primitive.class_name, classes,
                                "describe the class as a compound component, or give a table for it with `--tables`; "
                                "`orrery explain O1201` lists the classes that have figures"));
}

}  // namespace orrery::energy
