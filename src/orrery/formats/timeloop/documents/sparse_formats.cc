#include "orrery/formats/timeloop/documents/sparse_formats.h"

#include <string>

#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using Entry = yaml::Node::Entry;

bool is_empty(const yaml::Node& node) {
  return node.is_null() || (node.is_sequence() && node.items.empty()) || (node.is_map() && node.entries.empty());
}

// The first format, or null.
const Entry* format_in(const Entry& entry) {
  if (plain_key(entry.key) == "representation_format") return is_empty(entry.value) ? nullptr : &entry;
  for (const Entry& inner : entry.value.entries)
    if (const Entry* found = format_in(inner)) return found;
  for (const yaml::Node& item : entry.value.items)
    for (const Entry& inner : item.entries)
      if (const Entry* found = format_in(inner)) return found;
  return nullptr;
}

void check(const Entry& entry, bool ignored, base::Diagnostics& found) {
  if (plain_key(entry.key) == "sparse_optimizations") {
    if (is_empty(entry.value)) return;
    const Entry* format = format_in(entry);
    if (ignored) {
      found.warning("O2028", "sparse optimisations are left aside", entry.key_where).severity = base::Severity::kNote;
    } else if (format != nullptr) {
      found.error("O2028", "formats of sparse data are not modelled", format->key_where)
          .note("their metadata would take words and energy")
          .hint("`--ignore-density` models the dense problem, without them");
    }
    return;
  }
  for (const Entry& inner : entry.value.entries) check(inner, ignored, found);
  for (const yaml::Node& item : entry.value.items)
    for (const Entry& inner : item.entries) check(inner, ignored, found);
}

}  // namespace

void check_sparse_formats(const std::vector<Entry>& top, bool ignored, base::Diagnostics& found) {
  for (const Entry& entry : top)
    if (plain_key(entry.key) == "architecture" || plain_key(entry.key) == "sparse_optimizations")
      check(entry, ignored, found);
}

}  // namespace orrery::formats::timeloop
