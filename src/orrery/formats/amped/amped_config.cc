// The schema of config.json is AMPeD's; what is unknown in it is a warning, what has the wrong type an error. Order
// never matters: parameters are a set, of equal names the last counts.
#include "orrery/formats/amped/amped_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::amped {
namespace {

using json::Member;
using json::Node;

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for (const equations::Quantity& quantity : equations::quantity_table()) names.emplace_back(quantity.name);
  for (const std::string_view name : equations::unused_parameters()) names.emplace_back(name);
  return names;
}

std::vector<std::string> category_names() {
  std::vector<std::string> names;
  for (int i = 0; i < equations::kCategories; ++i)
    names.emplace_back(equations::category_name(static_cast<equations::Category>(i)));
  return names;
}

class Reader {
 public:
  explicit Reader(base::Diagnostics& found) : found_(found) {}

  Config read(const File& file) {
    const Node root =
        json::parse(file, "O1320", "config.json is strict JSON: double quotes, no comments, no trailing commas");
    if (!root.is_object())
      base::fail("O1320", fmt::format("AMPeD's config.json is a JSON object, but this is {}", json::describe(root)),
                 root.where);
    Config config;
    config.file = file;
    report_repeated(root);
    const std::vector<std::string> names = category_names();
    for (const Member& member : root.members) {
      const auto name = std::find(names.begin(), names.end(), member.key);
      if (name == names.end()) {
        unknown(member, "category", names);
        continue;
      }
      Category& category = config.categories.at(static_cast<std::size_t>(name - names.begin()));
      category = {};
      category.given = true;
      category.where = member.key_where;
      read_category(member, static_cast<equations::Category>(name - names.begin()), category);
    }
    return config;
  }

 private:
  void report_repeated(const Node& object) {
    for (const json::Repeated& twice : json::repeated(object))
      found_.warning("O1324", fmt::format("`{}` is given twice", twice.last->key), twice.last->key_where)
          .label("this one counts")
          .also(twice.first->key_where, "given here first");
  }

  void unknown(const Member& member, const char* what, const std::vector<std::string>& known) {
    found_.warning("O1322", fmt::format("`{}` is not a {} of AMPeD", member.key, what), member.key_where)
        .label("left aside")
        .hint(base::did_you_mean(member.key, known, fmt::format("known: {}", base::joined(known, ", "))));
  }

  void wrong(const Member& member, const char* wanted) {
    found_.error("O1323", fmt::format("`{}` must be {}, but is {}", member.key, wanted, json::describe(member.value)),
                 member.value.where);
  }

  bool flag(const Member& member) {
    if (member.value.kind == Node::Kind::kTruth) return member.value.truth;
    if (!member.value.is_null()) wrong(member, "true or false");
    return false;
  }

  Text text(const Member& member) {
    if (member.value.is_text()) return {member.value.text, member.value.where};
    if (!member.value.is_null()) wrong(member, "a text");
    return {"", member.value.where};
  }

  void read_category(const Member& member, equations::Category which, Category& category) {
    if (!member.value.is_object()) {
      wrong(member, "an object");
      return;
    }
    report_repeated(member.value);
    for (const Member& part : member.value.members) {
      if (part.key == "lookup_config")
        read_lookup(part, category);
      else if (part.key == "parameters")
        read_parameters(part, which, category);
      else
        unknown(part, "part of a category", {"lookup_config", "parameters"});
    }
  }

  void read_lookup(const Member& member, Category& category) {
    if (member.value.is_null()) return;
    if (!member.value.is_object()) {
      wrong(member, "an object");
      return;
    }
    report_repeated(member.value);
    category.has_lookup = true;
    category.lookup.table.where = category.lookup.row.where = member.key_where;
    for (const Member& part : member.value.members) {
      if (part.key == "lookup_table_name")
        category.lookup.table = text(part);
      else if (part.key == "lookup_table_row")
        category.lookup.row = text(part);
      else if (part.key != "description")
        unknown(part, "part of `lookup_config`", {"lookup_table_name", "lookup_table_row"});
    }
  }

  void read_parameters(const Member& member, equations::Category which, Category& category) {
    if (!member.value.is_object()) {
      wrong(member, "an object");
      return;
    }
    report_repeated(member.value);
    category.parameters.clear();
    for (const Member& part : member.value.members) {
      if (member.value.find(part.key) != &part) continue;
      category.parameters.push_back(read_parameter(part, which));
    }
  }

