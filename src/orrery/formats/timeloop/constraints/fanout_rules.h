// What the fan-outs of a chip demand of its constraints, and imply.
#pragma once

#include "orrery/formats/timeloop/constraints/constraint_table.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `utilization: {min: SHARE}` of one level. Errors O0501, O0508, O0511, O0518.
void read_utilization(int level, const yaml::Node& body, const Scope& variables, ConstraintTable& table);

// Removes spatial constraints where nothing fans out; O0511, a warning where they hold anyway.
void check_fanouts(ConstraintTable& table);

// A least share of all fan-outs together: nothing to do where the given spatial factors reach it, else O0512.
void check_joint_share(const ConstraintTable& table);

// Fan-outs without a store keep nothing and do not iterate (O0517 where told otherwise); the outermost level keeps
// what it is not told to bypass.
void add_defaults(ConstraintTable& table);

}  // namespace orrery::formats::timeloop
