#include "orrery/present/chart/loop_tree_html.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/graph_svg.h"

namespace orrery::verbs {
namespace {

std::string escaped(const Node& node, const char* key) {
  const Node* value = at(node, key);
  return value ? xml_text(shown_text(*value)) : std::string();
}

std::string steps(const std::vector<Node>& nodes);

// One node, and what is inside it.
std::string step(const Node& node) {
  if (at(node, "hold")) {
    const Node* shared = at(node, "shared");
    const bool handed = shared && shared->truth;
    return fmt::format("<li class=\"hold\"><b>{}</b> {} <b>{}</b> <span class=\"count\">{} bits</span></li>\n",
                       escaped(node, "at"), handed ? "hands on" : "keeps", escaped(node, "hold"),
                       escaped(node, "bits"));
  }
  if (at(node, "compute"))
    return fmt::format("<li class=\"compute\"><b>{}</b> on {}</li>\n", escaped(node, "compute"), escaped(node, "on"));
  if (at(node, "sequence")) {
    std::string out = "<li>one after the other<ol>\n";
    for (const Node& part : items_at(node, "sequence")) out += "<li>" + steps(part.items) + "</li>\n";
    return out + "</ol></li>\n";
  }
  const std::string where = at(node, "over") ? "side by side over " + escaped(node, "over") : "in turn";
  return fmt::format("<li><b>{}</b>: {} of {} <span class=\"count\">{}</span>{}</li>\n", escaped(node, "loop"),
                     escaped(node, "count"), escaped(node, "tile"), where, steps(items_at(node, "inside")));
}

std::string steps(const std::vector<Node>& nodes) {
  std::string out = "<ul>\n";
  for (const Node& node : nodes) out += step(node);
  return out + "</ul>\n";
}

}  // namespace

bool is_loop_tree(const Node& node) {
  return node.kind == Node::Kind::kList && !node.items.empty() &&
         std::all_of(node.items.begin(), node.items.end(), [](const Node& one) {
           return (at(one, "loop") && at(one, "inside")) || (at(one, "hold") && at(one, "bits")) ||
                  (at(one, "compute") && at(one, "on")) || at(one, "sequence");
         });
}

std::string loop_tree_html(const Node& tree) {
  return "<div class=\"tree scroll\">" + steps(tree.items) + "</div>\n";
}

}  // namespace orrery::verbs
