// The two forms of an architecture document, flattened. Internal to architecture.cc.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/architecture/architecture_component.h"

namespace orrery::formats::timeloop {

// A branch of `!Parallel`, by component names; levels are known once the chip is built.
struct ParallelNames {
  struct Branch {
    std::vector<std::string> components;
    const yaml::Node* nothing = nullptr;
  };
  std::vector<Branch> branches;
  base::Location where;
};

// Parts of a flat form whose energies are ratios to a multiplication, and parts that have energies of their own in pJ.
struct Ratios {
  std::vector<std::string> relative, given;
};

struct Flattened {
  std::string name;
  std::vector<Component> components;  // outermost first
  std::vector<AttachedConstraints> attached;
  std::vector<ParallelNames> parallel;
  Frames frames;
  bool priced = false;  // the first form, `arithmetic` and `storage`: its chip has energies of its own
  Ratios ratios;
  std::deque<yaml::Node> made;  // attributes that no document has as they are
};

// `nodes` and `subtree` are the values of those keys; `top` holds variables and the architecture's own.
void flatten_nodes(const yaml::Node& nodes, const AttributeFrame& top, Flattened& into, base::Diagnostics& found);
void flatten_subtree(const yaml::Node& subtree, const AttributeFrame& top, Flattened& into, base::Diagnostics& found);
void flatten_local(const yaml::Node& local, const AttributeFrame& top, Flattened& into, base::Diagnostics& found);
void flatten_lists(const yaml::Node& storage, const yaml::Node* arithmetic, const AttributeFrame& top, Flattened& into,
                   base::Diagnostics& found);

// Energies where a flat form's file brings no others: Timeloop's own rule (architecture_flat.cc).
Ratios apply_ratios(const Flattened& flat, machine::Chip& chip, base::Diagnostics& found);
void warn_of_ratios(const Ratios& ratios, const base::Location& where, base::Diagnostics& found);

// Helpers of both.

// `name` of a node, or "" after O0306.
std::string name_of(const yaml::Node& node, std::string_view what, base::Diagnostics& found);
// `attributes` of a node when it is a map; null otherwise, after O0305 when it is something else.
const yaml::Node* attributes_of(const yaml::Node& node, base::Diagnostics& found);
bool is_enabled(const yaml::Node& node, const Scope& scope, base::Diagnostics& found);
// Everything of a component but its meshes. Nothing after an error.
std::optional<Component> read_component(const yaml::Node& node, std::string name, const AttributeFrame& frame,
                                        base::Diagnostics& found);
base::Count mesh_product(base::Count a, base::Count b, std::string_view name, const base::Location& where,
                         base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
