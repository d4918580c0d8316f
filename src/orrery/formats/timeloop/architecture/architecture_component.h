// One component of an architecture document, with the attributes that hold there.
//
// Both forms of architecture (v4 nodes, v3 subtrees) flatten to a list of components, outermost first;
// level_builder.h makes a chip of that list.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Attributes of one node and, through `outer`, of everything around it.
struct AttributeFrame {
  explicit AttributeFrame(const Scope& variables) : scope(&variables) {}
  AttributeFrame(const AttributeFrame& around, const yaml::Node* own);

  // The innermost node that gives one of `keys`, or null; YAML null counts as not given.
  const yaml::Node* find(std::string_view key) const;

  const AttributeFrame* outer = nullptr;
  const yaml::Node* attributes = nullptr;  // a map, or null
  Scope scope;
};

enum class ComponentKind { kStorage, kCompute, kNetwork, kUnknown };

struct Component {
  std::string name;
  std::string class_name;
  base::Location where;
  const AttributeFrame* frame = nullptr;  // null: a fan-out made for a container
  bool says_compute = false;              // required_actions: [compute]

  // For estimating what it costs.
  const yaml::Node* node = nullptr;        // null: a fan-out made for a container
  const AttributeFrame* around = nullptr;  // what holds around it
  std::string table_path;                  // v3: names of the subtrees around it, and its own, with their ranges

  // Given by containers (v4) or ranges (v3): how many there are, all around counted.
  base::Count mesh_x = 1;
  base::Count mesh_y = 1;
  base::Count instances = 1;
  bool meshes_known = true;  // false: only `instances` is known (v3 ranges)
  base::Location mesh_where;
};

// What its class, or failing that its attributes, say that a component is.
ComponentKind kind_of(const Component& component);

// A wire: it neither stores nor computes, and no mapping has a place for it.
bool is_wire(const Component& component);

// The class alone names a store ("SRAM", "smartbuffer_RF", ...), so it cannot be the compute.
bool is_storage_class(std::string_view class_name);

// Warns about attributes that look like misspelt known ones (O0322).
void warn_misspelt_attributes(const yaml::Node& attributes, base::Diagnostics& found);

// The same for what only estimators read, and O0326 for scales that are given as attributes. Only for components that
// are estimated, and of no class of the user's, which may read any attribute.
void warn_of_attributes_nobody_estimates_by(const yaml::Node& attributes, base::Diagnostics& found);

// Owns frames, at stable places.
using Frames = std::deque<AttributeFrame>;

}  // namespace orrery::formats::timeloop
