// Inheritance and overrides are settled on the tree, before anything in it has a meaning: maps are merged key by key,
// the nearer file wins, and a path of `--set` walks down and makes what is not there. Places go with the nodes, so
// whatever is wrong is shown where it was written. Cost: linear in the files.
#include "orrery/formats/orrery/system_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/orrery/catalogue_names.h"

namespace orrery::formats::orrery {
namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;
using yaml::Node;

// Children of `over` win; maps are merged key by key, all else is replaced.
Node merged(const Node& under, const Node& over) {
  if (!under.is_map() || !over.is_map()) return over;
  Node result = over;
  for (const Node::Entry& entry : under.entries) {
    const auto same =
        std::find_if(result.entries.begin(), result.entries.end(), [&](const auto& e) { return e.key == entry.key; });
    if (same == result.entries.end())
      result.entries.push_back(entry);
    else if (!same->value.find("value") && !entry.value.find("value"))
      same->value = merged(entry.value, same->value);
  }
  return result;
}

std::optional<std::size_t> index_of(const Node& list, const std::string& part) {
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (const Node* name = list.items[i].find("name"); name && name->scalar == part) return i;
  const auto index = base::parse_number<std::size_t>(part);
  return index && *index < list.items.size() ? index : std::nullopt;
}

void apply(Node& root, const base::Override& set, base::Diagnostics& found) {
  const std::string& path = set.path;
  const base::OverrideText shown(set, "system.");
  Node* at = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const base::Location where = shown.part(begin, part.size());
    if (at->is_sequence()) {
      const auto index = index_of(*at, part);
      if (!index) {
        found.error("O1357", fmt::format("there is no network `{}` to override", part), where)
            .hint(at->items.empty()
                      ? "the system has no networks"
                      : fmt::format("networks are counted from 0 to {}, or go by their names", at->items.size() - 1));
        return;
      }
      at = &at->items[*index];
    } else if (at->is_map() && !at->find("value")) {
      const auto same =
          std::find_if(at->entries.begin(), at->entries.end(), [&](const auto& e) { return e.key == part; });
      if (same == at->entries.end()) {
        Node empty;
        empty.kind = Node::Kind::kMap;
        empty.where = where;
        at->entries.push_back({part, where, empty});
        at = &at->entries.back().value;
      } else {
        at = &same->value;
      }
    } else {
      found.error("O1357", fmt::format("`{}` has nothing below it to override", path.substr(0, begin - 1)), where);
      return;
    }
    begin = end + 1;
  }
  Node scalar;
  scalar.kind = Node::Kind::kScalar;
  scalar.tag = kSystemOverride;
  scalar.scalar = set.value;
  scalar.where = shown.value();
  *at = scalar;
}

// What stands in the place of a chip that is described by figures goes, when a chip comes.
void leave_to_chip(Node& root) {
  for (Node::Entry& entry : root.entries)
    if (entry.key == "accelerator")
      std::erase_if(entry.value.entries, [](const Node::Entry& figure) {
        return figure.key == "chip" || figure.key == "memory" || figure.key == "power" || is_of_chip(figure.key) ||
               figure.key == "name";
      });
}

bool names_chip(const Node& root) {
  const Node* accelerator = root.find("accelerator");
  return accelerator != nullptr && accelerator->find("chip") != nullptr;
}

// Nobody rents the one accelerator at the other one's price; nor does it compute in formats that the other has, where
// it says its own peaks.
void leave_to_another(const Node& accelerator, Node& root) {
  const bool rates = accelerator.find("peak") != nullptr;
  for (Node::Entry& entry : root.entries)
    if (entry.key == "accelerator")
      std::erase_if(entry.value.entries, [&](const Node::Entry& figure) {
        return figure.key == "price" || (rates && figure.key == "peak");
      });
}

bool names_accelerator(const Node& root) {
  const Node* accelerator = root.find("accelerator");
  return accelerator != nullptr && accelerator->find("name") != nullptr;
}

// A file that was read on the way, and what it was called there.
struct Visited {
  std::string path, name;
};

// The map below `system:`, with what it is `like` merged under it. `behind` are the files that led here, this one
// included.
Node gathered(const std::string& directory, std::vector<Visited> behind, std::shared_ptr<const base::SourceFile>& file,
              base::Diagnostics& found) {
  const std::string path = behind.back().path;
  if (!file) file = yaml::read_file(path);
  const std::vector<Node> documents = yaml::parse(file, base::Severity::kError, found);
  found.throw_if_errors();
  if (documents.size() != 1 || !documents[0].find("system"))
    base::fail("O1352", "a system's file has one document with the key `system`", {file, 0, 0, 1});
  for (const Node::Entry& entry : documents[0].entries)
    if (entry.key != "system")
      found.error("O1351", fmt::format("a system's file has no field `{}`", entry.key), entry.key_where)
          .note("it has: system");
  Node root = *documents[0].find("system");
  const Node* like = root.find("like");
  if (!like) return root;
  const fs::path beside = (fs::path(path).parent_path() / like->scalar).lexically_normal();
  const bool named = has_entry(directory, kSystem, like->scalar);
  const std::string next = named ? entry_path(directory, kSystem, like->scalar) : beside.string();
  std::error_code ignored;
  std::string chain;
  for (const Visited& one : behind)
    if (!chain.empty() || fs::weakly_canonical(one.path, ignored) == fs::weakly_canonical(next, ignored))
      chain += fmt::format("`{}` -> ", one.name);
  if (!chain.empty())
    base::fail("O1355", fmt::format("systems are like each other in a circle: {}`{}`", chain, like->scalar),
               like->where, "one of them must say itself what it is");
  if (!named && !(names_a_system_file(like->scalar) && fs::exists(beside, ignored)))
    base::fail("O1355", fmt::format("there is no system `{}` to be like", like->scalar), like->where,
               base::did_you_mean(like->scalar, catalogue_names(directory, kSystem)));
  std::shared_ptr<const base::SourceFile> other;
  behind.push_back({next, like->scalar});
  Node under = gathered(directory, behind, other, found);
  if (names_chip(root)) leave_to_chip(under);
  if (names_accelerator(root)) leave_to_another(*root.find("accelerator"), under);
  return merged(under, root);
}

}  // namespace

bool names_a_system_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

bool is_of_chip(const std::string& key) {
  constexpr std::string_view kSaid[] = {
      "peak",       "units",     "memory_bandwidth", "memory_efficiency", "on_chip_memory", "matrix_efficiency",
      "fill_depth", "attention", "sustained"};
  return std::find(std::begin(kSaid), std::end(kSaid), key) != std::end(kSaid);
}

Node system_tree(const std::string& directory, const std::string& path, const base::Overrides& overrides,
                 std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found) {
  const bool entry = path == entry_path(directory, kSystem, fs::path(path).stem().string());
  Node root = gathered(directory, {{path, entry ? fs::path(path).stem().string() : path}}, file, found);
  if (std::any_of(overrides.begin(), overrides.end(), [](const auto& set) { return set.path == "accelerator.chip"; }))
    leave_to_chip(root);
  for (const base::Override& set : overrides) apply(root, set, found);
  return root;
}

}  // namespace orrery::formats::orrery
