// A placement's cost: its partition priced, rolled up to the run, and what the system costs. Cost: lower's.
#include "orrery/dataflow/evaluate.h"

namespace orrery::dataflow {

Evaluation evaluate(const Setup& setup, const Mapping& mapping, Generation generation,
                    const machine::OperatorModel* operators) {
  Evaluation evaluation;
  evaluation.partition = price(lower(setup, mapping, generation, operators), mapping.configuration);
  evaluation.sum_interval_ns = evaluation.partition.sum_interval_ns;
  evaluation.flop = workload_flop(setup);
  roll_up(setup, mapping.degrees, generation, evaluation);
  evaluation.money = money(setup, mapping.degrees, generation);
  return evaluation;
}

}  // namespace orrery::dataflow
