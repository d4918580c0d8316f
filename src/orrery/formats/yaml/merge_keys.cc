#include "orrery/formats/yaml/merge_keys.h"

#include <iterator>
#include <map>

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

void drop_merge_tags(Node& node) {
  if (node.tag == kNoMerge) node.tag.clear();
  for (Node& item : node.items) drop_merge_tags(item);
  for (Node::Entry& entry : node.entries) drop_merge_tags(entry.value);
}

}  // namespace orrery::formats::yaml
