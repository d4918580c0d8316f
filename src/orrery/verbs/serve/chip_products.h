// A chip under the closed form and the simulation, which ask about any number of tokens.
#pragma once

#include "orrery/describe/machine/operator_model.h"

namespace orrery::verbs {

// Asks another model at powers of two of tokens and keys alone, and takes a straight line between them: a chip searches
// a mapping for every product that it is asked about, and a search of deployments has thousands of sizes. Attention is
// its two products, for each head of each sequence. `exact` must outlive it.
class ChipProducts final : public machine::OperatorModel {
 public:
  explicit ChipProducts(const machine::OperatorModel& exact) : exact_(exact) {}

  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override { return exact_.memory_bound_seconds(bytes); }
  double issue_seconds() const override { return exact_.issue_seconds(); }

 private:
  const machine::OperatorModel& exact_;
};

}  // namespace orrery::verbs
