#include "orrery/formats/timeloop/documents/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/architecture/unread.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

std::string name_in_list(const yaml::Node& item) {
  for (std::string_view key : {"name", "target"}) {
    const yaml::Node* name = item.find(key);
    if (name != nullptr && name->is_scalar()) return split_range(name->scalar).first;
  }
  return "";
}

// Looks through lists of nodes inside the items too: `!Parallel` has no name of its own.
yaml::Node* named_item(yaml::Node& list, std::string_view name, std::vector<std::string>& names) {
  for (yaml::Node& item : list.items) {
    const std::string own = name_in_list(item);
    if (!own.empty()) names.push_back(own);
    if (own == name) return &item;
    for (yaml::Node::Entry& entry : item.entries) {
      if (entry.key != "nodes" || !entry.value.is_sequence()) continue;
      if (yaml::Node* found = named_item(entry.value, name, names)) return found;
    }
  }
  return nullptr;
}

// The child of `node` that `step` names, or null with the names there are.
yaml::Node* child(yaml::Node& node, std::string_view step, std::vector<std::string>& names) {
  if (node.is_map()) {
    yaml::Node* last = nullptr;
    for (yaml::Node::Entry& entry : node.entries) {
      names.push_back(entry.key);
      if (plain_key(entry.key) == plain_key(step)) last = &entry.value;
    }
    return last;
  }
  if (!node.is_sequence()) return nullptr;
  if (yaml::Node* item = named_item(node, step, names)) return item;
  const auto index = base::parse_number<std::size_t>(step);
  return index && *index < node.items.size() ? &node.items[*index] : nullptr;
}

// `arch.NAME.KEY` is short for a key of a node of the architecture, wherever it lies: of the node itself, of its
// `spatial` or among its `attributes`.
constexpr std::string_view kShort = "arch.";

bool has_key(const std::vector<yaml::Node::Entry>& top, std::string_view key) {
  return std::any_of(top.begin(), top.end(), [&](const auto& entry) { return plain_key(entry.key) == key; });
}

// Nodes of the version 4 lie in lists `nodes`, those before it in lists `subtree` and `local`.
void nodes_of(yaml::Node& node, std::vector<yaml::Node*>& out) {
  if (node.is_map() && !name_in_list(node).empty()) out.push_back(&node);
  for (yaml::Node& item : node.items) nodes_of(item, out);
  for (yaml::Node::Entry& entry : node.entries)
    if (entry.value.is_sequence()) nodes_of(entry.value, out);
}

std::vector<yaml::Node*> nodes_of_chip(std::vector<yaml::Node::Entry>& top) {
  std::vector<yaml::Node*> out;
  for (yaml::Node::Entry& entry : top)
    if (plain_key(entry.key) == "architecture") nodes_of(entry.value, out);
  return out;
}

void names_of_chip(std::vector<yaml::Node::Entry>& top, std::vector<std::string>& names) {
  for (const yaml::Node* node : nodes_of_chip(top)) names.push_back(name_in_list(*node));
}

// The part of a node that holds the key which `rest` names after the node's name. `begin`: where in `rest` what is left
// to walk begins; `walked`: what to call what was walked. Null where there is no such node.
yaml::Node* part_of_chip(std::vector<yaml::Node::Entry>& top, std::string_view rest, std::size_t& begin,
                         std::string& walked) {
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view name = rest.substr(0, dot);
  const std::string_view key = rest.substr(dot + 1, rest.find('.', dot + 1) - dot - 1);
  for (yaml::Node* node : nodes_of_chip(top)) {
    if (name_in_list(*node) != name) continue;
    begin = dot + 1;
    walked = name;
    yaml::Node* attributes = nullptr;
    for (yaml::Node::Entry& entry : node->entries) {
      if (plain_key(entry.key) == plain_key(key)) return node;
      if (!entry.value.is_map()) continue;
      if (entry.key == "attributes") attributes = &entry.value;
      if ((entry.key == "attributes" || entry.key == "spatial") && has_key(entry.value.entries, plain_key(key))) {
        walked += "." + entry.key;
        return &entry.value;
      }
    }
    if (attributes == nullptr) return node;
    walked += ".attributes";
    return attributes;
  }
  return nullptr;
}

void point_into(yaml::Node& node, const std::shared_ptr<const base::SourceFile>& file) {
  node.where.file = file;
  for (yaml::Node& item : node.items) point_into(item, file);
  for (yaml::Node::Entry& entry : node.entries) {
    entry.key_where.file = file;
    point_into(entry.value, file);
  }
}

