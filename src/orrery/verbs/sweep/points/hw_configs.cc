#include "orrery/verbs/sweep/points/hw_configs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/timeloop/constraints/maximize_dims.h"
#include "orrery/verbs/sweep/points/values.h"

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

[[noreturn]] void refuse_configs(const std::string& message, const base::Location& where, const std::string& hint) {
  base::fail("O2058", message, where, hint);
}

std::string value_of(const formats::json::Member& member) {
  const Node& value = member.value;
  if (value.kind == Node::Kind::kTruth) return value.truth ? "true" : "false";
  if (member.key == "dataflow") {
    if (!value.is_text() || (value.text != "WS" && value.text != "IS" && value.text != "OS"))
      refuse_configs(fmt::format("a dataflow is WS, IS or OS, not {}", formats::json::describe(value)), value.where,
                     "weights, inputs or outputs stay in the array");
    return value.text;
  }
  if (!value.is_number() || !(value.number > 0))
    refuse_configs(fmt::format("`{}` must be a number above 0, not {}", member.key, formats::json::describe(value)),
                   value.where, "write a size, such as 524288");
  return value.text;
}

// Replaces what a level's constraints say of its factors.
class Repinned {
 public:
  Repinned(verbs::LayerQuestion& question, int level, bool spatial)
      : question_(question), level_(level), spatial_(spatial) {
    std::erase_if(question.space.constraints, [&](const nest::Constraint& c) {
      return c.level == level && c.spatial == spatial && c.kind == nest::Constraint::Kind::kFactor;
    });
  }

  void at_least(const char* dimension, Count value) {
    const int d = question_.einsum.dimension_index(dimension);
    if (d < 0 || value <= 1) return;
    add(question_, level_, spatial_, d, nest::Comparison::kAtLeast, value);
  }

  // `value` where it divides the bound, else at most so much.
  void factor(const char* dimension, Count value) {
    const int d = question_.einsum.dimension_index(dimension);
    if (d >= 0) add_factor(question_, level_, spatial_, d, value);
  }

  static void add_factor(verbs::LayerQuestion& question, int level, bool spatial, int dimension, Count value) {
    const workload::Dimension& of = question.einsum.dimensions[static_cast<std::size_t>(dimension)];
    const bool whole = of.bound % value == 0;
    add(question, level, spatial, dimension, whole ? nest::Comparison::kEqual : nest::Comparison::kAtMost, value);
  }

 private:
  static void add(verbs::LayerQuestion& question, int level, bool spatial, int dimension, nest::Comparison comparison,
                  Count value) {
    nest::Constraint c;
    c.kind = nest::Constraint::Kind::kFactor;
    c.level = level;
    c.spatial = spatial;
    c.dimension = dimension;
    c.value = value;
    c.comparison = comparison;
    c.text =
        fmt::format("{}{}{} of the configuration", question.einsum.dimensions[static_cast<std::size_t>(dimension)].name,
                    comparison == nest::Comparison::kEqual    ? "="
                    : comparison == nest::Comparison::kAtMost ? "<="
                                                              : ">=",
                    value);
    question.space.constraints.push_back(std::move(c));
  }

  verbs::LayerQuestion& question_;
  int level_;
  bool spatial_;
};

