// A text-format protocol buffer as plain data: blocks of entries, each with its place.
//
// libprotobuf's TextFormat reads the text, so that what is accepted is what DFModel accepts; messages, places and
// what is said about mistakes are ours. Singular fields that are given twice are both kept here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/dfmodel/setup_schema.h"

namespace orrery::formats::dfmodel {

struct Entry;

struct Block {
  const BlockType* type = nullptr;
  base::Location where;  // its name
  std::vector<Entry> entries;
  std::vector<base::Location> unknown;  // names of fields that there are not

  const Entry* find(std::string_view field) const;  // the first
};

struct Entry {
  const FieldType* field = nullptr;
  base::Location where;  // `name: value`, of a block its name
  bool broken = false;   // an error was reported for its value, which is a stand-in
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  int choice = 0;    // number of the name, from 1; 0: unset
  std::string text;  // of a text
  Block block;       // of a block
};

struct ParsedText {
  Block root;
  bool complete = true;  // false: a mistake of syntax ended the reading
};

// Reads the whole text. Errors: O1400 (syntax), O1401 (values of another type, unknown names of an enumeration,
// whole numbers beyond 64 bits), O1403 (fields given twice); warnings: O1402 (unknown fields).
ParsedText parse_text(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