// Attributes and variables are the user's own: a new one may come, unless it looks like a slip.
bool takes_new_key(const std::string& walked, const yaml::Node& node, const std::string& step,
                   const std::vector<std::string>& names) {
  const std::string last = plain_key(walked.substr(walked.rfind('.') + 1));
  if (!node.is_map() || step.empty() || (last != "attributes" && last != "variables")) return false;
  return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::min(name.size(), step.size()) >= 3 && base::edit_distance(plain_key(name), plain_key(step)) <= 1;
  });
}

// The value of another override may name what this one adds.
bool named_by_one(const base::Overrides& overrides, const std::string& step) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const base::Override& set) {
    yaml::Node::Entry entry;
    entry.value.scalar = set.value;
    return names_read({entry}).contains(step);
  });
}

// A new variable that no expression names has no effect, so one that resembles another is a slip for it.
bool resembles_one(const std::string& step, const std::vector<std::string>& names) {
  return !base::closest(step, names).empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::min(name.size(), step.size()) >= 3 && (name.starts_with(step) || step.starts_with(name));
  });
}

}  // namespace

void apply_override(std::vector<yaml::Node::Entry>& top, const base::Override& set, const base::Overrides& all,
                    base::Diagnostics& found) {
  const auto& [path, value] = set;
  const base::OverrideText shown(set);
  base::Location first_of_value = shown.value();
  first_of_value.length = 1;
  // Parsed with blanks for the path, so that columns are those of the text shown.
  const auto padded = base::value_text(set);
  padded->text.insert(0, path.size() + 1, ' ');
  base::Diagnostics trouble;
  auto documents = yaml::parse(padded, base::Severity::kError, trouble);
  if (documents.empty() && !trouble.has_errors()) documents.emplace_back();
  if (trouble.has_errors() || documents.size() != 1) {
    found.error("O0111", fmt::format("`{}` is not a YAML value", value), first_of_value);
    return;
  }

  yaml::Node* node = nullptr;
  std::size_t begin = 0;
  std::string walked;
  if (path.starts_with(kShort) && !has_key(top, "arch")) {
    node = part_of_chip(top, path.substr(kShort.size()), begin, walked);
    begin += kShort.size();
  }
  while (begin <= path.size()) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    const std::string step = path.substr(begin, dot - begin);
    std::vector<std::string> names;
    if (node == nullptr && begin > 0) {
      names_of_chip(top, names);
    } else if (node == nullptr) {
      for (yaml::Node::Entry& entry : top) {
        names.push_back(entry.key);
        if (plain_key(entry.key) == plain_key(step)) node = &entry.value;
      }
      // Expressions, models and estimators look for names there, whether or not a document has the section.
      if (node == nullptr && plain_key(step) == "variables" && dot < path.size()) {
        node = &top.emplace_back(yaml::Node::Entry{"variables", shown.part(begin, step.size()), {}}).value;
        node->kind = yaml::Node::Kind::kMap;
      }
    } else {
      yaml::Node& parent = *node;
      node = child(parent, step, names);
      const bool unread = walked == "variables" && dot == path.size() && node == nullptr && !is_known_attribute(step) &&
                          !names_read(top).contains(step) && !named_by_one(all, step);
      if (node == nullptr && dot == path.size() && takes_new_key(walked, parent, step, names) &&
          !(unread && resembles_one(step, names))) {
        const base::Location where = shown.part(begin, step.size());
        if (unread)
          found.warning("O0118", fmt::format("`--set` adds the variable `{}`, which nothing reads", step), where)
              .note("no expression names it, and neither the model nor an estimator knows it")
              .hint(names.empty() ? "" : fmt::format("the variables are {}", quoted_list(names)));
        else
          found.warning("O0116", fmt::format("`{}` had no `{}`; `--set` adds it", walked, step), where).severity =
              base::Severity::kNote;
        parent.entries.push_back({step, where, {}});
        node = &parent.entries.back().value;
      }
    }
    if (node == nullptr) {
      if (walked.empty() && std::find(names.begin(), names.end(), step) != names.end()) {
        found.error("O0111", fmt::format("`{}` is not a key of `{}`", path, step), shown.path())
            .hint(fmt::format("add the key to change: `{}.KEY=VALUE`", path));
        return;
      }
      auto& diagnostic = found.error("O0111",
                                     walked.empty() && begin > 0 ? fmt::format("the architecture has no `{}`", step)
                                     : walked.empty()            ? fmt::format("the documents have no `{}`", step)
                                                                 : fmt::format("`{}` has no `{}`", walked, step),
                                     shown.part(begin, step.size()));
      if (names.size() > 40) names.resize(40);
      suggest(diagnostic, step, names, "there are");
      return;
    }
    walked = path.substr(0, dot);
    begin = dot + 1;
  }
  std::string tag = node->tag;
  *node = std::move(documents.front());
  if (node->tag.empty()) node->tag = std::move(tag);
  if (!node->where.known()) node->where = first_of_value;
  point_into(*node, shown.file());
}

}  // namespace orrery::formats::timeloop
