// What times the kernels of a placement: measurements, a chip's loop nests, a roofline, or nothing but a stated rate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/measured_operators.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/inputs/systems/system_chip.h"

namespace orrery::verbs {

struct PlacedModelQuestion;

// A roofline of tiles whose operands lie on the chip: their bytes are the partition's, which knows what stays there.
// Elementwise kernels run at the products' rate, as DFModel has them; products on vector lanes at that of the lanes.
class OnChipRoofline final : public machine::OperatorModel {
 public:
  explicit OnChipRoofline(machine::Accelerator accelerator);
  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  double memory_bound_seconds(double bytes) const override;
  double elementwise_seconds(double elements, machine::Precision precision) const override;
  double issue_seconds() const override { return 0; }

 private:
  machine::FlatEfficiency flat_;
  machine::Roofline tiles_;
};

// Neither copied nor moved: models refer to each other.
class PlaceOperators {
 public:
  // `question`: the model on a system that is placed; null: a setup is. `measurements`: before everything else; empty:
  // none. `limits` are of the search for loop nests.
  PlaceOperators(const PlacedModelQuestion* question, const dataflow::Setup& setup, const base::Limits& limits,
                 std::vector<machine::MeasuredProduct> measurements);
  PlaceOperators(const PlaceOperators&) = delete;
  PlaceOperators& operator=(const PlaceOperators&) = delete;

  const machine::OperatorModel* model() const { return model_; }  // null: rates as the setup states them
  const char* name() const { return name_; }                      // "cores", "utilization", "roofline", ...
  const ChipOperators* nests() const { return nests_.get(); }     // null: no chip

 private:
  const char* name_;
  const machine::OperatorModel* model_ = nullptr;
  std::optional<machine::Roofline> roofline_;
  std::optional<OnChipRoofline> tiles_;
  std::unique_ptr<ChipOperators> nests_;
  std::optional<machine::FlatEfficiency> flat_;
  std::optional<machine::MeasuredOperators> measured_;
};

}  // namespace orrery::verbs
