// Each quantity is a node: given, calculated from others, or missing. A depth-first walk from what is needed calculates
// in any order of the file; meeting a node that is still being calculated closes a circle, whose members are named.
// Cost: linear in the quantities and what they read.
#include "orrery/formats/amped/amped_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/diagnostics/plausible.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/amped/inverse_rules.h"
#include "orrery/formats/amped/unit_value.h"

namespace orrery::formats::amped {
namespace {

using json::Node;

constexpr double kLargest = 1e30;  // of an input; products of some of them stay within a double

std::size_t position(const equations::Quantity& quantity) {
  return static_cast<std::size_t>(&quantity - equations::quantity_table().data());
}

Dimension dimension_of(const equations::Quantity& quantity) {
  const std::string_view name = quantity.name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("bandwidth") || has("precision")) return Dimension::kBits;
  if (has("latency")) return Dimension::kSeconds;
  if (has("memory")) return Dimension::kBytes;
  return name == "frequency" ? Dimension::kHertz : Dimension::kCount;
}

const char* name_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNone:
      return "nothing";
    case Dimension::kBits:
      return "bits";
    case Dimension::kBytes:
      return "bytes";
    case Dimension::kSeconds:
      return "seconds";
    case Dimension::kHertz:
      return "hertz";
    case Dimension::kCount:
      return "a count";
  }
  return "";
}

std::string as_text(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kTruth:
      return node.truth ? "true" : "false";
    case Node::Kind::kNumber:
    case Node::Kind::kText:
      return node.text;
    default:
      return json::describe(node);
  }
}

class Resolver {
 public:
  Resolver(const equations::Defects& defects, base::Diagnostics& found)
      : defects_(defects), found_(found), quantities_(equations::quantity_table()) {
    const std::size_t n = quantities_.size();
    out_.keep.assign(n, false);
    out_.origin.assign(n, Origin::kAbsent);
    out_.where.assign(n, {});
    for (const equations::Quantity& quantity : quantities_) out_.description.emplace_back(quantity.description);
    marked_.assign(n, {});
    broken_.assign(n, false);
    state_.assign(n, 0);
  }

  void add(const Parameter& parameter, const Category& category, const LookupTables& tables) {
    const equations::Quantity* quantity = equations::find_quantity(parameter.name);
    if (quantity == nullptr) {
      add_other(parameter, category, tables);
      return;
    }
    const std::size_t i = position(*quantity);
    if (!parameter.description.empty()) out_.description[i] = parameter.description;
    if (parameter.from_lookup_table) {
      const Node* node = look_up(tables, category, parameter, found_);
      broken_[i] = node == nullptr || !take(*quantity, *node);
      if (!broken_[i]) out_.origin[i] = Origin::kTable;
    } else if (parameter.calculated) {
      marked_[i] = parameter.where;
      if (quantity->formula == nullptr && inverse_rule(quantity->name) == nullptr) {
        broken_[i] = true;
        found_.error("O1331", fmt::format("`{}` cannot be calculated", parameter.name), parameter.where)
            .hint("give it a \"value\", or take it from a table");
      }
    } else if (!parameter.has_value) {
      broken_[i] = true;
      found_.error("O1332", fmt::format("`{}` has no value", parameter.name), parameter.where)
          .hint(quantity->formula != nullptr ? "write a number, or \"calculated\": true" : "write a number");
    } else {
      state(*quantity, parameter.value);
    }
  }

  void state(const equations::Quantity& quantity, const Node& node) {
    const std::size_t i = position(quantity);
    broken_[i] = !take(quantity, node);
    if (!broken_[i]) out_.origin[i] = Origin::kValue;
  }

