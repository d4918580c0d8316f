// Reading a system: walk its tree (system_tree.h) once, with a table of known keys per map.
//
// Idea: overrides and inherited keys are in the tree before it is read, so that one strict reader finds all that is
// wrong, wherever it came from. Cost: linear in the files.
#include "orrery/formats/orrery/systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/orrery/catalogue_names.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/formats/orrery/system_figures.h"
#include "orrery/formats/orrery/system_tree.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::orrery {
namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;
using yaml::Node;

class SystemsReader {
 public:
  SystemsReader(const std::string& directory, SystemFile& into, bool strict, base::Diagnostics& found)
      : directory_(directory), into_(into), strict_(strict), found_(found) {}

  void read(const Node& root) {
    keys(root, "system",
         {"title", "description", "sources", "like", "node_size", "max_accelerators", "accelerator", "networks",
          "collective_algorithm", "calibration", "accuracy"});
    into_.entry.title = text(root.find("title"), "title");
    into_.entry.description = text(root.find("description"), "description");
    read_sources(root.find("sources"));
    if (const Node* lines = root.find("accuracy")) {
      if (!lines->is_sequence()) wrong(*lines, "accuracy", "a list of texts");
      for (const Node& line : lines->items) into_.accuracy.push_back(text(&line, "accuracy"));
    }
    cluster::System& system = into_.system;
    count(root, "system", "node_size", system.node_size, 1);
    if (root.find("max_accelerators")) count(root, "system", "max_accelerators", system.max_gpus, 1);
    if (const Node* accelerator = demand(root, "system", "accelerator")) read_accelerator(*accelerator);
    if (const Node* networks = demand(root, "system", "networks")) read_networks(*networks);
    if (const Node* algorithm = root.find("collective_algorithm"))
      system.fabric.algorithm = static_cast<collective::Algorithm>(
          choice(*algorithm, "collective_algorithm", {"ring", "hierarchical", "fastest"}));
    if (const Node* calibration = root.find("calibration")) read_calibration(*calibration);
    if (strict_ && into_.entry.title.empty()) missing(root, "system", "title");
  }

 private:
  void keys(const Node& map, const std::string& path, const std::vector<std::string>& known) {
    if (!map.is_map()) {
      wrong(map, path, "a map");
      return;
    }
    for (const Node::Entry& entry : map.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      found_.error("O1351", fmt::format("`{}` has no field `{}`", path, entry.key), entry.key_where)
          .note(fmt::format("it has: {}", base::joined(known, ", ")))
          .hint(base::did_you_mean(entry.key, known));
    }
  }

  void missing(const Node& map, const std::string& path, const std::string& key) {
    found_.error("O1352", fmt::format("`{}` of `{}` is missing", key, path), map.where);
  }

  void wrong(const Node& node, const std::string& what, const std::string& wanted) {
    found_.error("O1353", fmt::format("`{}` must be {}", what, wanted), node.where);
  }

  const Node* demand(const Node& map, const std::string& path, const std::string& key) {
    const Node* found = map.find(key);
    if (!found && map.is_map()) missing(map, path, key);
    return found;
  }

  std::string text(const Node* node, const std::string& what) {
    if (!node) return {};
    if (!node->is_scalar()) wrong(*node, what, "a text");
    return node->scalar;
  }

  // Index of the value among `known`; 0 where it is none of them, which is reported.
  std::size_t choice(const Node& node, const std::string& what, const std::vector<std::string>& known) {
    const auto same = std::find(known.begin(), known.end(), node.scalar);
    if (node.is_scalar() && same != known.end()) return static_cast<std::size_t>(same - known.begin());
    found_.error("O1353", fmt::format("`{}` must be one of {}", what, base::joined(known, ", ")), node.where)
        .hint(base::did_you_mean(node.scalar, known));
    return 0;
  }

