#include "orrery/verbs/map/fuse/tree_file.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;
using NodeKind = TreeNode::Kind;

constexpr const char* kWayOut = "give what `orrery map --fuse ... --json` printed, or its `tree`";

[[noreturn]] void no_tree(const base::Location& where, const std::string& what) {
  base::fail("O2112", what, where, kWayOut);
}

const Node& member(const Node& of, const char* key) {
  const auto* found = of.find(key);
  if (found == nullptr) no_tree(of.where, fmt::format("a part of the tree lacks `{}`", key));
  return found->value;
}

std::string text_of(const Node& of, const char* key) {
  const Node& value = member(of, key);
  if (!value.is_text()) no_tree(value.where, fmt::format("`{}` is {}, not a name", key, describe(value)));
  return value.text;
}

base::Count count_of(const Node& of, const char* key) {
  const Node& value = member(of, key);
  const auto count = value.is_number()
                         ? base::parse_number<base::Count>(value.text, 1, std::numeric_limits<base::Count>::max())
                         : std::nullopt;
  if (!count) no_tree(value.where, fmt::format("`{}` is {}, not a whole number above 0", key, describe(value)));
  return *count;
}

std::vector<TreeNode> nodes_from(const Node& list);

TreeNode node_from(const Node& one) {
  if (!one.is_object()) no_tree(one.where, fmt::format("a part of the tree is {}", describe(one)));
  TreeNode node;
  node.from = one.where;
  if (one.find("hold") != nullptr) {
    node.name = text_of(one, "hold");
    node.where = text_of(one, "at");
    if (const auto* shared = one.find("shared")) {
      if (shared->value.kind != Node::Kind::kTruth)
        no_tree(shared->value.where, fmt::format("`shared` is {}, neither true nor false", describe(shared->value)));
      node.shared = shared->value.truth;
    }
    if (one.find("of") != nullptr) node.of = text_of(one, "of");
  } else if (one.find("compute") != nullptr) {
    node.kind = NodeKind::kCompute;
    node.name = text_of(one, "compute");
    node.where = text_of(one, "on");
  } else if (one.find("sequence") != nullptr || one.find("side_by_side") != nullptr) {
    const char* key = one.find("sequence") != nullptr ? "sequence" : "side_by_side";
    node.kind = one.find("sequence") != nullptr ? NodeKind::kSequence : NodeKind::kBeside;
    const Node& parts = member(one, key);
    if (parts.kind != Node::Kind::kList) no_tree(parts.where, fmt::format("`{}` is not a list", key));
    for (const Node& part : parts.items) node.inside.push_back(nodes_from(part));
    if (node.kind == NodeKind::kBeside) node.count = count_of(one, "at_once");
  } else {
    node.name = text_of(one, "loop");
    node.count = count_of(one, "count");
    node.kind = one.find("over") != nullptr ? NodeKind::kSpread : NodeKind::kLoop;
    if (one.find("variables") != nullptr) {
      const Node& names = member(one, "variables");
      if (names.kind != Node::Kind::kList) no_tree(names.where, "`variables` is not a list");
      for (const Node& name : names.items) {
        if (!name.is_text()) no_tree(name.where, fmt::format("a variable is {}, not a name", describe(name)));
        node.variables.push_back(name.text);
      }
    }
    if (node.kind == NodeKind::kSpread) {
      node.where = text_of(one, "over");
      if (one.find("axis") != nullptr) node.axis = text_of(one, "axis");
      if (!node.axis.empty() && node.axis != "x" && node.axis != "y")
        no_tree(one.where, fmt::format("`{}` is neither axis x nor y", node.axis));
    } else if (one.find("at") != nullptr) {
      node.where = text_of(one, "at");
    }
    node.inside.push_back(nodes_from(member(one, "inside")));
  }
  return node;
}

std::vector<TreeNode> nodes_from(const Node& list) {
  if (list.kind != Node::Kind::kList) no_tree(list.where, fmt::format("a tree is a list, not {}", describe(list)));
  std::vector<TreeNode> nodes;
  for (const Node& one : list.items) nodes.push_back(node_from(one));
  return nodes;
}

}  // namespace

TreeFile read_tree(const std::string& path) {
  const auto file = base::read_file(path);
  const Node document = formats::json::parse(file, "O2112", kWayOut);
  const Node* tree = &document;
  if (document.is_object()) {
    const Node& result = member(document, "result");
    tree = &member(result.find("tree") != nullptr ? result : member(result, "fused"), "tree");
  }
  return {nodes_from(*tree), base::file_input(*file)};
}

}  // namespace orrery::verbs
