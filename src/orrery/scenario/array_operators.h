// A simulated array of pruned attention beside each accelerator of a run: it does the attention of forward passes.
//
// What `sparse simulate` wrote says how long it took for so many pairs of query and key; pairs that are there at other
// lengths take as long each, since prediction, blocks and merging are proportional to them at a density. Heads must
// have the size that was simulated. Backwards the accelerator computes dense attention: the array has no such pass.
#pragma once

#include <memory>
#include <string>

#include "orrery/machine/operator_model.h"

namespace orrery::base {
struct SourceFile;
}

namespace orrery::scenario {

struct AttentionArray {
  std::string name;                                    // of the file
  double seconds_per_score = 0, joules_per_score = 0;  // kept or not
  base::Count head_size = 0, queries = 0, keys = 0;
  double density = 0;
};

// Of an answer of `sparse simulate` in JSON. Throws InputError O1905.
AttentionArray read_attention_array(const std::shared_ptr<const base::SourceFile>& file);

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

}  // namespace orrery::scenario