  void read_sources(const Node* sources) {
    if (!sources) return;
    if (!sources->is_map()) return wrong(*sources, "sources", "a map from short names to sources");
    for (const Node::Entry& entry : sources->entries) {
      const std::string source = text(&entry.value, "sources." + entry.key);
      sources_.emplace_back(entry.key, source);
      into_.entry.sources.push_back(fmt::format("{}: {}", entry.key, source));
    }
  }

  // The quantity of a figure, its origin noted down.
  std::optional<double> figure(const Node& map, const std::string& path, const Figure& wanted) {
    const std::string& key = wanted.key;
    const Unit unit = wanted.unit;
    const Range& range = wanted.range;
    const Node* node = map.find(key);
    if (!node) return std::nullopt;
    const std::string full = path == "system" ? key : path + "." + key;
    const Node* value = node;
    cluster::Constant constant;
    constant.name = full;
    constant.unit = name(unit);
    constant.origin = "given";
    std::string shown;
    if (node->is_map()) {
      keys(*node, full, {"value", "source", "fitted_on", "assumption", "unusual"});
      value = node->find("value");
      if (!value) {
        missing(*node, full, "value");
        return std::nullopt;
      }
      shown = origin(*node, full, constant);
    } else if (node->tag == kSystemOverride) {
      constant.origin = constant.words = shown = "--set";
    } else if (strict_) {
      found_.error("O1354", fmt::format("the figure `{}` has no source", full), node->where)
          .hint(fmt::format("write {{value: {}, source: NAME}}, with NAME one of `sources`", node->scalar));
    }
    const auto number = value->is_scalar() ? quantity(value->scalar, unit) : std::nullopt;
    if (!number) {
      wrong(
          *value, full,
          unit == Unit::kNone ? "a number" : fmt::format("a quantity in {}, such as `{}`", name(unit), example(unit)));
      return std::nullopt;
    }
    const bool tiny = *number > 0 && *number < kSmallest;
    if (tiny || *number < range.least || (range.open && *number == range.least) || *number > range.most) {
      base::Diagnostic& error = found_.error("O1353", fmt::format("`{}` is {}", full, value->scalar), value->where);
      const auto in_unit = [&](double limit) {
        return unit == Unit::kNone ? fmt::format("{:g}", limit) : fmt::format("{:g} {}", limit, name(unit));
      };
      if (tiny || (*number > range.most && range.most == kLargest)) {
        error.label(tiny ? fmt::format("too small: at least {}{}", in_unit(kSmallest), range.open ? "" : ", or 0")
                         : fmt::format("too large: at most {}", in_unit(kLargest)));
      } else {
        error.label(range.most == 1        ? "a share: above 0, at most 1"
                    : *number > range.most ? fmt::format("at most {}", range.most)
                                           : fmt::format("{} {}", range.open ? "more than" : "at least", range.least));
      }
      return std::nullopt;
    }
    const bool meant = node->is_map() && flag(*node, full, "unusual");
    if (wanted.kind && !meant) base::doubt(*wanted.kind, *number, full, value->where, found_);
    constant.value = *number;
    into_.system.constants.push_back(constant);
    const std::size_t dot = full.rfind('.');
    into_.entry.figures.push_back({dot == std::string::npos ? "system" : full.substr(0, dot), key,
                                   fmt::format("{}{}{}", value->scalar, shown.empty() ? "" : "; ", shown)});
    return number;
  }

  std::string origin(const Node& node, const std::string& full, cluster::Constant& constant) {
    int given = 0;
    std::string shown;
    for (const char* key : {"source", "fitted_on", "assumption"}) {
      const Node* why = node.find(key);
      if (!why) continue;
      ++given;
      const std::string words = text(why, full + "." + key);
      constant.origin = key == std::string("fitted_on") ? "fitted" : key;
      if (constant.origin == "fitted") constant.fitted_on = words;
      shown = (constant.origin == "fitted"       ? "fitted on "
               : constant.origin == "assumption" ? "assumption: "
                                                 : "") +
              words;
      constant.words = shown;
      if (constant.origin != "source") continue;
      const auto cited =
          std::find_if(sources_.begin(), sources_.end(), [&](const auto& source) { return source.first == words; });
      if (cited != sources_.end()) {
        constant.words = cited->second;
        continue;
      }
      std::vector<std::string> names;
      for (const auto& source : sources_) names.push_back(source.first);
      found_.error("O1354", fmt::format("`{}` cites `{}`, which is not among `sources`", full, words), why->where)
          .hint(base::did_you_mean(words, names));
    }
    if (given != 1)
      found_.error("O1354", fmt::format("`{}` needs one origin, and has {}", full, given), node.where)
          .hint("give one of `source`, `fitted_on`, `assumption`");
    return shown;
  }

