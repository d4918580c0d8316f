#include "orrery/sweep/hw_configs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/whole_number.h"
#include "orrery/formats/json/document.h"
#include "orrery/machine/fan_out_name.h"
#include "orrery/sweep/values.h"

namespace orrery::sweep {
namespace {

using base::Count;
using formats::json::Node;

const std::vector<std::string> kKeys = {"scratchpad_size",
                                        "accumulator_size",
                                        "scratchpad_bandwidth",
                                        "accumulator_bandwidth",
                                        "pe_rows",
                                        "pe_cols",
                                        "dataflow",
                                        "rf_size",
                                        "shared_glb_size",
                                        "shared_glb_bandwidth",
                                        "use_IMC_as_buffer",
                                        "IMC_buffer_bandwidth"};

[[noreturn]] void refuse(const std::string& message, const base::Location& where, const std::string& hint) {
  base::fail("O2058", message, where, hint);
}

std::string value_of(const formats::json::Member& member) {
  const Node& value = member.value;
  if (value.kind == Node::Kind::kTruth) return value.truth ? "true" : "false";
  if (member.key == "dataflow") {
    if (!value.is_text() || (value.text != "WS" && value.text != "IS" && value.text != "OS"))
      refuse(fmt::format("a dataflow is WS, IS or OS, not {}", formats::json::describe(value)), value.where,
             "weights, inputs or outputs stay in the array");
    return value.text;
  }
  if (!value.is_number() || !(value.number > 0))
    refuse(fmt::format("`{}` must be a number above 0, not {}", member.key, formats::json::describe(value)),
           value.where, "write a size, such as 524288");
  return value.text;
}

// Replaces what a level's constraints say of its factors.
class Repinned {
 public:
  Repinned(scenario::LayerQuestion& question, int level, bool spatial)
      : question_(question), level_(level), spatial_(spatial) {
    std::erase_if(question.space.constraints, [&](const nest::Constraint& c) {
      return c.level == level && c.spatial == spatial && c.kind == nest::Constraint::Kind::kFactor;
    });
  }

  // `value` where it divides the bound, else at most so much.
  void factor(const char* dimension, Count value) {
    const int d = question_.einsum.dimension_index(dimension);
    if (d < 0) return;
    nest::Constraint c;
    c.kind = nest::Constraint::Kind::kFactor;
    c.level = level_;
    c.spatial = spatial_;
    c.dimension = d;
    c.value = value;
    const bool whole = question_.einsum.dimensions[static_cast<std::size_t>(d)].bound % value == 0;
    c.comparison = whole ? nest::Comparison::kEqual : nest::Comparison::kAtMost;
    c.text = fmt::format("{}{}{} of the configuration", dimension, whole ? "=" : "<=", value);
    question_.space.constraints.push_back(std::move(c));
  }

 private:
  scenario::LayerQuestion& question_;
  int level_;
  bool spatial_;
};

// Only that dataspace.
void keep_only(scenario::LayerQuestion& question, int level, const std::string& dataspace) {
  std::erase_if(question.space.constraints,
                [&](const nest::Constraint& c) { return c.level == level && c.kind == nest::Constraint::Kind::kKeep; });
  for (std::size_t s = 0; s < question.einsum.dataspaces.size(); ++s) {
    nest::Constraint c;
    c.kind = nest::Constraint::Kind::kKeep;
    c.level = level;
    c.dataspace = static_cast<int>(s);
    c.keep = question.einsum.dataspaces[s].name == dataspace;
    c.text = fmt::format("{} {} of the configuration", c.keep ? "keep" : "bypass", question.einsum.dataspaces[s].name);
    question.space.constraints.push_back(std::move(c));
  }
}

}  // namespace

std::vector<Group> read_configs(const std::shared_ptr<const base::SourceFile>& file, bool mixed, std::size_t first) {
  const Node root = formats::json::parse(file, "O2058", "a list of objects, such as [{\"pe_rows\": 16}]");
  if (root.kind != Node::Kind::kList || root.items.empty())
    refuse("configurations are a list of objects", root.where, "write `[{\"pe_rows\": 16, ...}, ...]`");
  Group group;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    const Node& item = root.items[i];
    if (!item.is_object())
      refuse(fmt::format("configuration {} is {}, not an object", i, formats::json::describe(item)), item.where,
             "write `{\"pe_rows\": 16, ...}`");
    if (i == 0)
      for (const formats::json::Member& member : item.members) {
        if (std::find(kKeys.begin(), kKeys.end(), member.key) == kKeys.end())
          refuse(fmt::format("`{}` is no key of a configuration", member.key), member.key_where,
                 base::did_you_mean(member.key, kKeys, fmt::format("keys are {}", fmt::join(kKeys, ", "))));
        group.axes.push_back({kConfig + member.key, {}, member.key_where});
      }
    if (item.members.size() != group.axes.size())
      refuse(fmt::format("configuration {} has {} keys, the first one {}", i, item.members.size(), group.axes.size()),
             item.where, "give all of them the same keys");
    for (Axis& axis : group.axes) {
      const formats::json::Member* member = item.find(axis.path.substr(std::string(kConfig).size()));
      if (member == nullptr)
        refuse(fmt::format("configuration {} has no `{}`", i, axis.path.substr(std::string(kConfig).size())),
               item.where, "give all of them the same keys");
      std::string value = value_of(*member);
      if (i >= first) axis.values.push_back(std::move(value));
    }
  }
  if (group.size() == 0)
    refuse(fmt::format("`--init-idx {}` leaves out all {} configurations", first, root.items.size()), root.where,
           "count from 0");
  if (!mixed) return {group};
  std::vector<Group> out;
  for (Axis& axis : group.axes) {
    std::vector<std::string> each;
    for (std::string& value : axis.values)
      if (std::find(each.begin(), each.end(), value) == each.end()) each.push_back(std::move(value));
    axis.values = std::move(each);
    out.push_back({{std::move(axis)}});
  }
  return out;
}

