// One efficiency for operators of any shape: AMPeD's model of an accelerator.
#pragma once

#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

// AMPeD's efficiency over the microbatch: grows towards `limit`, half of it at `half_size`, never above `cap`.
// AMPeD publishes the form and the cap (0.91), not its coefficients.
struct MicrobatchCurve {
  double limit = 1;
  double half_size = 1;  // sequences
  double cap = 0.91;

  double operator()(double micro_batch) const {
    const double value = limit * micro_batch / (micro_batch + half_size);
    return value < cap ? value : cap;
  }
};

class FlatEfficiency final : public OperatorModel {
 public:
  // `efficiency`: share of the matrix peak that every product reaches, in (0, 1].
  FlatEfficiency(const Accelerator& accelerator, double efficiency)
      : accelerator_(accelerator), efficiency_(efficiency) {}

  double matrix_product_seconds(const MatrixProduct& product) const override {
    return product.flops() / (accelerator_.peak(product.precision) * efficiency_);
  }
  double memory_bound_seconds(double bytes) const override {
    return bytes / (accelerator_.memory_bytes_per_s * accelerator_.memory_efficiency);
  }
  // One FLOP each, at the products' efficiency.
  double elementwise_seconds(double elements, Precision precision) const override {
    return elements / (accelerator_.peak(precision) * efficiency_);
  }
  double issue_seconds() const override { return accelerator_.host_seconds_per_op; }

 private:
  Accelerator accelerator_;
  double efficiency_;
};

}  // namespace orrery::machine
