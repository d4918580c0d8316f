// How long an operator of inference takes on an accelerator, from its data sheet and constants of kinds of operators.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/collective/collective.h"
#include "orrery/describe/machine/operator_model.h"

namespace orrery::serving {

class ServedRoofline final : public machine::OperatorModel {
 public:
  explicit ServedRoofline(const machine::Accelerator& accelerator);

  // Products that are alike, of a batch, are those of experts: one grouped operator.
  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  // Of 16-bit inputs by weights of fewer bytes, which kernels widen on the way (Marlin, Machete).
  double narrow_weights_seconds(const machine::MatrixProduct& product, double weight_bytes) const;
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override;
  double issue_seconds() const override;

 private:
  double streamed_seconds(double bytes) const;

  machine::Accelerator accelerator_;
  bool hopper_;
};

// The networks with the constants of engines' own collectives in graphs, on the innermost level.
collective::Fabric served_fabric(collective::Fabric fabric);

// A fixed cost of an exchange of tokens among experts' ranks beyond that of an all-reduce.
double exchange_seconds();

}  // namespace orrery::serving
