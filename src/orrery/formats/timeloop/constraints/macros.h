// The shorthands that Timeloop's v4 front end turns into plain constraints.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/timeloop/constraints/constraint_table.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// A macro on the loops of one level, as found. Nodes are borrowed.
struct LoopMacro {
  enum class Kind { kFactorsOnly, kNoIterationOver, kMustIterateOver, kMaximizeDims, kMaximizeDimsCapacity };
  Kind kind = Kind::kFactorsOnly;
  int level = 0;
  bool spatial = false;
  const yaml::Node* value = nullptr;
  base::Location where;  // of the key
};

// Expands all of them, after every plain constraint is in the table: first those that name factors, then
// `maximize_dims`, spatial loops before temporal ones and inner levels before outer ones, each reading what the
// others left to cover. Errors: O0508, O0514; warning O0515.
void expand_loop_macros(const std::vector<LoopMacro>& macros, const Scope& variables, ConstraintTable& table);

// `!Parallel`: a dataspace that one branch keeps passes the others. Errors: O0516.
void complete_parallel_branches(ConstraintTable& table);

}  // namespace orrery::formats::timeloop
