// The cost of a placement: the price of its partition, extended to the whole run, and the price of the system. Cost:
// that of lower().
#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {

Evaluation evaluate(const Setup& setup, const Mapping& mapping, const Defects& defects,
                    const machine::OperatorModel* operators) {
  Evaluation evaluation;
  evaluation.partition = price(lower(setup, mapping, defects, operators), mapping.configuration);
  evaluation.sum_interval_ns = evaluation.partition.sum_interval_ns;
  evaluation.flop = workload_flop(setup);
  roll_up(setup, mapping.degrees, defects, evaluation);
  evaluation.money = money(setup, mapping.degrees, defects);
  return evaluation;
}

}  // namespace orrery::dataflow