  void read_figures(const Node& map, const std::string& path, const std::vector<Figure>& table) {
    for (const Figure& wanted : table) {
      if (wanted.needed && !demand(map, path, wanted.key)) continue;
      if (const auto value = figure(map, path, wanted)) *wanted.into = *value;
    }
  }

  template <typename Integer>
  void count(const Node& map, const std::string& path, const std::string& key, Integer& into, double least) {
    if (!demand(map, path, key)) return;
    const auto value = figure(map, path, {.key = key, .range = {least, 1e9, false}});
    if (!value) return;
    if (*value != std::floor(*value)) return wrong(*map.find(key), path + "." + key, "a whole number");
    into = static_cast<Integer>(*value);
  }

  bool flag(const Node& map, const std::string& path, const std::string& key) {
    const Node* node = map.find(key);
    return node && choice(*node, path + "." + key, {"false", "true"}) == 1;
  }

  void read_accelerator(const Node& map) {
    const std::string path = "accelerator";
    std::vector<Figure> table = accelerator_figures(into_.system), peaks = peak_figures(into_.system);
    keys(map, path, names({"name", "chip", "peak", "units", "attention", "sustained", "host_sharers"}, table));
    machine::Accelerator& chip = into_.system.accelerator;
    if (map.find("host_sharers") != nullptr) count(map, path, "host_sharers", chip.host_sharers, 1);
    if (const Node* reference = map.find("chip")) {
      read_chip(map, *reference);
      chip.name = text(map.find("name"), "accelerator.name");
      std::erase_if(table, [](const Figure& figure) { return is_of_chip(figure.key); });
      for (Figure& figure : table) figure.needed = false;
      return read_figures(map, path, table);
    }
    chip.name = text(demand(map, path, "name"), "accelerator.name");
    if (const Node* peak = demand(map, path, "peak")) {
      keys(*peak, "accelerator.peak", names({}, peaks));
      read_figures(*peak, "accelerator.peak", peaks);
    }
    count(map, path, "units", chip.units, 1);
    read_figures(map, path, table);
    if (const Node* sustained = map.find("sustained")) {
      const std::vector<Figure> rates = sustained_figures(into_.system);
      keys(*sustained, "accelerator.sustained", names({}, rates));
      read_figures(*sustained, "accelerator.sustained", rates);
    }
    if (const Node* attention = map.find("attention")) {
      const std::vector<Figure> rates = attention_figures(into_.system);
      keys(*attention, "accelerator.attention", names({}, rates));
      read_figures(*attention, "accelerator.attention", rates);
    }
  }

  // A chip of the catalogue, or a file or folder beside the file that names it.
  void read_chip(const Node& accelerator, const Node& reference) {
    const std::string name = text(&reference, "accelerator.chip");
    for (const Node::Entry& entry : accelerator.entries)
      if (is_of_chip(entry.key))
        found_
            .error("O1393", fmt::format("`accelerator.{}` is said twice: `chip: {}` says it, too", entry.key, name),
                   entry.key_where)
            .also(reference.where, "the chip")
            .hint("leave it out, and change the chip where it must differ");
    const Node* memory = accelerator.find("memory");
    into_.chip = {name, reference.where, memory ? memory->where : base::Location()};
    into_.entry.figures.push_back({"accelerator", "chip", name});
    if (!reference.is_scalar() || has_entry(directory_, kChip, name)) return;
    const fs::path beside = (fs::path(reference.where.file->name).parent_path() / name).lexically_normal();
    std::error_code ignored;
    if (names_a_system_file(name) && fs::exists(beside, ignored)) {
      into_.chip->name = beside.string();
    } else if (names_a_system_file(name)) {
      found_.error("O1355", fmt::format("there is no file `{}` of a chip", name), reference.where)
          .note(fmt::format("looked for {}", beside.string()));
    } else {
      found_.error("O1355", fmt::format("the catalogue has no chip `{}`", name), reference.where)
          .hint(base::did_you_mean(name, catalogue_names(directory_, kChip)))
          .hint(fmt::format("a file is named by its path: `chip: ./{}.yaml`", name));
    }
  }

