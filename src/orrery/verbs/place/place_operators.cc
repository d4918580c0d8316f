// Whole kernels take what `train` says of them: the roofline's waves of tiles, never less than the operands' way
// through memory. Fused kernels work on tiles that lie on the chip, so that only the waves count; what does pass the
// memory (edges that are cut, each weight once a pass) is the partition's to add up.
#include "orrery/verbs/place/place_operators.h"

#include <limits>
#include <utility>

#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/verbs/place/place_model.h"

namespace orrery::verbs {
namespace {

machine::Accelerator without_memory(machine::Accelerator accelerator) {
  accelerator.memory_bytes_per_s = std::numeric_limits<double>::infinity();
  return accelerator;
}

}  // namespace

OnChipRoofline::OnChipRoofline(machine::Accelerator accelerator)
    : flat_(accelerator, accelerator.matrix_efficiency), tiles_(without_memory(accelerator)) {}

double OnChipRoofline::matrix_product_seconds(const machine::MatrixProduct& product) const {
  return tiles_.matrix_product_seconds(product);
}
double OnChipRoofline::memory_bound_seconds(double bytes) const {
  return flat_.memory_bound_seconds(bytes);
}
double OnChipRoofline::elementwise_seconds(double elements, machine::Precision precision) const {
  return flat_.elementwise_seconds(elements, precision);
}

PlaceOperators::PlaceOperators(const PlacedModelQuestion* question, const dataflow::Setup& setup,
                               const base::Limits& limits, std::vector<machine::MeasuredProduct> measurements)
    : name_(setup.execution.compute_utilization ? "utilization" : "cores") {
  if (question != nullptr && setup.execution.compute_utilization) {
    machine::Accelerator accelerator = question->system.accelerator;
    accelerator.memory_bytes_per_s = setup.system.accelerator.memory_bytes_per_s / accelerator.memory_efficiency;
    if (question->chip) {
      nests_ = question->chip->operators(limits, 0);
      model_ = nests_.get();
      name_ = "chip";
    } else if (setup.execution.whole_kernels) {
      model_ = &roofline_.emplace(accelerator);
      name_ = "roofline";
    } else {
      model_ = &tiles_.emplace(accelerator);
      name_ = "roofline";
    }
  }
  if (measurements.empty()) return;
  if (model_ == nullptr)
    model_ = &flat_.emplace(dataflow::data_sheet(setup.system), *setup.execution.compute_utilization);
  model_ = &measured_.emplace(std::move(measurements), *model_);
  name_ = "measurements";
}

}  // namespace orrery::verbs
