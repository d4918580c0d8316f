// The text files that AMPeD writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/amped/equations.h"
#include "orrery/formats/amped/amped_parameters.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

// Every parameter with its value and description, category by category: at least three columns a line.
std::string config_summary(const Resolved& resolved);

// One line of training_time_breakdown.txt.
struct BreakdownLine {
  std::string label;
  double value = 0;
};
// Of the whole training: seconds where the label ends in "(s)".
std::vector<BreakdownLine> training_time_lines(const equations::Quantities& quantities, const equations::Times& times);
std::string training_time_breakdown(const equations::Quantities& quantities, const equations::Times& times);

// Sizes, MACs and seconds of each matrix product of a layer, forward and backward.
std::string gemm_breakdown(const equations::Quantities& quantities, const equations::Model& model);

// A layer's operators in order, with what each reads and how large its output is.
std::string compute_graph(const equations::Quantities& quantities, const equations::Model& model);

// DeepFlow's input: a line "M  K  N" for each product, whole numbers; with mended equations a fourth column says how
// many of these there are side by side.
std::string mat_dims(const equations::Quantities& quantities, const equations::Defects& defects);

}  // namespace orrery::formats::amped
