// The operators of a layer as they are launched, forward and backward, and the tensors between them: what is measured
// operator by operator, and what a choice of layouts is made for. Names, einsums and columns are those of Substation's
// files, so that measurements taken there can be read and chosen from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

enum class Role {
  kInput,     // of the layer's forward or backward pass
  kOutput,    // of either
  kWeight,    // and biases, scales, shifts of norms
  kGradient,  // of a weight
  kBetween,   // made by an operator of one pass, used in the same pass only
  kSaved      // made forward, used backward
};

struct Variable {
  std::string name;
  std::string dims;  // its dimensions in one order of many; which layout is best is what is looked for
  Role role = Role::kBetween;
};

// A tensor as one operator sees it.
struct Use {
  std::string variable;
  std::string column;  // of its layouts in the operator's file, lower case: "A", "B", "C" of a contraction
  std::string dims;    // the letters that its layouts have there, letter by letter those of the variable's `dims`:
                       // aib and baib write j where a key's variable has k
  bool overwritten = false;  // among the inputs, but written: ATT gets its bias in place
};

// A choice inside an operator that no other operator sees.
struct Special {
  std::string name;    // "dv", "dt", "dw" (dimension of vectors, threads, warps); "Implementation"
  std::string column;  // its name in the operator's file: "vec_dim"
};

enum class Kind {
  kContraction,
  kKernel,
  kSplit,  // takes no time: outputs are parts of the input, the stack's letter outermost; keys and values get k for j
  kMerge   // the same backward
};

struct Operator {
  std::string name;
  Kind kind = Kind::kKernel;
  bool backward = false;
  // Whose measurements are its: a kernel's (two operators may share them), a contraction's (its own name); the
  // contractions that a split or a merge lies beside.
  std::vector<std::string> benchmarks;
  std::string einsum;   // of a contraction: "phbk,phbj->hbjk"
  bool scaled = false;  // the product is multiplied by 1 / sqrt(p)
  std::vector<Use> inputs, outputs;
  std::vector<Special> specials;

  const std::string& benchmark() const { return benchmarks.front(); }
};

struct Graph {
  Sizes sizes;
  std::vector<Variable> variables;
  std::vector<Operator> operators;                          // in launch order, forward, then backward
  std::vector<std::pair<std::string, std::string>> equal;   // variables with one layout, to be closed transitively
  std::vector<std::vector<std::string>> combined_backward;  // operators that Substation's search takes as one
  std::string forward_input, forward_output, backward_input, backward_output;

  // nullptr where there is none of that name.
  const Variable* variable(std::string_view name) const;
  const Operator* find(std::string_view operator_name) const;
};

// Substation's encoder layer: norms after the additions, ReLU, dropout in four places; keys, queries and values by one
// contraction. Layouts do not depend on the sizes.
Graph encoder_graph(const Sizes& sizes);

}  // namespace orrery::tuning