// Only that dataspace.
void keep_only(verbs::LayerQuestion& question, int level, const std::string& dataspace) {
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
    refuse_configs("configurations are a list of objects", root.where, "write `[{\"pe_rows\": 16, ...}, ...]`");
  Group group;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    const Node& item = root.items[i];
    if (!item.is_object())
      refuse_configs(fmt::format("configuration {} is {}, not an object", i, formats::json::describe(item)), item.where,
                     "write `{\"pe_rows\": 16, ...}`");
    if (i == 0)
      for (const formats::json::Member& member : item.members) {
        if (std::find(kKeys.begin(), kKeys.end(), member.key) == kKeys.end())
          refuse_configs(fmt::format("`{}` is no key of a configuration", member.key), member.key_where,
                         base::did_you_mean(member.key, kKeys, fmt::format("keys are {}", base::joined(kKeys, ", "))));
        group.axes.push_back({kConfig + member.key, {}, member.key_where});
      }
    if (item.members.size() != group.axes.size())
      refuse_configs(
          fmt::format("configuration {} has {} keys, the first one {}", i, item.members.size(), group.axes.size()),
          item.where, "give all of them the same keys");
    for (Axis& axis : group.axes) {
      const formats::json::Member* member = item.find(axis.path.substr(std::string(kConfig).size()));
      if (member == nullptr)
        refuse_configs(fmt::format("configuration {} has no `{}`", i, axis.path.substr(std::string(kConfig).size())),
                       item.where, "give all of them the same keys");
      std::string value = value_of(*member);
      if (i >= first) axis.values.push_back(std::move(value));
    }
  }
  if (group.size() == 0)
    refuse_configs(fmt::format("`--init-idx {}` leaves out all {} configurations", first, root.items.size()),
                   root.where, "count from 0");
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

Expanded expand(const base::Overrides& point, Pins pins) {
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
  const double rows = number("pe_rows", 0), columns = number("pe_cols", 0);
  const auto follows = [&](std::string path, std::string value) {
    out.stated.push_back({std::move(path), std::move(value)});
  };
  const auto words = [&](const std::string& level, const std::string& value) {
    // PIM's files say `word-bits: 8`, which no expression can name.
    const char* const bits = level.ends_with("shared_glb") ? "8" : "datawidth";
    set(level + ".depth", fmt::format("{} // (width // {})", value, bits));
    follows(level + ".entries", value);
  };
  for (const auto& [key, value] : config) {
    const std::string level = key.starts_with("scratchpad")   ? "Scratchpad"
                              : key.starts_with("shared_glb") ? "shared_glb"
                                                              : "";
    if (!level.empty() && key.ends_with("_size")) {
      words("arch." + level, value);
      words("norm.arch." + level, value);
    } else if (!level.empty()) {
      for (const char* port : {".read_bandwidth", ".write_bandwidth"}) {
        set("arch." + level + port, value);
        set("norm.arch." + level + port, value);
      }
    } else if (key == "accumulator_size") {
      words("arch.Accumulator", value);
      if (rows > 0) words("norm.arch.Accumulator", fmt::format("{:.0f}", number(key, 0) * rows));
    } else if (key == "accumulator_bandwidth") {
      for (const char* port : {".read_bandwidth", ".write_bandwidth"}) {
        set(std::string("arch.Accumulator") + port, value);
        if (rows > 0) set(std::string("norm.arch.Accumulator") + port, fmt::format("{:.0f}", number(key, 0) * rows));
      }
    } else if (key == "pe_rows") {
      set("arch.PERows.meshY", value);
      for (const char* inside : {"Accumulator", "Registers", "MAC", "scratchpad", "mac"})
        follows(fmt::format("arch.{}.meshY", inside), value);
    } else if (key == "pe_cols") {
      set("arch.PECols.meshX", value);
      for (const char* inside : {"Registers", "MAC", "scratchpad", "mac"})
        follows(fmt::format("arch.{}.meshX", inside), value);
    } else if (key == "rf_size") {
      words("norm.arch.Registers_Inputs", value);
      words("norm.arch.Registers_Outputs", value);
    }
  }
  const auto dataflow = config.find("dataflow");
  out.pin = Pin{base::whole_number(rows).value_or(0), base::whole_number(columns).value_or(0),
                dataflow == config.end() ? "WS" : dataflow->second, pins,
                base::whole_number(number("rf_size", 0)).value_or(0)};
  if (out.pin->rows <= 0 || out.pin->columns <= 0) out.pin->rows = out.pin->columns = 0;
  if (out.pin->rows == 0 && out.pin->register_file <= 0) out.pin.reset();
  return out;
}

const std::vector<std::string>& script_layers() {
  static const std::vector<std::string> kLayers = {"KQV", "KTQ",       "softmax", "VScores",
                                                   "Out", "layernorm", "FF1",     "FF2"};
  return kLayers;
}

