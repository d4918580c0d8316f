// The choice of layouts as a factor graph: a variable for every class of tensors that must have one layout, a factor
// for every operator, whose rows are its measured combinations of layouts, each with the time of its fastest
// configuration.
//
// The rules are those of Substation's files and search (docs/model/selection.md): tensors of one name, the pairs that
// the graph calls equal, a column that stands for a tensor twice, and the split and merge of the stack of keys, queries
// and values tie layouts; what was not measured is forbidden; implementations and vectorised dimensions are free.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"
#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

// One value of a special of an operator: {"dv", "k"}, {"Implementation", "tc3"}.
using SpecialChoice = std::pair<std::string, std::string>;

struct Problem {
  const Graph* graph = nullptr;  // borrowed, as `measurements`
  const Measurements* measurements = nullptr;
  std::vector<int> class_of;                      // of each of the graph's variables
  std::vector<std::vector<std::string>> layouts;  // of each class, those that some operator has, sorted
  FactorGraph factors;                            // variables are classes; a factor for each of the graph's operators
  std::vector<std::vector<std::uint32_t>> measured_row;  // of each factor's rows, empty for split and merge

  int class_named(std::string_view variable) const;                // -1 where the graph has no such variable
  std::string name(int class_id) const;                            // of its variables, with = between them
  int layout_number(int class_id, std::string_view layout) const;  // -1 where no operator has it
  std::vector<SpecialChoice> specials(std::size_t factor, std::size_t row) const;
};

// `measurements` must have every benchmark of the graph.
Problem make_problem(const Graph& graph, const Measurements& measurements);

// One operator of an answer.
struct ChosenOperator {
  std::string name;
  bool backward = false;
  base::Count time = 0;                 // fs
  std::vector<SpecialChoice> specials;  // of the fastest configuration with these layouts
};
struct Selection {
  std::vector<int> classes;               // a layout's number for each class
  base::Count time = 0;                   // fs; the sum over operators
  std::vector<ChosenOperator> operators;  // the timed ones, in launch order
};
// Nothing where some operator has no row with these layouts; `missing` then has the factors.
std::optional<Selection> evaluate(const Problem& problem, const std::vector<int>& classes,
                                  std::vector<int>* missing = nullptr);

// Sum of every operator's fastest row, whatever the layouts: Substation's --min_without_layout.
base::Count without_layouts(const Problem& problem);

// The factors of one direction alone.
FactorGraph direction(const Problem& problem, bool backward);

}  // namespace orrery::tuning
