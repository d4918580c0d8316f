// This machine under the closed form and the simulation, which ask about any number of tokens.
#pragma once

#include "orrery/describe/machine/operator_model.h"

namespace orrery::verbs {

// Asks measured operators at powers of two of tokens, sequences and keys alone, and takes straight lines between them:
// a measurement takes some tenths of a second, and a search of deployments has thousands of sizes. Attention of
// prompts, whose step may hold parts of several, takes for each visible pair what it takes in one prompt of as many
// keys. `measured` must outlive it.
class MachineProducts final : public machine::OperatorModel {
 public:
  explicit MachineProducts(const machine::OperatorModel& measured) : measured_(measured) {}

  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override { return measured_.memory_bound_seconds(bytes); }
  double issue_seconds() const override { return measured_.issue_seconds(); }

 private:
  const machine::OperatorModel& measured_;
};

}  // namespace orrery::verbs