  void read_networks(const Node& list) {
    if (!list.is_sequence() || list.items.empty() || list.items.size() > collective::kMaxLevels)
      return wrong(list, "networks",
                   fmt::format("a list of 1 to {} networks, innermost first", collective::kMaxLevels));
    collective::Fabric& fabric = into_.system.fabric;
    for (const Node& item : list.items) {
      const Node* named = item.find("name");
      const std::string path = "networks." + (named ? named->scalar : std::to_string(fabric.count));
      if (item.is_map()) demand(item, path, "name");
      collective::Network& network = fabric.levels[static_cast<std::size_t>(fabric.count++)];
      read_network(item, path, network);
      if (network.size == 0 && &item != &list.items.back()) missing(item, path, "size");
    }
    const auto node_size = static_cast<double>(into_.system.node_size);
    const int inner = fabric.levels[0].size;
    if (inner > 0 && inner % into_.system.node_size != 0)
      found_
          .error("O1356",
                 fmt::format("the innermost network joins {} accelerators, which is not whole nodes of {}", inner,
                             node_size),
                 list.items[0].where)
          .hint("`size` of the innermost network is `node_size`, or a multiple where it reaches further");
  }

  void read_network(const Node& map, const std::string& path, collective::Network& network) {
    const std::vector<Figure> table = network_figures(network);
    keys(map, path,
         names({"name", "topology", "size"}, table,
               {"in_network_reduction", "trees", "doubling", "torus", "slice", "closes_at"}));
    if (!map.is_map()) return;
    if (const Node* topology = map.find("topology"))
      network.topology = static_cast<collective::Topology>(
          choice(*topology, path + ".topology", {"switch", "ring", "fully_connected", "torus"}));
    if (map.find("size")) count(map, path, "size", network.size, 1);
    read_figures(map, path, table);
    network.in_network_reduction = flag(map, path, "in_network_reduction");
    network.trees = flag(map, path, "trees");
    network.doubling = flag(map, path, "doubling");
    if (const Node* torus = map.find("torus")) read_torus(*torus, path, network);
    if (network.topology == collective::Topology::kTorus && !map.find("torus")) missing(map, path, "torus");
    if (map.find("closes_at")) count(map, path, "closes_at", network.closes_at, 1);
    if (const Node* slice = map.find("slice")) read_slice(*slice, path, network);
  }

  // "8x8": the part of a torus that a run has for itself, no larger than the whole in any axis.
  void read_slice(const Node& text, const std::string& path, collective::Network& network) {
    if (!text.is_scalar()) return wrong(text, path + ".slice", "extents joined by `x`, such as 8x8");
    std::array<int, collective::kMaxTorusDimensions> extents = {0, 0, 0, 0};
    std::size_t axes = 0, given = 0;
    while (axes < extents.size() && network.torus[axes] > 0) ++axes;
    double product = 1;
    std::string_view rest = text.scalar;
    for (bool more = true; more; ++given) {
      const std::size_t cross = rest.find('x');
      more = cross != std::string_view::npos;
      const auto extent = quantity(std::string(rest.substr(0, cross)), Unit::kNone);
      if (given >= axes || !extent || *extent < 1 || *extent != std::floor(*extent) || *extent > 65536)
        return wrong(text, path + ".slice", fmt::format("{} whole numbers joined by `x`", axes));
      extents[given] = static_cast<int>(*extent);
      product *= extents[given];
      if (extents[given] > network.torus[given]) {
        found_
            .error("O1356",
                   fmt::format("`{}.slice` is {}, but the torus has only {} along axis {}", path, text.scalar,
                               network.torus[given], given + 1),
                   text.where)
            .hint("a slice is a part of the torus");
        return;
      }
      if (more) rest.remove_prefix(cross + 1);
    }
    if (given != axes || product > 1e9)
      return wrong(text, path + ".slice", fmt::format("{} whole numbers joined by `x`, at most 1e9 together", axes));
    network.torus = extents;
    network.size = static_cast<int>(product);
  }