  // Gives the quantity a number of the user's; false, with an error, when it is none.
  bool take(const equations::Quantity& quantity, const Node& node) {
    const auto refuse = [&](const std::string& why, const std::string& hint) {
      found_.error("O1333", fmt::format("`{}` {}", quantity.name, why), node.where).hint(hint);
      return false;
    };
    double number = node.number;
    if (node.is_text()) {
      std::string why;
      const auto value = parse_unit_value(node.text, &why);
      if (!value)
        return refuse(fmt::format("is not a quantity: \"{}\": {}", node.text.substr(0, 60), why),
                      "write a number, or one with a unit, such as \"8 GB\", \"2.4 Tb/s\", \"3 us\"; prefixes are p n "
                      "u m k M G T P E");
      number = value->number;
      warn_of_dimension(quantity, node, *value);
    } else if (!node.is_number()) {
      return refuse(fmt::format("must be a number, but is {}", json::describe(node)), "");
    }
    const std::string shown = node.is_text() ? fmt::format("{} ({})", node.text, number) : node.text;
    if (quantity.domain == equations::Domain::kWhole && !(number >= 1 && std::floor(number) == number))
      return refuse(fmt::format("must be a whole number of at least 1, but is {}", shown), "");
    if (quantity.domain == equations::Domain::kPositive && !(number > 0))
      return refuse(fmt::format("must be above 0, but is {}", shown), "");
    if (!(number >= 0)) return refuse(fmt::format("must not be negative, but is {}", shown), "");
    if (number > kLargest || (number > 0 && number < 1 / kLargest))
      return refuse(fmt::format("is {}: beyond what the equations can carry", shown), "");
    const std::size_t i = position(quantity);
    out_.quantities.*quantity.field = number;
    out_.keep[i] = true;
    out_.where[i] = node.where;
    doubt(quantity, number, node.where);
    return true;
  }

  Resolved finish() {
    for (const std::string_view name : equations::time_reads()) need(*equations::find_quantity(name));
    for (const char* name : {"required_memory_per_accelerator_weights", "total_required_memory_per_accelerator"})
      need(*equations::find_quantity(name));
    for (std::size_t i = 0; i < quantities_.size(); ++i)
      if (marked_[i].known()) visit(i);
    report_missing();
    found_.throw_if_errors();
    // The rest is shown where what it reads is known.
    for (const int i : equations::calculation_order()) {
      const equations::Quantity& quantity = quantities_[static_cast<std::size_t>(i)];
      const std::vector<int> reads = equations::reads(quantity);
      const bool known = std::all_of(reads.begin(), reads.end(), [&](int r) {
        return !std::isnan(out_.quantities.*quantities_[static_cast<std::size_t>(r)].field);
      });
      if (known && state_[static_cast<std::size_t>(i)] == 0) visit(static_cast<std::size_t>(i));
    }
    check_results();
    std::sort(out_.others.begin(), out_.others.end(), [](const Other& a, const Other& b) {
      return std::tie(a.category, a.name) < std::tie(b.category, b.name);
    });
    return std::move(out_);
  }

  Resolved out_;

 private:
  void doubt(const equations::Quantity& quantity, double number, const base::Location& where) {
    const std::string name(quantity.name);
    if (name.find("bandwidth") != std::string::npos)
      base::doubt(base::HardwareFigure::kLinkBandwidth, number / 8, name, where, found_);
    else if (name == "memory_capacity")
      base::doubt(base::HardwareFigure::kMemory, number, name, where, found_);
  }

  void add_other(const Parameter& parameter, const Category& category, const LookupTables& tables) {
    if (!is_parameter(parameter.name)) return;
    Other other{parameter.category, parameter.name, "", parameter.description};
    if (parameter.from_lookup_table) {
      const Node* node = look_up(tables, category, parameter, found_);
      if (node != nullptr) other.value = as_text(*node);
    } else if (parameter.calculated) {
      other.value = "unknown";
      found_
          .warning("O1337", fmt::format("no rule for `{}` is known; no equation uses it", parameter.name),
                   parameter.where)
          .label("left aside");
    } else {
      other.value = as_text(parameter.value);
    }
    out_.others.push_back(std::move(other));
  }

  void warn_of_dimension(const equations::Quantity& quantity, const Node& node, const UnitValue& value) {
    const Dimension wanted = dimension_of(quantity);
    if (value.dimension == Dimension::kNone || value.dimension == wanted) return;
    found_
        .warning("O1336",
                 fmt::format("`{}` is counted in {}, but \"{}\" is in {}", quantity.name, name_of(wanted), node.text,
                             name_of(value.dimension)),
                 node.where)
        .note(fmt::format("units only describe: it is read as {}", value.number))
        .hint(wanted == Dimension::kBits && value.dimension == Dimension::kBytes
                  ? fmt::format("8 bits are a byte: write {}", value.number * 8)
                  : "");
  }

  void need(const equations::Quantity& quantity) { visit(position(quantity)); }

