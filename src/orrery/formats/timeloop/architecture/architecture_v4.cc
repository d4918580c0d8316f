// v4 `nodes` -> components.
//
// The list runs outer to inner. A container holds everything after it in its list: its attributes are
// inherited, its `spatial` multiplies the mesh of everything below. A node with a fan-out becomes a
// pass-through level `inter_<name>_spatial` just outside its contents, with the mesh around it.
// `!Parallel` puts its branches side by side: what a branch fans out ends with the branch.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/architecture/unread.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

const std::vector<std::string>& node_tags() {
  static const std::vector<std::string> kTags = {"!Container", "!Component", "!Hierarchical", "!Parallel", "!Nothing"};
  return kTags;
}

// Whose kind of node a tag is, where it is not Timeloop's.
std::string_view foreign(std::string_view tag) {
  if (tag == "!ArrayContainer") return "CiMLoop";
  for (const std::string_view known : {"!Memory", "!Toll", "!Compute", "!Network", "!Array", "!Fork", "!Arch"})
    if (tag == known) return "AccelForge";
  return {};
}

// Where the walk stands: the attributes and the mesh around.
struct NodePosition {
  const AttributeFrame* frame = nullptr;
  Count mesh_x = 1;
  Count mesh_y = 1;
  base::Location mesh_where;
};

class NodeWalk {
 public:
  NodeWalk(Flattened& into, base::Diagnostics& found) : into_(into), found_(found) {}

  // The nodes of one list, outer to inner; the position moves inwards.
  void list(const yaml::Node& nodes, NodePosition& position) {
    if (!nodes.is_sequence()) {
      if (!nodes.is_null()) found_.error("O0302", "`nodes` must be a list", nodes.where);
      return;
    }
    for (const yaml::Node& node : nodes.items) one(node, position);
  }

 private:
  void one(const yaml::Node& node, NodePosition& position) {
    if (node.tag == "!Nothing") return;
    if (node.tag.empty() || std::find(node_tags().begin(), node_tags().end(), node.tag) == node_tags().end()) {
      auto& diagnostic = found_.error(
          "O0305",
          node.tag.empty() ? std::string("a node has no tag") : fmt::format("`{}` is not a kind of node", node.tag),
          node.where);
      if (node.tag.empty()) {
        diagnostic.hint("write `- !Component` or `- !Container` before its keys");
      } else if (const std::string_view dialect = foreign(node.tag); !dialect.empty()) {
        diagnostic.note(fmt::format("it is {}'s own; of its descriptions only what Timeloop has is read", dialect));
        diagnostic.note(fmt::format("kinds: {}", quoted_list(node_tags())));
      } else {
        suggest(diagnostic, node.tag, node_tags(), "kinds");
      }
      return;
    }
    if (!node.is_map()) {
      found_.error("O0305", fmt::format("a `{}` must be a map", node.tag), node.where);
      return;
    }
    if (!is_enabled(node, position.frame->scope, found_)) return;
    if (node.tag == "!Parallel") {
      parallel(node, position);
    } else if (node.tag == "!Hierarchical") {
      group(node, position);
    } else {
      leaf(node, position);
    }
  }

  const yaml::Node& nodes_of(const yaml::Node& node) {
    static const yaml::Node kNone;
    const yaml::Node* nodes = node.find("nodes");
    if (nodes == nullptr) {
      found_.error("O0302", fmt::format("a `{}` has no `nodes`", node.tag), node.where);
      return kNone;
    }
    return *nodes;
  }

  void group(const yaml::Node& node, NodePosition& position) {
    static const std::vector<std::string> kKeys = {"name", "nodes", "enabled", "attributes", "version"};
    warn_unknown_keys(node, kKeys, "O0323", "a `!Hierarchical`", found_);
    if (const yaml::Node* attributes = attributes_of(node, found_)) {
      position.frame = &into_.frames.emplace_back(*position.frame, attributes);
    }
    list(nodes_of(node), position);
  }

  void parallel(const yaml::Node& node, const NodePosition& position) {
    static const std::vector<std::string> kKeys = {"name", "nodes", "enabled", "version"};
    warn_unknown_keys(node, kKeys, "O0323", "a `!Parallel`", found_);
    const yaml::Node& nodes = nodes_of(node);
    if (!nodes.is_sequence()) {
      if (!nodes.is_null()) found_.error("O0302", "`nodes` must be a list", nodes.where);
      return;
    }
    ParallelNames group;
    group.where = node.where;
    for (const yaml::Node& branch_node : nodes.items) {
      ParallelNames::Branch branch;
      const std::size_t before = into_.components.size();
      NodePosition inside = position;
      one(branch_node, inside);
      for (std::size_t i = before; i < into_.components.size(); ++i) {
        if (into_.components[i].frame != nullptr) branch.components.push_back(into_.components[i].name);
      }
      if (branch_node.tag == "!Nothing") {
        branch.nothing = branch_node.find("constraints");
      } else if (branch.components.empty()) {
        continue;  // disabled
      }
      group.branches.push_back(std::move(branch));
    }
    into_.parallel.push_back(std::move(group));
  }

