#include "orrery/formats/timeloop/documents/merge_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "orrery/base/text/file_kind.h"
#include "orrery/formats/timeloop/documents/globals.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using Entry = yaml::Node::Entry;

const std::vector<std::string>& top_level_keys() {
  static const std::vector<std::string> kKeys = {"architecture",
                                                 "compound_components",
                                                 "components",
                                                 "variables",
                                                 "constraints",
                                                 "architecture_constraints",
                                                 "mapspace_constraints",
                                                 "mapspace",
                                                 "problem",
                                                 "mapper",
                                                 "mapping",
                                                 "padded",
                                                 "globals",
                                                 "sparse_optimizations",
                                                 "ERT",
                                                 "ART",
                                                 "ERT_summary",
                                                 "ART_summary",
                                                 "flattened_architecture",
                                                 "dumped_by_timeloop_front_end",
                                                 "orrery"};
  return kKeys;
}

bool is_one_of(const std::string& key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool same_value(const yaml::Node& a, const yaml::Node& b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.items.size() == b.items.size() &&
         a.entries.size() == b.entries.size() &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), same_value) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(),
                    [](const Entry& x, const Entry& y) { return x.key == y.key && same_value(x.value, y.value); });
}

// `mapping: []`, as Timeloop's front end dumps it: the key stands there, but nothing is given.
bool is_empty(const yaml::Node& node) {
  return node.is_null() || (node.is_sequence() && node.items.empty()) || (node.is_map() && node.entries.empty());
}

// What `energy -o` and Accelergy write: a list of components.
bool is_flattened(const yaml::Node& architecture) {
  return architecture.is_map() && architecture.find("local") != nullptr && architecture.find("subtree") == nullptr &&
         architecture.find("nodes") == nullptr;
}

void given_twice(const std::string& what, const base::Location& again, const base::Location& first,
                 base::Diagnostics& found) {
  auto& diagnostic = found.error("O0110", fmt::format("{} is given twice", what), again);
  diagnostic.label("given again here").also(first, "first given here");
  if (again.file == first.file) {
    diagnostic.hint("remove one of them");
  } else {
    diagnostic.hint("give only one of these files, or remove it from one of them");
  }
}

void append_items(yaml::Node& into, yaml::Node& from) {
  std::move(from.items.begin(), from.items.end(), std::back_inserter(into.items));
}

// A map that grows, with its entries by plain key; of equal ones the first.
class Merged {
 public:
  explicit Merged(yaml::Node& map) : map_(map) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) at_.emplace(plain_key(map.entries[i].key), i);
  }
  yaml::Node* find(const std::string& key) {
    const auto at = at_.find(plain_key(key));
    return at == at_.end() ? nullptr : &map_.entries[at->second].value;
  }
  void add(Entry entry) {
    at_.emplace(plain_key(entry.key), map_.entries.size());
    map_.entries.push_back(std::move(entry));
  }

 private:
  yaml::Node& map_;
  std::map<std::string, std::size_t> at_;
};

// `{targets: [...]}` for a bare list, so that both spellings add up.
void wrap_list(yaml::Node& node, const std::string& list_key) {
  if (!node.is_sequence()) return;
  yaml::Node map;
  map.kind = yaml::Node::Kind::kMap;
  map.where = node.where;
  map.entries.push_back({list_key, node.where, std::move(node)});
  node = std::move(map);
}

// Maps whose `list_key` adds up and whose other keys must agree.
void merge_lists(const std::string& key, yaml::Node& into, yaml::Node& from, const std::string& list_key,
                 base::Diagnostics& found) {
  if (from.is_null()) return;
  if (into.is_null()) {
    into = std::move(from);
    return;
  }
  wrap_list(into, list_key);
  wrap_list(from, list_key);
  if (!into.is_map() || !from.is_map()) {
    given_twice(fmt::format("`{}`", key), from.where, into.where, found);
    return;
  }
  Merged merged(into);
  for (Entry& entry : from.entries) {
    yaml::Node* present = merged.find(entry.key);
    if (present == nullptr) {
      merged.add(std::move(entry));
    } else if (entry.key == list_key && present->is_sequence() && entry.value.is_sequence()) {
      append_items(*present, entry.value);
    } else if (plain_key(entry.key) != "version" && !same_value(*present, entry.value)) {
      given_twice(fmt::format("`{}.{}`", key, entry.key), entry.value.where, present->where, found);
    }
  }
}

void merge_variables(yaml::Node& into, yaml::Node& from, base::Diagnostics& found) {
  if (from.is_null()) return;
  if (into.is_null()) {
    into = std::move(from);
    return;
  }
  if (!into.is_map() || !from.is_map()) {
    given_twice("`variables`", from.where, into.where, found);
    return;
  }
  Merged merged(into);
  for (Entry& entry : from.entries) {
    yaml::Node* present = merged.find(entry.key);
    if (present == nullptr) {
      merged.add(std::move(entry));
    } else if (entry.value.is_null()) {
      continue;
    } else if (present->is_null()) {
      *present = std::move(entry.value);
    } else if (plain_key(entry.key) != "version" && !same_value(*present, entry.value)) {
      auto& diagnostic =
          found.error("O0110", fmt::format("variable `{}` has two values", entry.key), entry.value.where);
      diagnostic.label(fmt::format("here {}", entry.value.is_scalar() ? entry.value.scalar : "another"))
          .also(present->where, fmt::format("here {}", present->is_scalar() ? present->scalar : "another"))
          .hint("keep the one that is meant");
    }
  }
}

