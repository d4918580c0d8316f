// A layer as the operators that a framework without fusion launches, forward and backward, and as the steps that they
// are made of. What a level of fusion moves follows from these by counting (operator_profile.h).
//
// An operator alone reads its operands and writes its results; so does a kernel of several, but it may cut them in
// other places: where a layer normalisation alone keeps its input, mean and deviation for the backward pass,
// Substation's kernel keeps differences and normalised values, and the product with the scale, which a framework
// computes in the gradient of weights and again in that of the input, is computed once. So an operator has what it
// moves and computes alone, and the steps that take its place in a kernel.
//
// Operations are counted as Substation counts them: 2 M N K of a contraction; an element of a bias, a dropout, an
// addition or a sum 1, of softmax and its gradient 4, of a layer normalisation 7, of its gradients 4 (weights) and 9
// (input), which both count the product with the scale. An activation counts 1 in a kernel and 0 alone, whatever it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/runtime/layer/shape.h"
#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {

enum class Class {
  kContraction,
  kNormalisation,  // softmax, layer normalisation
  kElementWise,
  kFree  // parts of a tensor under names of their own: nothing is moved
};

// The smallest piece that a kernel is made of.
struct Step {
  std::string space;    // letters of its iteration space, sorted
  std::string reduced;  // those of them that it sums or normalises over, sorted; empty: a map
  std::vector<std::string> reads, writes;
  base::Count flop = 0;  // of a point of the space
};

struct LayerOperator {
  std::string name;
  Class what = Class::kElementWise;
  bool backward = false;
  std::string einsum;    // of a contraction
  std::string space;     // as of a step
  base::Count flop = 0;  // of a point, alone
  std::vector<std::string> reads, writes;
  std::vector<Step> steps;
  bool activation = false;  // forward or backward: its name is that of the function
};

struct LayerOperators {
  Sizes sizes;
  bool training = false;
  std::vector<Variable> tensors;
  std::vector<LayerOperator> operators;  // in launch order
  std::vector<std::string> kept;         // what Substation's kernels write although nothing reads it

  const Variable& tensor(std::string_view name) const;
  base::Count words(std::string_view tensor_name) const;
  base::Count words(const std::vector<std::string>& names) const;  // each once
};

struct LayerOptions {
  layer::Shape shape;
  bool training = true;
  bool dropout = true;  // when training: of attention, behind each map, behind the activation
};

// Of any layer that the shape describes. Further letters: g heads of keys and t queries that share one, r rows of
// stacked queries, keys and values where these differ in number, z those of queries and keys, l tokens of an encoder's
// output and e its width, w the stack of gate and network.
LayerOperators layer_operators(const LayerOptions& options);

}  // namespace orrery::tuning
