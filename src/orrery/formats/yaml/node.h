// A YAML document with the place of every value. The only door to yaml-cpp, which node.cc hides.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/text_file.h"

namespace orrery::formats::yaml {

struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string tag;      // "!Container", or empty where the document has none
  std::string scalar;   // the text of a scalar, unquoted
  bool quoted = false;  // a scalar in quotes
  base::Location where;
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in document order, duplicates included

  bool is_map() const { return kind == Kind::kMap; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_null() const { return kind == Kind::kNull; }

  // Value of `key` in a map, or null. `-` and `_` in keys are the same letter (Timeloop's rule).
  // With duplicates: the last (as Python's loaders do).
  const Node* find(std::string_view key) const;
};

struct Node::Entry {
  std::string key;
  base::Location key_where;
  Node value;
};

// Parses one file, which may hold several documents; syntax errors become O0101. Duplicate keys are reported
// as O0102 with the severity given, showing both places. Never throws anything but InputError.
std::vector<Node> parse(const std::shared_ptr<const base::SourceFile>& file, base::Severity duplicate_keys,
                        base::Diagnostics& found);

using base::read_file;  // where the texts come from

}  // namespace orrery::formats::yaml
