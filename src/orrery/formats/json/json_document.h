// JSON texts as trees whose every part knows its place, duplicate keys kept: what readers of foreign JSON files need
// for messages that point. The grammar is nlohmann-json's (strict: no comments, no trailing commas).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::json {

struct Member;

struct Node {
  enum class Kind { kNull, kTruth, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool truth = false;
  double number = 0;            // finite
  std::string text;             // of texts, decoded; of numbers, as written
  std::vector<Node> items;      // of lists
  std::vector<Member> members;  // of objects, in order, duplicates included
  base::Location where;         // the value's first line; of lists and objects, the bracket that opens them

  bool is_null() const { return kind == Kind::kNull; }
  bool is_number() const { return kind == Kind::kNumber; }
  bool is_text() const { return kind == Kind::kText; }
  bool is_object() const { return kind == Kind::kObject; }

  // The last member of that name, which counts; null when there is none.
  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;
  base::Location key_where;
  Node value;
};

// Throws InputError with `code` where the text is no JSON, a number fits no double, or brackets nest deeper than 64;
// O0103 where there are more than a million values.
// `hint` goes with the first of these. O(text).
Node parse(const std::shared_ptr<const base::SourceFile>& file, const std::string& code, const std::string& hint = {});

// The same of a text that Python wrote, whose infinite numbers and what is no number stand bare: `Infinity`,
// `-Infinity` and `NaN` are texts of that name, so that whoever asks for a number refuses them.
Node parse_pythons(const std::shared_ptr<const base::SourceFile>& file, const std::string& code,
                   const std::string& hint = {});

// "the number 3", "a list", ...: what a value is, for messages.
std::string describe(const Node& node);

// The members that a later one of the same name replaces, each with the one that counts.
struct Repeated {
  const Member* first;
  const Member* last;
};
std::vector<Repeated> repeated(const Node& object);

}  // namespace orrery::formats::json
