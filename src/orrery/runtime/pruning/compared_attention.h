// Dense and pruned attention of the same queries, keys and values, one after the other: how far their outputs are
// apart, and how long each takes. What the layer goes on with is the pruned output.
#pragma once

#include <functional>

#include "orrery/base/limits/budget.h"
#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/pruning/pruned_core.h"

namespace orrery::pruning {

struct ComparedHead {
  double difference = 0, norm = 0;  // sums of squares over outputs: of pruned - dense, of dense
  double kept_mass = 0;             // sum over queries of the dense probability that is kept
  base::Count queries = 0;
};

struct Compared {
  std::vector<ComparedHead> heads;
  double dense_seconds = 0, predict_seconds = 0, attend_seconds = 0;  // medians of `repeat` runs
};

class ComparedAttention : public layer::AttentionCore {
 public:
  // `core` and the budget must outlive it; once that is spent, nothing is repeated. `told` is called behind each
  // forward pass.
  ComparedAttention(PrunedAttention& core, int repeat, const base::Budget& budget,
                    std::function<void(const Compared&)> told)
      : core_(core), repeat_(repeat), budget_(budget), told_(std::move(told)) {}

  void forward(kernels::Context& context, const kernels::Attention& attention) override;
  void backward(kernels::Context& context, const kernels::Attention& attention) override;

 private:
  PrunedAttention& core_;
  int repeat_;
  const base::Budget& budget_;
  std::function<void(const Compared&)> told_;
  kernels::Buffer dense_;
  std::vector<float> dense_sum_, pruned_sum_;
};

}  // namespace orrery::pruning