  // A container or a component.
  void leaf(const yaml::Node& node, NodePosition& position) {
    const bool container = node.tag == "!Container";
    static const std::vector<std::string> kContainerKeys = {"name", "attributes", "spatial", "constraints", "enabled"};
    static const std::vector<std::string> kComponentKeys = {"name",           "class",
                                                            "subclass",       "attributes",
                                                            "spatial",        "constraints",
                                                            "enabled",        "sparse_optimizations",
                                                            "area_scale",     "required_actions",
                                                            "energy_scale",   "area_share",
                                                            "energy_share",   "component_class",
                                                            "power_gated_at", "artifacts"};
    warn_unknown_keys(node, container ? kContainerKeys : kComponentKeys, "O0323",
                      container ? "a `!Container`" : "a `!Component`", found_);
    const std::string written = name_of(node, container ? "a container" : "a component", found_);
    const std::string name = split_range(written).first;
    if (into_.name.empty() && container) into_.name = name;
    const AttributeFrame& frame = into_.frames.emplace_back(*position.frame, attributes_of(node, found_));
    spread(node, name, frame, position);
    if (const yaml::Node* constraints = node.find("constraints")) {
      if (!constraints->is_null()) into_.attached.push_back({name, constraints});
    }
    if (container) {
      if (written != name) {
        found_.error("O0306", fmt::format("container `{}`: a range in a name is the v3 form", written), node.where)
            .hint("write `spatial: {meshX: ...}`");
      }
      position.frame = &frame;
      return;
    }
    const Count range = split_range(written).second;
    if (written != name && range != 1) {
      found_.error("O0306", fmt::format("component `{}`: a range in a name is the v3 form", written), node.where)
          .hint(fmt::format("write `spatial: {{meshX: {}}}`", range));
    }
    if (name.empty()) return;
    auto component = read_component(node, name, frame, found_);
    if (!component) return;
    component->mesh_x = position.mesh_x;
    component->mesh_y = position.mesh_y;
    component->mesh_where = position.mesh_where;
    into_.components.push_back(std::move(*component));
  }

  // `spatial` of a node: a pass-through level with the mesh around, then a larger mesh.
  void spread(const yaml::Node& node, const std::string& name, const AttributeFrame& frame, NodePosition& position) {
    const yaml::Node* spatial = node.find("spatial");
    if (spatial == nullptr || spatial->is_null()) return;
    if (!spatial->is_map()) {
      found_.error("O0305", "`spatial` must be a map", spatial->where).hint("write `spatial: {meshX: 16, meshY: 1}`");
      return;
    }
    static const std::vector<std::string> kKeys = {"meshX", "meshY"};
    for (const yaml::Node::Entry& entry : spatial->entries) {
      const std::string near = base::closest(entry.key, kKeys);
      if (near.empty() || near == entry.key)
        warn_unknown_key(entry, kKeys, "O0323", "`spatial`", found_);
      else  // to go on without this side of the mesh would change every figure
        found_.error("O0323", fmt::format("`spatial` has no key `{}`", entry.key), entry.key_where)
            .hint(base::did_you_mean(near));
    }
    const auto side = [&](std::string_view key) -> Count {
      const yaml::Node* value = spatial->find(key);
      if (value == nullptr) return 1;
      if (value->is_null()) {
        warn_of_null(key, name, value->where, "without a value it is 1", found_);
        return 1;
      }
      const auto count = as_count(*value, frame.scope, key, found_);
      if (count && *count < 1) {
        found_.error("O0321", fmt::format("`{}` of `{}` must be at least 1, but is {}", key, name, *count),
                     value->where);
        return 1;
      }
      return count.value_or(1);
    };
    const Count x = side("meshX");
    const Count y = side("meshY");
    if (x == 1 && y == 1) return;
    Component fanout;
    fanout.name = machine::fan_out_name(name);
    fanout.class_name = "dummy_storage";
    fanout.where = spatial->where;
    fanout.around = position.frame;
    fanout.mesh_x = position.mesh_x;
    fanout.mesh_y = position.mesh_y;
    into_.components.push_back(std::move(fanout));
    position.mesh_x = mesh_product(position.mesh_x, x, name, spatial->where, found_);
    position.mesh_y = mesh_product(position.mesh_y, y, name, spatial->where, found_);
    position.mesh_where = spatial->where;
  }

  Flattened& into_;
  base::Diagnostics& found_;
};

}  // namespace

void flatten_nodes(const yaml::Node& nodes, const AttributeFrame& top, Flattened& into, base::Diagnostics& found) {
  NodePosition position;
  position.frame = &top;
  NodeWalk(into, found).list(nodes, position);
}

}  // namespace orrery::formats::timeloop
