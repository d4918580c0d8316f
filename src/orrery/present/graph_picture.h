// A graph of kernels as it is drawn (graph_dot.h, graph_svg.h), with its partition into configurations where there is
// one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::verbs {

struct GraphPicture {
  const workload::KernelGraph* graph = nullptr;   // borrowed; acyclic
  std::string title;                              // empty: none
  std::vector<int> configuration;                 // of each kernel, from 0; empty: none are drawn
  std::vector<std::string> configuration_labels;  // by configuration; where there is none: "configuration 3"
  std::vector<std::string> kernel_labels;         // of each kernel, below its shape, such as its sharding; may be empty
  // Of each edge, in place of the bytes it carries; empty: bytes. Then boxes show labels alone, no sizes.
  std::vector<std::string> edge_labels;
};

// "160 x 2048 x 2048, K 160" for outer 160, M 2048, N 2048; dimensions of 1 are left out where another is larger.
std::string shape_text(const workload::Kernel& kernel);

// What is written below a kernel's name: its shape and its label.
std::vector<std::string> kernel_lines(const GraphPicture& picture, int kernel);

// "105 MB": decimal, three digits.
std::string bytes_text(double bytes);

// What is written at an edge.
std::string edge_text(const GraphPicture& picture, std::size_t edge);

// The configurations that hold kernels, ascending.
std::vector<int> used_configurations(const GraphPicture& picture);

std::string configuration_label(const GraphPicture& picture, int configuration);

// "#rrggbb": background of a configuration's box, the same in every picture; eight of them in turn.
std::string_view configuration_colour(int configuration);

// Of a kernel: matrix units are filled darker than vector lanes, backward other than forward.
std::string_view kernel_colour(const workload::Kernel& kernel);

}  // namespace orrery::verbs
