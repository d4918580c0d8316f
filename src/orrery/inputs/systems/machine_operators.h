// Operator times measured here, when they are asked for: the kernels of this program on this machine, at the sizes of
// the question. What orrery::layer runs is made of the same kernels.
#pragma once

#include <memory>
#include <optional>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/operator_model.h"

namespace orrery::verbs {

class ThisMachine;

class MachineOperators final : public machine::OperatorModel {
 public:
  // `precision`: in which what memory limits is stored. `on` must outlive this object, and has one at a time. Once
  // `limits` are reached nothing more is measured: O1526, as an InputError after a signal and as OutOfTime after a
  // limit.
  MachineOperators(const ThisMachine& on, machine::Precision precision, double issue_seconds = 0,
                   const base::Limits& limits = {.memory = 0});
  ~MachineOperators() override;
  MachineOperators(const MachineOperators&) = delete;
  MachineOperators& operator=(const MachineOperators&) = delete;

  // As products with weights: the right operand was packed before. fp8 and tf32 are not supported.
  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  double weight_gradient_seconds(const machine::MatrixProduct& product) const override;
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override;  // at the rate of norms and activations
  double issue_seconds() const override { return issue_seconds_; }
  machine::Cost cost(const machine::Operator& one) const override;

 private:
  struct Known;
  const ThisMachine& on_;
  machine::Precision precision_;
  double issue_seconds_;
  base::Budget budget_;
  std::unique_ptr<Known> known_;
};

}  // namespace orrery::verbs