  std::vector<int> reads_of(std::size_t i) const {
    const equations::Quantity& quantity = quantities_[i];
    if (quantity.formula != nullptr) return equations::reads(quantity);
    if (const InverseRule* rule = inverse_rule(quantity.name)) {
      equations::Quantity reader = quantity;
      reader.reads = rule->reads;
      return equations::reads(reader);
    }
    return {};
  }

  void visit(std::size_t i) {
    const equations::Quantity& quantity = quantities_[i];
    if (out_.keep[i] || broken_[i] || state_[i] == 2) return;
    if (state_[i] == 1) {
      report_cycle(i);
      return;
    }
    const bool inverse = quantity.formula == nullptr;
    if (inverse && !marked_[i].known()) {
      broken_[i] = true;
      missing_.push_back({i, path_.empty() ? i : path_.back()});
      return;
    }
    state_[i] = 1;
    path_.push_back(i);
    bool known = true;
    for (const int read : reads_of(i)) {
      const auto r = static_cast<std::size_t>(read);
      visit(r);
      known &= !broken_[r] && !std::isnan(out_.quantities.*quantities_[r].field);
    }
    path_.pop_back();
    state_[i] = 2;
    broken_[i] = broken_[i] || !known;
    if (broken_[i]) return;
    out_.quantities.*quantity.field =
        inverse ? inverse_rule(quantity.name)->formula(out_.quantities) : quantity.formula(out_.quantities, defects_);
    out_.origin[i] = Origin::kCalculated;
    out_.where[i] = marked_[i];
    if (inverse) {
      out_.keep[i] = true;
      const double number = out_.quantities.*quantity.field;
      if (quantity.domain == equations::Domain::kWhole && !(number >= 1 && std::floor(number) == number))
        found_.error("O1333",
                     fmt::format("`{}` must be a whole number of at least 1, but comes to {}", quantity.name, number),
                     marked_[i]);
    }
  }

  void report_cycle(std::size_t i) {
    const auto first = std::find(path_.begin(), path_.end(), i);
    std::string members;
    for (auto at = first; at != path_.end(); ++at) members += fmt::format("`{}` reads ", quantities_[*at].name);
    members += fmt::format("`{}`", quantities_[i].name);
    base::Diagnostic& error = found_.error("O1334", "parameters are calculated from each other: " + members,
                                           marked_[i].known() ? marked_[i] : place_in(first));
    for (auto at = first; at != path_.end(); ++at) {
      broken_[*at] = true;
      if (*at != i && marked_[*at].known())
        error.also(marked_[*at], fmt::format("`{}` is calculated, too", quantities_[*at].name));
    }
    error.hint("give one of them a \"value\"");
  }

  base::Location place_in(std::vector<std::size_t>::const_iterator first) const {
    for (auto at = first; at != path_.end(); ++at)
      if (marked_[*at].known()) return marked_[*at];
    return {};
  }

  void report_missing() {
    for (const auto& [i, reader] : missing_) {
      const equations::Quantity& quantity = quantities_[i];
      const base::Location where = file_ ? base::Location{file_, 0, 0, 1} : base::Location{};
      base::Diagnostic& error =
          found_.error("O1335", fmt::format("`{}` is missing: {}", quantity.name, quantity.description), where);
      if (reader != i) error.note(fmt::format("`{}` is calculated from it", quantities_[reader].name));
      error.hint(fmt::format("add it to `{}`", equations::category_name(quantity.category)));
    }
  }

  void more_than_there_are(const char* used, const char* available, double needs, double has) {
    if (!(needs > has)) return;
    const auto place = [&](const char* name) { return out_.where[position(*equations::find_quantity(name))]; };
    found_
        .error("O1338", fmt::format("the mapping uses {} accelerators where there are {}", needs, has),
               place(available))
        .note(fmt::format("`{}` comes to {}, the product of the degrees; `{}` is {}", used, needs, available, has))
        .hint("lower the degrees of parallelism, or raise what there is");
  }

  // Formulas of usable numbers can still leave what doubles carry.
  void check_results() {
    for (std::size_t i = 0; i < quantities_.size(); ++i) {
      const double value = out_.quantities.*quantities_[i].field;
      if (out_.origin[i] == Origin::kCalculated && !std::isfinite(value))
        found_.error("O1333",
                     fmt::format("`{}` comes to {}: a value that it is calculated from is far out of range",
                                 quantities_[i].name, value),
                     out_.where[i]);
    }
    const equations::Quantities& q = out_.quantities;
    more_than_there_are("accelerators_per_node_required", "number_of_accelerators_per_node",
                        q.node_accelerators_required, q.node_accelerators);
    if (!found_.has_errors())
      more_than_there_are("number_of_accelerators_required", "total_number_of_accelerators", q.accelerators_required,
                          q.accelerators);
    found_.throw_if_errors();
  }

