#include "orrery/formats/yaml/merge_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace orrery::formats::yaml {
namespace {

constexpr std::string_view kNoMerge = "!nomerge";

void merge_values(Node& into, Node& from) {
  if (into.tag == kNoMerge) return;
  if (into.is_map() && from.is_map()) merge_entries(into, std::move(from), true);
  if (into.is_sequence() && from.is_sequence())
    std::move(from.items.begin(), from.items.end(), std::back_inserter(into.items));
}

}  // namespace

void merge_entries(Node& into, Node source, bool deep) {
  std::map<std::string, std::size_t, std::less<>> own;
  for (std::size_t i = 0; i < into.entries.size(); ++i) own.emplace(into.entries[i].key, i);
  for (Node::Entry& entry : source.entries) {
    const auto present = own.find(entry.key);
    if (present == own.end())
      into.entries.push_back(std::move(entry));
    else if (deep)
      merge_values(into.entries[present->second].value, entry.value);
  }
}

bool awaits_value(const Node& node) {
  return node.scalar.starts_with(kPlaceholder) || std::any_of(node.items.begin(), node.items.end(), awaits_value);
}

void merge_filled(Node& node) {
  for (Node& item : node.items) merge_filled(item);
  std::vector<Node::Entry> merges;
  for (Node::Entry& entry : node.entries) {
    merge_filled(entry.value);
    if (entry.key == "<<" || entry.key == "<<<") merges.push_back(std::move(entry));
  }
  if (merges.empty()) return;
  std::erase_if(node.entries,
                [](const Node::Entry& entry) { return entry.key.empty() || entry.key.starts_with("<<"); });
  for (Node::Entry& merge : merges) {
    std::vector<Node> sources;
    if (merge.value.is_sequence())
      sources = std::move(merge.value.items);
    else
      sources.push_back(std::move(merge.value));
    for (Node& source : sources) {
      if (!source.is_map())
        base::fail("O0101", fmt::format("`{}` merges a map, or a list of maps", merge.key), merge.key_where);
      merge_entries(node, std::move(source), merge.key == "<<<");
    }
  }
}

void drop_merge_tags(Node& node) {
  if (node.tag == kNoMerge) node.tag.clear();
  for (Node& item : node.items) drop_merge_tags(item);
  for (Node::Entry& entry : node.entries) drop_merge_tags(entry.value);
}

}  // namespace orrery::formats::yaml
