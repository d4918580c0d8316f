// The operators of a layer: what its products, attention cores and memory traffic take, and the notes of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/engines/cluster/layer/layer.h"

namespace orrery::cluster {

inline constexpr const char* kAround = "norms, activations, layouts";

// Notes an operator where somebody asks.
inline void note(const LayerContext& c, std::string_view name, OperatorPass pass, const machine::Operator& one,
                 double times = 1, const std::optional<machine::MatrixProduct>& computes = {}) {
  if (c.uses != nullptr) c.uses->push_back({std::string(name), pass, one, times, computes});
}

// Seconds of an operator that memory limits.
inline double moved(const LayerContext& c, std::string_view name, OperatorPass pass, machine::OperatorKind kind,
                    double bytes) {
  if (c.uses != nullptr && bytes > 0) note(c, name, pass, machine::Operator::moving(kind, bytes));
  return c.operators.memory_bound_seconds(bytes);
}

// What is not quantised: attention, logits.
inline machine::Precision wide(machine::Precision precision) {
  return machine::quantised(precision) ? machine::Precision::kBf16 : precision;
}

// Tokens of a microbatch on one context-parallel rank.
inline base::Count tokens_of(const LayerContext& c, base::Count seq) {
  return c.plan.micro_batch * (seq / c.plan.cp);
}

// Sums products' times: forward, with respect to the input, with respect to the weights.
struct Products {
  const LayerContext& context;
  machine::Precision precision;
  bool adapted = false;  // where adapters are trained, these matrices have them: layers' own, not the routed experts'
  double slower = 1;     // times, in units of what a product takes by itself
  double forward = 0, input = 0, weight = 0;
  double forward_bytes = 0, backward_bytes = 0;  // of making 8-bit operands
  double parameters = 0;

  void add(const Products& others);
  // y = x w with x of m x k and w of k x n. What the operator that makes x or y's gradient quantises by itself is
  // written, not read: twice, once for either axis.
  void linear(std::string_view name, base::Count batch, base::Count m, base::Count n, base::Count k,
              bool input_made = false, bool gradient_made = false);

 private:
  void frozen(std::string_view name, const machine::MatrixProduct& y, const machine::MatrixProduct& dx);
  void adapter(base::Count m, base::Count n, base::Count k, base::Count r);
};

// Seconds to add weight gradients up in a pass of its own.
double accumulation(const LayerContext& c, const Products& products);

struct CoreSeconds {
  double forward = 0, backward = 0;
};

void add_core(const LayerContext& c, const LayerKind& kind, const Core& core, CoreSeconds& sum);

// `rows` tokens times a rank's part of a matrix.
void multiply(const LayerContext& c, const Matrix& m, base::Count rows, Products& sum);
void layer_product(const LayerContext& c, const LayerKind& kind, const Matrix& m, Products& sum);
void expert_products(const LayerContext& c, const LayerKind& kind, Products& sum);  // of routed experts
void layer_products(const LayerContext& c, const LayerKind& kind, Products& sum);   // all
// Of the matrices before or after all layers.
void end_products(const LayerContext& c, const std::vector<Matrix>& matrices, Products& sum);

}  // namespace orrery::cluster