 public:
  File file_;

 private:
  const equations::Defects& defects_;
  base::Diagnostics& found_;
  std::span<const equations::Quantity> quantities_;
  std::vector<base::Location> marked_;  // where the file says that it is calculated
  std::vector<bool> broken_;            // reported already, or reads what is
  std::vector<int> state_;              // 1: being calculated, 2: done
  std::vector<std::size_t> path_;
  struct Missing {
    std::size_t quantity, reader;
  };
  std::vector<Missing> missing_;
};

const std::map<std::string, std::string>& short_names() {
  static const std::map<std::string, std::string> names = {
      {"dp_intra", "intra_node_data_parallel_degree"},     {"dp_inter", "inter_node_data_parallel_degree"},
      {"tp_intra", "intra_node_tensor_parallel_degree"},   {"tp_inter", "inter_node_tensor_parallel_degree"},
      {"pp_intra", "intra_node_pipeline_parallel_degree"}, {"pp_inter", "inter_node_pipeline_parallel_degree"},
  };
  return names;
}

std::string long_name(const std::string& name) {
  const auto found = short_names().find(name);
  return found == short_names().end() ? name : found->second;
}

std::string meant_flat(const std::string& name) {
  std::vector<std::string> names;
  for (const equations::Quantity& quantity : equations::quantity_table()) names.emplace_back(quantity.name);
  for (const auto& [brief, full] : short_names()) names.push_back(brief);
  return base::did_you_mean(name, names);
}

}  // namespace

Resolved resolve(const Config& config, const LookupTables& tables, const equations::Defects& defects,
                 base::Diagnostics& found) {
  Resolver resolver(defects, found);
  resolver.file_ = config.file;
  for (const Category& category : config.categories)
    for (const Parameter& parameter : category.parameters) resolver.add(parameter, category, tables);
  const auto row = [&](equations::Category category, std::string& name) {
    const Category& from = config.categories.at(static_cast<std::size_t>(category));
    if (from.has_lookup && !from.lookup.row.text.empty()) name = from.lookup.row.text;
  };
  row(equations::Category::kNetwork, resolver.out_.transformer);
  row(equations::Category::kAccelerator, resolver.out_.accelerator);
  return resolver.finish();
}

Resolved resolve_flat(const File& file, const Overrides& overrides, const equations::Defects& defects,
                      base::Diagnostics& found) {
  const Node whole = json::parse(file, "O1320", "the flat form is one JSON object of numbers by name");
  if (!whole.is_object())
    base::fail("O1320", fmt::format("parameters by name are a JSON object, but this is {}", json::describe(whole)),
               whole.where);
  const json::Member* inner = whole.find("config");
  const Node& root = inner != nullptr && inner->value.is_object() ? inner->value : whole;
  Resolver resolver(defects, found);
  resolver.file_ = file;
  for (const json::Repeated& twice : json::repeated(root))
    found.warning("O1324", fmt::format("`{}` is given twice", twice.last->key), twice.last->key_where)
        .label("this one counts")
        .also(twice.first->key_where, "given here first");
  const auto take = [&](const std::string& name, const Node& value, const base::Location& where) {
    const equations::Quantity* quantity = equations::find_quantity(long_name(name));
    if (quantity == nullptr) {
      if (is_parameter(name)) return;
      found.error("O1325", fmt::format("AMPeD has no parameter `{}`", name), where).hint(meant_flat(name));
      return;
    }
    resolver.state(*quantity, value);
  };
  for (const json::Member& member : root.members) {
    const bool replaced = std::any_of(overrides.begin(), overrides.end(),
                                      [&](const auto& o) { return long_name(o.path) == long_name(member.key); });
    if (!replaced && root.find(member.key) == &member) take(member.key, member.value, member.key_where);
  }
  for (const base::Override& set : overrides) {
    Node value;
    value.kind = Node::Kind::kText;
    value.text = set.value;
    value.where = {base::value_text(set), 1, 1, static_cast<int>(std::max<std::size_t>(1, set.value.size()))};
    take(set.path, value, value.where);
  }
  return resolver.finish();
}

}  // namespace orrery::formats::amped
