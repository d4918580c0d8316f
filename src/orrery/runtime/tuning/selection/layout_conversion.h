// A choice of layouts in which operators may read a tensor in another layout than the one that it was made in: it is
// then transposed before, for the time that reading and writing it once takes.
//
// Idea. Where an operator f reads a tensor that another operator made, its column in f's table gets a variable of its
// own, y, over the same layouts as the tensor's x, and a factor ties them:
//
//   r(x, y) = 0 where y = x,  2 words(tensor) bytes a word / bandwidth  elsewhere.
//
// The plain choice is the one with every y = x, so the minimum is never above it. Every reader pays for its own
// transposition, also where two want the same one. What no operator makes (the layer's input, weights) and what is
// written in place is read as it lies. Equalities of the graph hold as before.
//
// The tensor sizes are those of the measurements; a word has two bytes where Substation measured, in fp16. Cost: a
// factor of d^2 rows for each tensor read; the elimination takes each y away within the table of its operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/runtime/tuning/selection/layout_selection.h"

namespace orrery::tuning {

inline constexpr double kMeasuredBytesPerWord = 2;

struct ConversionEdge {
  int factor = 0;        // the operator that reads
  int class_id = 0;      // the tensor's
  int own = 0;           // the variable of the operator's view of it
  std::string variable;  // the tensor
  base::Count cost = 0;  // fs
};

struct ConversionProblem {
  FactorGraph factors;  // the problem's, with the same rows, then one for each edge
  std::vector<ConversionEdge> edges;
};

// A time that 64 bits do not hold becomes kMostCost, so that the sums do not fit.
ConversionProblem with_conversions(const Problem& problem, double bytes_per_s,
                                   double bytes_per_word = kMeasuredBytesPerWord);

// Letters of tensors whose size no file tells; empty where all are known.
std::string sizes_untold(const Problem& problem);

struct LayoutConversion {
  std::string reader, variable;
  std::string from, to;  // layouts
  base::Count time = 0;  // fs
};
struct ConversionSelection {
  std::vector<int> classes;
  base::Count time = 0;  // operators and transpositions
  std::vector<ChosenOperator> operators;
  std::vector<LayoutConversion> conversions;
};
// Of values of the problem's variables; nothing where they are forbidden.
std::optional<ConversionSelection> evaluate(const Problem& problem, const ConversionProblem& with,
                                            const std::vector<int>& values);

}  // namespace orrery::tuning
