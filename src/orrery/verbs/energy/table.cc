#include "orrery/verbs/energy/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/energy/origin_text.h"

namespace orrery::verbs {
namespace {

// Estimator, basis, accuracy and source of a figure, once each.
class Sources {
 public:
  // Numbers of the addends' sources: "1, 3".
  std::string numbers(const std::vector<energy::Share>& shares) {
    std::vector<std::size_t> all;
    for (const energy::Share& share : shares) {
      const energy::Figure& figure = share.figure;
      const std::vector<std::string> row = {figure.estimator, std::string(energy::name(figure.basis)),
                                            fmt::format("{:g}", figure.accuracy_percent), figure.source};
      auto known = std::find(rows_.begin(), rows_.end(), row);
      if (known == rows_.end()) known = rows_.insert(rows_.end(), row);
      const auto number = static_cast<std::size_t>(known - rows_.begin()) + 1;
      if (std::find(all.begin(), all.end(), number) == all.end()) all.push_back(number);
    }
    std::sort(all.begin(), all.end());
    return all.empty() ? "-" : base::joined(all, ", ");
  }

  std::string list() const {
    std::string out = "from:\n";
    for (std::size_t i = 0; i < rows_.size(); ++i)
      out += fmt::format("{:>4}  {} ({}, {} %): {}\n", i + 1, rows_[i][0], rows_[i][1], rows_[i][2], rows_[i][3]);
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

constexpr double kLeastWithOneDecimal = 0.05;

// What every entry has and no reader looks for.
bool is_propagated(const std::string& argument) {
  return argument == "global_cycle_seconds" || argument == "action_latency_cycles";
}

std::vector<std::string> own_arguments(const energy::EstimatedAction& action) {
  std::vector<std::string> out;
  for (const auto& [name, value] : action.arguments)
    if (!is_propagated(name)) out.push_back(name + "=" + energy::text(value));
  return out;
}

// The entries from `first` to before `end` as one: "transfer_Inputs num_destinations=1 .. num_destinations=16".
std::string action_name(const energy::EstimatedAction& first, const energy::EstimatedAction& last) {
  const std::vector<std::string> from = own_arguments(first);
  const std::vector<std::string> to = own_arguments(last);
  if (from.empty()) return first.name;
  if (from == to) return fmt::format("{} {}", first.name, base::joined(from, " "));
  const std::string end = to.empty() ? "" : to.back().substr(to.back().find('=') + 1);
  return fmt::format("{} {}..{}", first.name, base::joined(from, " "), end);
}

bool alike(const energy::EstimatedAction& a, const energy::EstimatedAction& b) {
  return a.name == b.name && a.energy_pj == b.energy_pj && a.source == b.source && own_arguments(a).size() == 1 &&
         own_arguments(b).size() == 1;
}

std::string percent_or_dash(const std::optional<double>& value) {
  if (!value) return "-";
  // What was measured is never nought; figures of CACTI's own are off by its rounding.
  return *value < kLeastWithOneDecimal ? fmt::format("{:.1g}", *value) : fmt::format("{:.1f}", *value);
}

}  // namespace

std::string energy_table(const std::vector<energy::EstimatedComponent>& components) {
  Sources sources;
  Table table;
  table.header = {"component", "count", "figure", "of one", "unit", "off its tool (%)", "claim (0-100)", "from"};
  table.left_columns = {2, 4, 7};
  for (const energy::EstimatedComponent& component : components) {
    if (!table.rows.empty()) table.rules_before.push_back(table.rows.size());
    table.rows.push_back(
        {component.name, fmt::format("{}", component.count), "area", fmt::format("{:g}", component.area_um2), "um^2",
         percent_or_dash(expected_error_percent(component.area_shares)),
         fmt::format("{:g}", component.area_accuracy_percent), sources.numbers(component.area_shares)});
    for (std::size_t i = 0; i < component.actions.size();) {
      const energy::EstimatedAction& action = component.actions[i];
      std::size_t end = i + 1;
      while (end < component.actions.size() && alike(action, component.actions[end])) ++end;
      table.rows.push_back({"", "", action_name(action, component.actions[end - 1]),
                            fmt::format("{:g}", action.energy_pj), action.name == "leak" ? "pJ/cycle" : "pJ",
                            percent_or_dash(expected_error_percent(action.shares)),
                            fmt::format("{:g}", action.accuracy_percent), sources.numbers(action.shares)});
      i = end;
    }
  }
  std::string out = text(table) + "\n" + sources.list() + "\n";
  out += fmt::format("area of all instances: {:g} mm^2\n", total_area_um2(components) / 1e6);
  out +=
      "off its tool: two thirds of such figures are at most that far from what the imitated tool (CACTI) prints, where "
      "that was measured; it says nothing of silicon\n"
      "claim: accuracy on Accelergy's scale, by which one estimator goes before another; no measured error\n";
  return out;
}

}  // namespace orrery::verbs