Expanded expand(const base::Overrides& point) {
  Expanded out;
  std::map<std::string, std::string> config;
  for (const base::Override& set : point)
    if (set.path.starts_with(kConfig))
      config[set.path.substr(std::string(kConfig).size())] = set.value;
    else
      out.point.push_back(set);
  if (config.empty()) return out;
  const auto set = [&](std::string path, std::string value) {
    out.point.push_back({std::move(path), std::move(value)});
  };
  const auto number = [&](const std::string& key, double otherwise) {
    double value = otherwise;
    const auto found = config.find(key);
    if (found != config.end()) is_number(found->second, value);
    return value;
  };
  const double rows = number("pe_rows", 0);
  for (const auto& [key, value] : config) {
    const std::string level = key.starts_with("scratchpad")   ? "Scratchpad"
                              : key.starts_with("shared_glb") ? "shared_glb"
                                                              : "";
    if (!level.empty() && key.ends_with("_size")) {
      // Entries as depth x words a row: both, as the original sets them.
      set("arch." + level + ".depth", fmt::format("{} // (width // datawidth)", value));
      set("norm.arch." + level + ".depth", fmt::format("{} // (width // datawidth)", value));
    } else if (!level.empty()) {
      for (const char* port : {".read_bandwidth", ".write_bandwidth"}) {
        set("arch." + level + port, value);
        set("norm.arch." + level + port, value);
      }
    } else if (key == "accumulator_size") {
      set("arch.Accumulator.depth", value);
      if (rows > 0) set("norm.arch.Accumulator.depth", fmt::format("{:.0f}", number(key, 0) * rows));
    } else if (key == "accumulator_bandwidth") {
      for (const char* port : {".read_bandwidth", ".write_bandwidth"}) {
        set(std::string("arch.Accumulator") + port, value);
        if (rows > 0) set(std::string("norm.arch.Accumulator") + port, fmt::format("{:.0f}", number(key, 0) * rows));
      }
    } else if (key == "pe_rows") {
      set("arch.PERows.meshY", value);
    } else if (key == "pe_cols") {
      set("arch.PECols.meshX", value);
    } else if (key == "rf_size") {
      set("norm.arch.Registers_Inputs.depth", value);
      set("norm.arch.Registers_Outputs.depth", value);
    }
  }
  const auto dataflow = config.find("dataflow");
  out.pin = Pin{base::whole_number(rows).value_or(0), base::whole_number(number("pe_cols", 0)).value_or(0),
                dataflow == config.end() ? "WS" : dataflow->second};
  if (out.pin->rows <= 0 || out.pin->columns <= 0) out.pin.reset();
  return out;
}

void repin(const Pin& pin, scenario::LayerQuestion& question) {
  const machine::Chip& chip = *question.chip;
  const auto fan_out = [&](const char* name) {
    const int itself = chip.storage_index(name);
    return itself >= 0 ? itself : chip.storage_index(machine::fan_out_name(name));
  };
  const int rows = fan_out("PERows"), columns = fan_out("PECols"),
            registers = chip.storage_index("Registers");
  if (rows < 0 || columns < 0) return;
  Repinned across(question, rows, true), along(question, columns, true);
  across.factor("E", 1);
  across.factor(pin.dataflow == "IS" ? "D" : "L", 1);
  across.factor(pin.dataflow == "IS" ? "L" : "D", pin.rows);
  along.factor("D", 1);
  along.factor(pin.dataflow == "OS" ? "E" : "L", 1);
  along.factor(pin.dataflow == "OS" ? "L" : "E", pin.columns);
  if (registers < 0 || pin.dataflow == "WS") return;  // as the files have it
  Repinned inside(question, registers, false);
  if (pin.dataflow == "OS") {
    inside.factor("D", 1), inside.factor("L", 1);
    keep_only(question, registers, "Outputs");
  } else {
    inside.factor("E", 1), inside.factor("L", 1);
    keep_only(question, registers, "Inputs");
  }
}

}  // namespace orrery::sweep