// A list of maps, as templates make of the files that they include, is one map: what the same name has in two of them
// must agree. Lists inside are its own items.
void join_list(yaml::Node& variables, base::Diagnostics& found) {
  const auto holds_names = [](const yaml::Node& item) { return item.is_map() || item.is_sequence(); };
  if (!variables.is_sequence() || std::none_of(variables.items.begin(), variables.items.end(), holds_names)) return;
  yaml::Node joined;
  joined.kind = yaml::Node::Kind::kMap;
  joined.where = variables.where;
  for (yaml::Node& item : variables.items) {
    join_list(item, found);
    if (item.is_map() || item.is_null()) {
      merge_variables(joined, item, found);
      continue;
    }
    found.error("O0115", "an item of the list `variables` is not a map of names to values", item.where)
        .hint("write `- NAME: VALUE`, or `variables` as one map");
  }
  variables = std::move(joined);
}

bool lies_with_chip(const Entry& problem, const std::vector<Entry>& top) {
  return std::any_of(top.begin(), top.end(), [&](const Entry& entry) {
    return entry.key == "architecture" && entry.key_where.file == problem.key_where.file;
  });
}

// A chip's file may bring a problem, as an example; a layer that is given beside it takes its place.
void take_layer(Entry& present, Entry entry, bool new_is_example, base::Diagnostics& found) {
  const bool both = new_is_example && present.key_where.file == entry.key_where.file;
  if (both) return given_twice("`problem`", entry.key_where, present.key_where, found);
  if (!new_is_example) std::swap(present, entry);
  auto& note = found.warning("O2027", "the problem that comes with the chip is left aside", entry.key_where);
  note.severity = base::Severity::kNote;
  note.also(present.key_where, "this one is taken");
}

}  // namespace

void merge_document(yaml::Node document, std::vector<Entry>& top, base::Diagnostics& found) {
  if (document.is_null()) {
    found.warning("O0114", "the document is empty", document.where);
    return;
  }
  if (!document.is_map()) {
    found.error("O0114", "the document has no top-level keys", document.where)
        .note("a Timeloop document is a map with keys such as " + quoted_list(std::span(top_level_keys()).first(5)))
        .hint(document.where.file == nullptr ? std::string() : base::other_text_format(document.where.file->text));
    return;
  }
  // What ZigZag calls hardware has other keys and no nesting.
  if (document.find("operational_array") != nullptr && document.find("architecture") == nullptr) {
    found.error("O0114", "this is a hardware description of ZigZag, and no Timeloop document", document.where)
        .note("its `operational_array` and `memories` are a chip in other terms, which are not read")
        .hint(
            "describe the chip as Timeloop does, under `architecture`, or take one of the catalogue: `orrery catalog`");
    return;
  }
  const bool describes_chip = document.find("architecture") != nullptr || document.find("arch") != nullptr;
  for (Entry& entry : document.entries) {
    std::string key = plain_key(entry.key);
    if (key.find("ignore") != std::string::npos) continue;                    // the user's own: Timeloop's rule
    if (key == "arch") entry.key = key = "architecture";                      // the first form's name
    if (key == "extra_mapping_constraints") entry.key = key = "constraints";  // timeloopfe adds them up, too
    if (std::find(top_level_keys().begin(), top_level_keys().end(), key) == top_level_keys().end()) {
      auto& diagnostic =
          found.warning("O0112", fmt::format("the top-level key `{}` has no meaning here", entry.key), entry.key_where);
      if (key == "workload" || key == "renames") diagnostic.note("it is AccelForge's; a workload is a `problem` here");
      suggest(diagnostic, entry.key, top_level_keys(), "known keys");
      continue;
    }
    if (key == "globals") warn_of_environment(entry.value, found);
    if (key == "variables") join_list(entry.value, found);
    if (key == "mapping" && is_empty(entry.value)) continue;
    const auto present =
        std::find_if(top.begin(), top.end(), [&](const Entry& other) { return plain_key(other.key) == key; });
    if (present == top.end()) {
      top.push_back(std::move(entry));
    } else if (is_empty(entry.value)) {
      continue;
    } else if (is_empty(present->value)) {
      *present = std::move(entry);
    } else if (is_one_of(key, {"constraints", "architecture_constraints", "mapspace_constraints", "mapspace"})) {
      merge_lists(key, present->value, entry.value, "targets", found);
    } else if (is_one_of(key, {"components", "compound_components"})) {
      merge_lists(key, present->value, entry.value, "classes", found);
    } else if (key == "variables") {
      merge_variables(present->value, entry.value, found);
    } else if (key == "architecture" && is_flattened(entry.value)) {
      continue;  // a result, beside what it was made of
    } else if (key == "architecture" && is_flattened(present->value)) {
      *present = std::move(entry);
    } else if (key == "problem" && (describes_chip || lies_with_chip(*present, top))) {
      take_layer(*present, std::move(entry), describes_chip, found);
    } else if (!is_one_of(key, {"dumped_by_timeloop_front_end", "globals", "orrery", "ERT_summary", "ART_summary",
                                "flattened_architecture"})) {
      given_twice(fmt::format("`{}`", entry.key), entry.key_where, present->key_where, found);
    }
  }
}

}  // namespace orrery::formats::timeloop
