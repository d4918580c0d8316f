// Operator times from measurements: a table of matrix products that were timed on an accelerator, another model for
// everything between and beyond them.
#pragma once

#include <vector>

#include "orrery/machine/operator_model.h"

namespace orrery::machine {

struct MeasuredProduct {
  MatrixProduct product;
  double seconds = 0;
};

class MeasuredOperators final : public OperatorModel {
 public:
  // `rest` answers for memory-bound operators, issue time and the shape of the curve between measurements; it must
  // outlive this. Of equal products the least time counts. Products and times are positive.
  MeasuredOperators(std::vector<MeasuredProduct> table, const OperatorModel& rest);

  double matrix_product_seconds(const MatrixProduct& product) const override;
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
