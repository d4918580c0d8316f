// The messages of DFModel's setup file: names, types and tags of all fields, of all generations of DFModel at once.
//
// A table in code instead of a .proto file: nothing needs to be generated, and messages can say what is allowed. Tags
// matter in binary files only; where DFModel's are not known, free ones stand in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::formats::dfmodel {

enum class FieldKind { kInteger, kReal, kFlag, kText, kChoice, kBlock };

struct BlockType;

// Names of an enumeration; a name's number is its index + 1, and 0 means unset.
struct ChoiceType {
  std::string name;
  std::vector<std::string> values;
};

struct FieldType {
  std::string name;
  int tag = 0;
  FieldKind kind = FieldKind::kInteger;
  bool repeated = false;
  bool wide = false;                    // of kReal: 64 bits; all others pass through 32
  const ChoiceType* choices = nullptr;  // of kChoice
  const BlockType* block = nullptr;     // of kBlock
};

struct BlockType {
  std::string name;
  std::vector<FieldType> fields;

  const FieldType* find(std::string_view field) const;
  std::vector<std::string> field_names() const;
};

struct Schema {
  std::vector<ChoiceType> choices;
  std::vector<BlockType> blocks;  // the first is the whole file

  const BlockType* find(std::string_view block) const;
  // The first field of that name in any block.
  const FieldType* find_field(std::string_view field) const;
};

// Built at the first call.
const Schema& schema();

// Fields of `System` that are a topology, and those of `Execution` that are a workload.
const std::vector<std::string>& topology_names();
const std::vector<std::string>& workload_names();

}  // namespace orrery::formats::dfmodel
