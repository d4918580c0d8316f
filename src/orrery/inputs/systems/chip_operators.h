// How long an operator takes on a chip, and what it costs there: the optimal loop nest answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/chip_outside.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/inputs/systems/chip_attention.h"

namespace orrery::verbs {

// Matrix products run by the mapping of least delay and, among those, of least energy; the copies of a batch one after
// the other. Everything else is limited by the chip's outermost port. A product is searched once and kept by its shape;
// precisions make no difference, since a chip computes on the words that it has. Where it is asked for, attention
// forwards is one operator besides (chip_attention.h), whose scores stay on the chip.
//
// Thread-safe; answers depend on neither threads nor the order of questions, a time limit apart. Asking for a product
// throws InputError: O1391 where the chip's constraints leave no mapping, O1392 where a limit ended the search without
// one, and what reading the constraints for it says.
class ChipOperators final : public machine::OperatorModel {
 public:
  // What is asked of the chip about an einsum. Need not be thread-safe.
  using Ask = AskChip;

  // `chip` is the one that `ask` speaks of. `limits.seconds` counts from now on, for all searches together.
  // `issue_seconds`: the host's time to issue an operator. `fuse`: asked about softmaxes; none: attention is its
  // products.
  ChipOperators(std::shared_ptr<const machine::Chip> chip, Ask ask, const nest::ModelOptions& model,
                const base::Limits& limits, double issue_seconds = 0, Ask fuse = {});
  ~ChipOperators() override;
  ChipOperators(const ChipOperators&) = delete;
  ChipOperators& operator=(const ChipOperators&) = delete;

  // Searches all products that are not known yet, on `limits.threads` threads. `progress`: done, all; one call at a
  // time.
  void prepare(const std::vector<machine::MatrixProduct>& products,
               const std::function<void(std::size_t, std::size_t)>& progress = {}) const;

  double matrix_product_seconds(const machine::MatrixProduct& product) const override;
  // Of forward passes alone, and where a group of the three operators has room.
  std::optional<double> attention_seconds(const machine::Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override;
  double issue_seconds() const override { return issue_seconds_; }
  machine::Cost cost(const machine::Operator& one) const override;

  // How many products were searched, and those without a proof: their sizes and the gap, as a share.
  std::size_t searched() const;
  std::vector<std::pair<machine::MatrixProduct, double>> unproven() const;

  // The attentions that were asked for, of one head each.
  std::vector<std::pair<AttentionShape, ChipAttention>> attentions() const;

 private:
  struct Known;
  struct Answer;
  const Answer& answer(const machine::MatrixProduct& product) const;
  // `share`: of the time that is left.
  Answer search(const machine::MatrixProduct& product, int searches, int threads, double share = 1) const;
  const ChipAttention& attention(const AttentionShape& shape) const;

  std::shared_ptr<const machine::Chip> chip_;
  Ask ask_, fuse_;
  nest::ModelOptions model_;
  base::Limits limits_;
  base::Budget budget_;
  machine::MemoryPort port_;
  double issue_seconds_;
  std::unique_ptr<Known> known_;
};

}  // namespace orrery::verbs
