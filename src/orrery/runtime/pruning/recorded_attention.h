// Attention as it is, of which somebody wants the queries, keys and values: an array that is simulated, for one.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "orrery/engines/masks/prediction/gathered_rows.h"
#include "orrery/runtime/layer/attention_core.h"

namespace orrery::pruning {

struct Recorded {
  masks::Gathered gathered;  // queries and keys
  std::vector<float> value;  // [batch][heads][keys][value_size]
  base::Count value_size = 0;
};

class RecordedAttention : public layer::AttentionCore {
 public:
  // `told` is called before each forward pass; what it is given is its own. `scaled` as of gather().
  using Told = std::function<void(kernels::Context&, const kernels::Attention&, Recorded)>;
  RecordedAttention(bool scaled, Told told) : scaled_(scaled), told_(std::move(told)) {}

  void forward(kernels::Context& context, const kernels::Attention& attention) override {
    Recorded recorded;
    masks::gather(context, attention, scaled_, recorded.gathered);
    masks::own(recorded.gathered);
    masks::gather_values(context, attention, recorded.value);
    recorded.value_size = attention.value_size;
    told_(context, attention, std::move(recorded));
    kernels::attend(context, attention);
  }
  void backward(kernels::Context& context, const kernels::Attention& attention) override {
    kernels::attend_back(context, attention);
  }

 private:
  bool scaled_;
  Told told_;
};

}  // namespace orrery::pruning
