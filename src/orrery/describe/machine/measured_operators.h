// Operator times from measurements: a table of matrix products timed on an accelerator, and another model for products
// that were not measured.
#pragma once

#include <vector>

#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

struct MeasuredProduct {
  MatrixProduct product;
  double seconds = 0;
};

class MeasuredOperators final : public OperatorModel {
 public:
  // `rest` models memory-bound operators, attention as one operator, issue time and the curve between measurements; it
  // must outlive this object. If a product was measured more than once, the least time counts. Products and times are
  // positive.
  MeasuredOperators(std::vector<MeasuredProduct> table, const OperatorModel& rest);

  double matrix_product_seconds(const MatrixProduct& product) const override;
  std::optional<double> attention_seconds(const Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override;
  double elementwise_seconds(double elements, Precision precision) const override;
  double issue_seconds() const override;

  // Whether `product` was measured itself.
  bool measured(const MatrixProduct& product) const;

 private:
  struct Entry {
    MatrixProduct product;
    double seconds = 0;
    double correction = 1;          // measured over what `rest` says
    std::array<double, 4> place{};  // logarithms of the four sizes
  };
  std::vector<Entry> entries_;
  const OperatorModel* rest_;
};

}  // namespace orrery::machine
