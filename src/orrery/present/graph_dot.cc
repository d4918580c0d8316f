// Idea: one line a node and edge; what Graphviz could misread stands in quotes with `"`, `\` and line breaks escaped.
#include "orrery/present/graph_dot.h"

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

std::string dot_text(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out + "\"";
}

std::string node(const GraphPicture& picture, int kernel) {
  const workload::Kernel& of = picture.graph->kernels[kernel];
  std::string label = of.name;
  for (const std::string& line : kernel_lines(picture, kernel)) label += "\n" + line;
  return fmt::format("k{} [label={}, fillcolor=\"{}\"];\n", kernel + 1, dot_text(label), kernel_colour(of));
}

}  // namespace

std::string graph_dot(const GraphPicture& picture) {
  const workload::KernelGraph& graph = *picture.graph;
  std::string out = "digraph kernels {\n";
  if (!picture.title.empty()) out += fmt::format("  label={};\n  labelloc=t;\n", dot_text(picture.title));
  out +=
      "  rankdir=TB;\n"
      "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#666666\"];\n";
  const int kernels = static_cast<int>(graph.kernels.size());
  if (picture.configuration.empty()) {
    for (int kernel = 0; kernel < kernels; ++kernel) out += "  " + node(picture, kernel);
  } else {
    for (int configuration : used_configurations(picture)) {
      out += fmt::format("  subgraph cluster_{} {{\n    label={};\n    style=\"filled,rounded\";\n    color=\"{}\";\n",
                         configuration, dot_text(configuration_label(picture, configuration)),
                         configuration_colour(configuration));
      for (int kernel = 0; kernel < kernels; ++kernel)
        if (picture.configuration[kernel] == configuration) out += "    " + node(picture, kernel);
      out += "  }\n";
    }
  }
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge)
    out += fmt::format("  k{} -> k{} [label={}];\n", graph.edges[edge].from + 1, graph.edges[edge].to + 1,
                       dot_text(edge_text(picture, edge)));
  return out + "}\n";
}

}  // namespace orrery::verbs