std::string key_that_sets(const std::string& path) {
  const std::size_t begin = path.find("arch.");
  if (begin == std::string::npos) return "";
  const std::string rest = path.substr(begin + 5), level = rest.substr(0, rest.find('.'));
  const std::string kind = rest.ends_with("_bandwidth") ? "_bandwidth" : "_size";
  if (rest.ends_with(".meshY")) return "pe_rows";
  if (rest.ends_with(".meshX")) return "pe_cols";
  if (level == "Scratchpad") return "scratchpad" + kind;
  if (level == "Accumulator") return "accumulator" + kind;
  if (level == "shared_glb") return level + kind;
  return level.starts_with("Registers_") ? "rf_size" : "";
}

namespace {

// A normalisation: as much of a column as the registers hold, and as many columns as the accumulator then has room for.
void repin_normalisation(const Pin& pin, verbs::LayerQuestion& question) {
  const machine::Chip& chip = *question.chip;
  const int registers = chip.storage_index("Registers_Inputs"), sums = chip.storage_index("Accumulator");
  if (pin.register_file <= 0 || registers < 0) return;
  std::vector<nest::Constraint>& all = question.space.constraints;
  const auto is_factor = [](const nest::Constraint& c, int level) {
    return c.level == level && !c.spatial && c.kind == nest::Constraint::Kind::kFactor;
  };
  const int column = question.einsum.dimension_index("E");
  const bool pinned = std::any_of(all.begin(), all.end(), [&](const nest::Constraint& c) {
    return is_factor(c, registers) && c.dimension == column;
  });
  if (pinned) {
    std::erase_if(all, [&](const nest::Constraint& c) { return is_factor(c, registers) && c.dimension == column; });
    Repinned::add_factor(question, registers, false, column, pin.register_file);
  }
  if (sums < 0 || !chip.storages[static_cast<std::size_t>(sums)].capacity_words) return;
  Count room = *chip.storages[static_cast<std::size_t>(sums)].capacity_words / pin.register_file;
  for (nest::Constraint& c : all) {
    if (!is_factor(c, sums) || !c.text.ends_with("(maximize_dims)")) continue;
    Count left = question.einsum.dimensions[static_cast<std::size_t>(c.dimension)].bound;
    for (const nest::Constraint& other : all)
      if (other.kind == nest::Constraint::Kind::kFactor && &other != &c && other.dimension == c.dimension &&
          other.comparison == nest::Comparison::kEqual && other.value > 0)
        left = base::ceil_divide(left, other.value);
    const auto best = formats::timeloop::maximise({left}, std::max<Count>(1, room));
    if (!best) continue;
    c.value = best->factors[0];
    c.text = fmt::format("{}={} (maximize_dims)",
                         question.einsum.dimensions[static_cast<std::size_t>(c.dimension)].name, c.value);
    room /= c.value;
  }
}

}  // namespace

void repin(const Pin& pin, verbs::LayerQuestion& question) {
  repin_normalisation(pin, question);
  if (pin.rows <= 0) return;
  const machine::Chip& chip = *question.chip;
  const auto fan_out = [&](const char* name) {
    const int itself = chip.storage_index(name);
    return itself >= 0 ? itself : chip.storage_index(machine::fan_out_name(name));
  };
  const int rows = fan_out("PERows"), columns = fan_out("PECols"), registers = chip.storage_index("Registers");
  if (rows < 0 || columns < 0) return;
  if (pin.pins == Pins::kScripts) {
    if (pin.dataflow == "WS") return;
    const bool outputs = pin.dataflow == "OS";
    Repinned across(question, rows, true), along(question, columns, true);
    across.factor("L", 1), across.factor(outputs ? "E" : "D", 1);
    across.at_least(outputs ? "D" : "E", pin.rows / 2);
    along.factor("E", 1), along.factor("D", 1);
    along.at_least("L", pin.columns / 2);
    if (registers >= 0) keep_only(question, registers, outputs ? "Outputs" : "Inputs");
    return;
  }
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
