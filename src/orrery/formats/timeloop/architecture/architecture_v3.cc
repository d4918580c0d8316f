// v3 `subtree` -> components.
//
// A subtree has local components, outer to inner, and further subtrees inside them. A range in a name
// (`PE[0..15]`) multiplies the instances of all that the subtree holds; on a local component, its own.
// The form that Timeloop's front end writes is one subtree whose local list is the whole chip.
#include <fmt/format.h>

#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

struct SubtreePosition {
  const AttributeFrame* frame = nullptr;
  Count instances = 1;
  base::Location range_where;
  std::string path;  // names of the subtrees around, as written
};

class SubtreeWalk {
 public:
  SubtreeWalk(Flattened& into, base::Diagnostics& found) : into_(into), found_(found) {}

  void list(const yaml::Node& subtrees, const SubtreePosition& around) {
    if (subtrees.is_null()) return;
    if (!subtrees.is_sequence()) {
      found_.error("O0302", "`subtree` must be a list", subtrees.where);
      return;
    }
    const yaml::Node* first = nullptr;
    for (const yaml::Node& subtree : subtrees.items) {
      const std::size_t before = into_.components.size();
      one(subtree, around);
      if (into_.components.size() == before) continue;
      if (first != nullptr) {
        found_.error("O0305", "two subtrees side by side; a chip is one chain of levels", subtree.where)
            .also(first->where, "the other")
            .hint("put the inner one inside the `subtree` of the outer one");
      }
      first = &subtree;
    }
  }

 private:
  void one(const yaml::Node& subtree, const SubtreePosition& around) {
    if (!subtree.is_map()) {
      found_.error("O0305", "a subtree must be a map", subtree.where);
      return;
    }
    static const std::vector<std::string> kKeys = {"name", "attributes", "local", "subtree", "version", "enabled"};
    warn_unknown_keys(subtree, kKeys, "O0323", "a subtree", found_);
    const std::string written = name_of(subtree, "a subtree", found_);
    if (into_.name.empty()) into_.name = split_range(written).first;
    SubtreePosition position = around;
    position.frame = &into_.frames.emplace_back(*around.frame, attributes_of(subtree, found_));
    position.path += written + ".";
    multiply(position, written, subtree);
    if (!is_enabled(subtree, position.frame->scope, found_)) return;
    if (const yaml::Node* local = subtree.find("local")) locals(*local, position);
    if (const yaml::Node* inner = subtree.find("subtree")) list(*inner, position);
  }

  void locals(const yaml::Node& local, const SubtreePosition& around) {
    if (local.is_null()) return;
    if (!local.is_sequence()) {
      found_.error("O0302", "`local` must be a list", local.where);
      return;
    }
    static const std::vector<std::string> kKeys = {
        "name", "class", "subclass", "attributes", "enabled", "required_actions", "area_scale", "energy_scale"};
    for (const yaml::Node& node : local.items) {
      if (!node.is_map()) {
        found_.error("O0305", "a component must be a map", node.where);
        continue;
      }
      warn_unknown_keys(node, kKeys, "O0323", "a component", found_);
      const std::string written = name_of(node, "a component", found_);
      if (written.empty()) continue;
      const AttributeFrame& frame = into_.frames.emplace_back(*around.frame, attributes_of(node, found_));
      if (!is_enabled(node, frame.scope, found_)) continue;
      if (node.find("class") == nullptr && node.find("subclass") == nullptr) {
        found_
            .warning("O0306", fmt::format("component `{}` has no class; it is left out, as Timeloop does", written),
                     node.find("name")->where)
            .hint("add `class: regfile` or `class: SRAM`, whichever it is, for a storage");
        continue;
      }
      SubtreePosition position = around;
      position.frame = &frame;
      multiply(position, written, node);
      auto component = read_component(node, split_range(written).first, frame, found_);
      if (!component) continue;
      component->meshes_known = false;
      component->table_path = position.path + written;
      component->instances = position.instances;
      component->mesh_where = position.range_where;
      into_.components.push_back(std::move(*component));
    }
  }

  // Range of a name: both ends may be expressions.
  void multiply(SubtreePosition& position, const std::string& written, const yaml::Node& node) {
    const std::size_t open = written.find('[');
    if (open == std::string::npos) return;
    const base::Location where = node.find("name")->where;
    const std::size_t dots = written.find("..", open);
    const bool closed = written.back() == ']';
    if (!closed || dots == std::string::npos) {
      found_.error("O0306", fmt::format("`{}` has no range of the form [first..last]", written), where)
          .hint("`PE[0..15]` stands for 16 instances");
      return;
    }
    const auto end = [&](std::string text) {
      yaml::Node scalar;
      scalar.kind = yaml::Node::Kind::kScalar;
      scalar.scalar = std::move(text);
      scalar.where = where;
      return as_count(scalar, position.frame->scope, "an end of the range", found_);
    };
    const auto first = end(written.substr(open + 1, dots - open - 1));
    const auto last = end(written.substr(dots + 2, written.size() - dots - 3));
    if (!first || !last) return;
    Count size = 0;
    if (__builtin_sub_overflow(*last, *first, &size) || __builtin_add_overflow(size, 1, &size) || size < 1) {
      found_.error("O0306", fmt::format("the range of `{}` is empty", written), where)
          .note(fmt::format("from {} to {} there are no instances", *first, *last));
      return;
    }
    if (size == 1) return;
    position.instances = mesh_product(position.instances, size, written, where, found_);
    position.range_where = where;
  }

  Flattened& into_;
  base::Diagnostics& found_;
};

}  // namespace

void flatten_subtree(const yaml::Node& subtree, const AttributeFrame& top, Flattened& into, base::Diagnostics& found) {
  SubtreePosition position;
  position.frame = &top;
  SubtreeWalk(into, found).list(subtree, position);
}

}  // namespace orrery::formats::timeloop
