#include "orrery/verbs/sweep/points/study.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"

namespace orrery::sweep {
namespace {

// Options that say what is written or how long it takes, not what is asked.
constexpr const char* kOfNoPoint[] = {"dot",           "force", "hdf5", "json", "latency-svg", "no-color", "output",
                                      "output_config", "quiet", "seed", "svg",  "threads",     "trace"};

// The paths of `--set`.
std::set<std::string> settings_in(const std::vector<std::string>& arguments) {
  constexpr std::string_view kSet = "--set";
  std::set<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string text = arguments[i];
    if (text == kSet && i + 1 < arguments.size())
      text = arguments[++i];
    else if (text.starts_with("--set="))
      text.erase(0, kSet.size() + 1);
    else
      continue;
    out.insert(text.substr(0, text.find('=')));
  }
  return out;
}

}  // namespace

std::vector<const Axis*> Study::axes() const {
  std::vector<const Axis*> out;
  for (const Group& group : groups)
    for (const Axis& axis : group.axes) out.push_back(&axis);
  return out;
}

void Study::check() const {
  base::Diagnostics found;
  std::map<std::string, const Axis*> seen;
  const std::set<std::string> settings = settings_in(arguments);
  double points = 1;
  std::string product;
  for (const Group& group : groups) {
    for (const Axis& axis : group.axes) {
      if (settings.count(axis.path) > 0)
        found.error("O2060", fmt::format("`{}` varies, and `--set` gives it a value", axis.path), axis.where)
            .hint("leave `--set` out, or do not let it vary");
      if (std::find(std::begin(kOfNoPoint), std::end(kOfNoPoint), axis.path) != std::end(kOfNoPoint))
        found.error("O2059", fmt::format("no point depends on `{}`", axis.path), axis.where)
            .note("it says what is written, or how it is computed, not what is asked")
            .hint("leave it out");
      const auto [first, fresh] = seen.emplace(axis.path, &axis);
      if (!fresh)
        found.error("O2060", fmt::format("`{}` varies twice", axis.path), axis.where)
            .also(first->second->where, "here first")
            .hint("give all its values at one place");
      if (axis.values.size() != group.size())
        found
            .error("O2046",
                   fmt::format("`{}` has {} values, `{}` beside it {}", axis.path, axis.values.size(),
                               group.axes.front().path, group.size()),
                   axis.where)
            .also(group.axes.front().where, fmt::format("{} values", group.size()))
            .hint("fields side by side need as many values each; fields of their own are multiplied");
    }
    points *= static_cast<double>(group.size());
    product += fmt::format("{}{}", product.empty() ? "" : " x ", group.size());
  }
  if (groups.empty())
    found.error("O2047", "nothing varies").hint("say what does: `--vary arch.Scratchpad.depth=16Ki..64Ki:x2`");
  const std::vector<store::Figure>& figures = figures_of(verb);
  const auto need = [&](store::Figure figure, const std::string& name, const base::Location& place) {
    if (figures.empty() || std::find(figures.begin(), figures.end(), figure) != figures.end()) return;
    std::vector<std::string> names;
    for (const store::Figure each : figures) names.emplace_back(name_of(each));
    found.error("O2051", fmt::format("points of `{}` have no `{}`", verb, name), place)
        .hint(fmt::format("figures of `{}` are {}", verb, base::joined(names, ", ")));
  };
  for (const Objective& objective : objectives) need(objective.figure, objective.name, objective.where);
  for (const Budget& budget : budgets) need(budget.figure, std::string(name_of(budget.figure)), budget.where);
  if (points > kMostPoints)
    found.error("O2048", fmt::format("the study has {} points", base::grouped(points)))
        .note(fmt::format("{}; at most {} can be numbered", product, base::grouped(kMostPoints)))
        .hint("take fewer values, or let fields go side by side");
  found.throw_if_errors();
}

Point Study::points() const {
  Point out = 1;
  for (const Group& group : groups) out *= group.size();
  return out;
}

base::Overrides Study::at(Point point) const {
  std::size_t fields = 0;
  for (const Group& group : groups) fields += group.axes.size();
  base::Overrides out(fields);
  std::size_t place = fields;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const std::size_t index = point % group->size();
    point /= group->size();
    place -= group->axes.size();
    for (std::size_t i = 0; i < group->axes.size(); ++i)
      out[place + i] = {group->axes[i].path, group->axes[i].values[index]};
  }
  return out;
}

bool Study::wanted(const base::Overrides& values) const {
  return std::all_of(where.begin(), where.end(), [&](const Filter& filter) { return filter.keeps(values); });
}

std::string Study::identity() const {
  std::string out = pins == Pins::kScripts ? verb + "\x1fpins" : verb;
  for (const std::string& argument : arguments) out += '\x1f' + argument;
  for (const Group& group : groups) {
    out += '\x1e';
    for (const Axis& axis : group.axes) {
      out += '\x1d' + axis.path;
      for (const std::string& value : axis.values) out += '\x1c' + value;
    }
  }
  return out;
}

std::string Study::asked() const {
  std::string out;
  for (const Objective& objective : objectives) out += objective.name + ' ';
  for (const Budget& budget : budgets) out += fmt::format("{}<={} ", store::column(budget.figure), budget.most);
  for (const Filter& filter : where) out += "where " + filter.text() + ' ';
  return out;
}

}  // namespace orrery::sweep
