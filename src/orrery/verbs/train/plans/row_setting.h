// What all rows of a file of plans share, once model and system are read.
#pragma once

#include <optional>
#include <set>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/verbs/train/plans/plan_rows.h"

namespace orrery::verbs {

struct RowSetting {
  const cluster::Model& model;
  const cluster::System& system;
  const machine::OperatorModel& operators;
  cluster::Plan plan;         // what a row does not say,
  std::set<std::string> set;  // fields of it that were given
  base::Limits limits;
  std::optional<cluster::Stack> of_zero_3;  // the software of rows that shard weights; nothing: that of `plan`
};

EvaluatedRows evaluate_rows(const RowSetting& setting, const PlanRowsInput& input,
                            const std::function<void(const std::string&)>& write);

}  // namespace orrery::verbs
