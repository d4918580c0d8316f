// Attention as it is, of which somebody wants the queries, keys and values: an array that is simulated, for one.
#pragma once

#include <functional>

#include "orrery/layer/attention_core.h"
#include "orrery/study/gathered.h"

namespace orrery::study {

struct Recorded {
  Gathered gathered;         // queries and keys
  std::vector<float> value;  // [batch][heads][keys][value_size]
  base::Count value_size = 0;
};

class RecordedAttention : public layer::AttentionCore {
 public:
  // `told` is called before each forward pass; what it is given holds during the call. `scaled` as of gather().
  RecordedAttention(bool scaled, std::function<void(const Recorded&)> told) : scaled_(scaled), told_(std::move(told)) {}

  void forward(kernels::Context& context, const kernels::Attention& attention) override {
    gather(context, attention, scaled_, recorded_.gathered);
    gather_values(context, attention, recorded_.value);
    recorded_.value_size = attention.value_size;
    told_(recorded_);
    kernels::attend(context, attention);
  }
  void backward(kernels::Context& context, const kernels::Attention& attention) override {
    kernels::attend_back(context, attention);
  }

 private:
  bool scaled_;
  std::function<void(const Recorded&)> told_;
  Recorded recorded_;
};

}  // namespace orrery::study