  Parameter read_parameter(const Member& member, equations::Category which) {
    Parameter parameter;
    parameter.name = member.key;
    parameter.where = member.key_where;
    parameter.category = which;
    if (!is_parameter(member.key))
      found_.warning("O1325", fmt::format("AMPeD has no parameter `{}`", member.key), member.key_where)
          .label("left aside")
          .hint(meant_parameter(member.key));
    if (!member.value.is_object()) {
      found_
          .error("O1323", fmt::format("`{}` must be an object, but is {}", member.key, json::describe(member.value)),
                 member.value.where)
          .hint(fmt::format("write {{\"value\": {}}}", member.value.is_number() ? member.value.text : "..."));
      parameter.calculated = true;
      return parameter;
    }
    report_repeated(member.value);
    for (const Member& part : member.value.members) {
      if (part.key == "value") {
        parameter.has_value = !part.value.is_null();
        parameter.value = part.value;
      } else if (part.key == "calculated") {
        parameter.calculated = flag(part);
      } else if (part.key == "from_lookup_table") {
        parameter.from_lookup_table = flag(part);
      } else if (part.key == "lookup_name") {
        parameter.lookup_name = text(part);
      } else if (part.key == "description") {
        parameter.description = text(part).text;
      } else {
        unknown(part, "part of a parameter",
                {"value", "calculated", "from_lookup_table", "lookup_name", "description"});
      }
    }
    return parameter;
  }

  base::Diagnostics& found_;
};

// What an override's path means.
struct Path {
  int category = -1;  // -1: not said
  std::string part;   // "lookup_table_row", "lookup_table_name" or a parameter's name
  bool lookup = false;
};

Path path_of(std::string_view text) {
  Path path;
  const std::vector<std::string> names = category_names();
  const std::size_t dot = text.find('.');
  const auto name = std::find(names.begin(), names.end(), text.substr(0, dot));
  if (dot != std::string_view::npos && name != names.end()) {
    path.category = static_cast<int>(name - names.begin());
    text.remove_prefix(dot + 1);
  }
  for (const std::string_view prefix : {"lookup_config.", "parameters."})
    if (text.rfind(prefix, 0) == 0) {
      path.lookup = prefix[0] == 'l';
      text.remove_prefix(prefix.size());
    }
  if (text.size() > 6 && text.substr(text.size() - 6) == ".value") text.remove_suffix(6);
  path.part = text;
  return path;
}

// A number where the text is one as JSON writes it, else the text itself.
Node value_of(const File& file) {
  try {
    Node node = json::parse(file, "O1320");
    if (node.is_number() || node.is_text()) return node;
  } catch (const base::InputError&) {
  }
  Node node;
  node.kind = Node::Kind::kText;
  node.text = file->text;
  node.where = {file, 1, 1, static_cast<int>(std::max<std::size_t>(1, file->text.size()))};
  return node;
}

void apply(Config& config, const base::Override& set, base::Diagnostics& found) {
  const auto& [where, value] = set;
  const auto file = base::value_text(set);
  const Path path = path_of(where);
  if (path.lookup) {
    if (path.category < 0 || (path.part != "lookup_table_row" && path.part != "lookup_table_name")) {
      found.error("O1325", fmt::format("`--set {}` names no part of a category's lookup", where))
          .hint("write `--set CATEGORY.lookup_config.lookup_table_row=ROW`");
      return;
    }
    Category& category = config.categories.at(static_cast<std::size_t>(path.category));
    category.has_lookup = true;
    const Text text = {value, {file, 1, 1, static_cast<int>(std::max<std::size_t>(1, value.size()))}};
    (path.part == "lookup_table_row" ? category.lookup.row : category.lookup.table) = text;
    return;
  }
  const equations::Quantity* quantity = equations::find_quantity(path.part);
  if (quantity == nullptr) {
    found.error("O1325", fmt::format("`--set {}` names no parameter of the equations", where))
        .hint(meant_parameter(path.part));
    return;
  }
  Category& category = config.categories.at(static_cast<std::size_t>(quantity->category));
  // Wherever the file has it, it is replaced.
  std::string description;
  for (Category& any : config.categories)
    any.parameters.erase(std::remove_if(any.parameters.begin(), any.parameters.end(),
                                        [&](const Parameter& p) {
                                          if (p.name == path.part) description = p.description;
                                          return p.name == path.part;
                                        }),
                         any.parameters.end());
  Parameter parameter;
  parameter.name = path.part;
  parameter.category = quantity->category;
  parameter.has_value = true;
  parameter.value = value_of(file);
  parameter.where = parameter.value.where;
  parameter.description = description;
  category.parameters.push_back(std::move(parameter));
}

}  // namespace

bool is_parameter(std::string_view name) {
  const auto unused = equations::unused_parameters();
  return equations::find_quantity(name) != nullptr || std::find(unused.begin(), unused.end(), name) != unused.end();
}

std::string meant_parameter(std::string_view name) {
  return base::did_you_mean(name, parameter_names());
}

Config read_config(const File& file, const Overrides& overrides, base::Diagnostics& found) {
  Config config = Reader(found).read(file);
  for (const base::Override& set : overrides) apply(config, set, found);
  found.throw_if_errors();
  return config;
}

}  // namespace orrery::formats::amped
