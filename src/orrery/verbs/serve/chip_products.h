// A chip under the closed form and the simulation, which ask about any number of tokens.
#pragma once

#include "orrery/describe/machine/operator_model.h"

namespace orrery::verbs {

// Asks another model at powers of two of tokens and keys alone, and takes a straight line between them: a chip searches
// a mapping for every product that it is asked about, and a search of deployments has thousands of sizes. Attention is
// its two products, for each head of each sequence; with `fuse` at each of those sizes what `exact` says of it as one
// operator, where that is less. `exact` must outlive it.
class ChipProducts final : public machine::OperatorModel {
 public:
  explicit ChipProducts(const machine::OperatorModel& exact, bool fuse = false) : exact_(exact), fuse_(fuse) {}

  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override { return exact_.memory_bound_seconds(bytes); }
  double issue_seconds() const override { return exact_.issue_seconds(); }

 private:
  const machine::OperatorModel& exact_;
  bool fuse_;
};

// Seconds of a head's two products, of these sizes.
double products_of_head(const machine::OperatorModel& exact, const machine::Operator& head);

}  // namespace orrery::verbs
