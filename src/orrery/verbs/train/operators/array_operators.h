// A simulated array of pruned attention beside each accelerator of a run: it does the attention of forward passes.
//
// Backwards the accelerator computes dense attention: the array has no such pass.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/inputs/layers/attention_array.h"

namespace orrery::verbs {

class ArrayOperators final : public machine::OperatorModel {
 public:
  // `rest` models all else; it must outlive this object.
  ArrayOperators(AttentionArray array, const machine::OperatorModel& rest) : array_(std::move(array)), rest_(&rest) {}

  double matrix_product_seconds(const machine::MatrixProduct& product) const override {
    return rest_->matrix_product_seconds(product);
  }
  double weight_gradient_seconds(const machine::MatrixProduct& product) const override {
    return rest_->weight_gradient_seconds(product);
  }
  double memory_bound_seconds(double bytes) const override { return rest_->memory_bound_seconds(bytes); }
  double elementwise_seconds(double elements, machine::Precision precision) const override {
    return rest_->elementwise_seconds(elements, precision);
  }
  double issue_seconds() const override { return rest_->issue_seconds(); }
  // Forwards: the array's. Backwards: what `rest` says, or its five products with scores in memory. Throws InputError
  // O1905 where heads have another size.
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  machine::Cost cost(const machine::Operator& one) const override;

 private:
  static double scores(const machine::Operator& attention);  // kept or not

  AttentionArray array_;
  const machine::OperatorModel* rest_;
};

}  // namespace orrery::verbs