  void read_torus(const Node& list, const std::string& path, collective::Network& network) {
    if (!list.is_sequence() || list.items.empty() || list.items.size() > collective::kMaxTorusDimensions)
      return wrong(list, path + ".torus", fmt::format("a list of 1 to {} extents", collective::kMaxTorusDimensions));
    double product = 1;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const auto extent = quantity(list.items[i].scalar, Unit::kNone);
      if (!extent || *extent < 1 || *extent > 65536 || *extent != std::floor(*extent))
        return wrong(list.items[i], path + ".torus", "whole numbers from 1 to 65536");
      network.torus[i] = static_cast<int>(*extent);
      product *= *extent;
    }
    if (network.size > 0 && product != network.size)
      found_.error("O1356", fmt::format("`{}.torus` and `size` contradict each other", path), list.where)
          .note(fmt::format("the extents multiply to {}, the size is {}", product, network.size));
  }

  void read_calibration(const Node& map) {
    const std::string path = "calibration";
    const std::vector<Figure> table = calibration_figures(into_.system);
    keys(map, path, names({"stack"}, table));
    read_figures(map, path, table);
    if (const Node* stack = map.find("stack")) {
      std::vector<std::string> known;
      for (const auto& [name, value] : cluster::stacks()) known.push_back(name);
      into_.system.stack = load_stack(directory_, known[choice(*stack, path + ".stack", known)]).stack;
    }
    collective::Fabric& fabric = into_.system.fabric;
    for (collective::Network& network : fabric.levels) network.collective_s = fabric.levels[0].message_s;
  }

  const std::string& directory_;
  SystemFile& into_;
  bool strict_;
  base::Diagnostics& found_;
  std::vector<std::pair<std::string, std::string>> sources_;
};

SystemFile read(const std::string& directory, const std::string& name, const std::string& path, bool strict,
                const base::Overrides& overrides, std::shared_ptr<const base::SourceFile> text = nullptr) {
  SystemFile result;
  result.file = std::move(text);
  base::Diagnostics found;
  const Node root = system_tree(directory, path, overrides, result.file, found);
  result.entry.name = name;
  result.entry.path = path;
  result.system.name = name;
  SystemsReader(directory, result, strict, found).read(root);
  found.throw_if_errors();
  if (result.entry.title.empty()) result.entry.title = name;
  for (const std::string& line : result.accuracy) result.entry.description += fmt::format("accuracy: {}\n", line);
  result.diagnostics = found;
  return result;
}

}  // namespace

std::vector<Entry> list_systems(const std::string& directory) {
  std::vector<Entry> entries;
  for (const std::string& name : catalogue_names(directory, kSystem))
    entries.push_back(load_system(directory, name).entry);
  return entries;
}

SystemFile load_system(const std::string& directory, const std::string& name_or_path,
                       const base::Overrides& overrides) {
  if (has_entry(directory, kSystem, name_or_path))
    return read(directory, name_or_path, entry_path(directory, kSystem, name_or_path), true, overrides);
  if (!names_a_system_file(name_or_path)) fail_unknown(directory, kSystem, name_or_path);
  return read(directory, name_or_path, name_or_path, false, overrides);
}

SystemFile read_system(const std::string& directory, const std::shared_ptr<const base::SourceFile>& text,
                       const base::Overrides& overrides) {
  return read(directory, text->name, text->name, false, overrides, text);
}

}  // namespace orrery::formats::orrery
