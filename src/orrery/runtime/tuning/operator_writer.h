// What the parts of a layer are written with: tensors, operators, and the names of a sub-layer (attention, attention to
// an encoder, network), each with its map, dropout, addition and norm. For layer_operators.cc and its parts.
#pragma once

#include <string>
#include <vector>

#include "orrery/runtime/tuning/layer_operators.h"

namespace orrery::tuning {

using Names = std::vector<std::string>;

// Names that Substation has for the first and the last; those of cross attention are made like them.
struct SubLayer {
  std::string prefix;                      // of tensors inside: "", "C_"
  std::string word;                        // of operators inside: "", "cross "
  std::string tag;                         // of the norm's tensors: "1", "C", "2"
  std::string norm, drop, residual, bias;  // operators
  std::string mapped, biased, mask;        // tensors: what the last map makes, with its bias, and its dropout's mask
  std::string bias_weight, gradient;       // the bias; the gradient of what the last map makes
};

class OperatorWriter {
 public:
  explicit OperatorWriter(const LayerOptions& options);

  const layer::Shape& shape() const { return options_.shape; }
  bool training() const { return options_.training; }
  bool drops() const { return options_.training && options_.dropout; }
  void begin_backward() { backward_ = true; }

  // All return the tensor's name; what is there already stays as it is.
  std::string tensor(const std::string& name, const std::string& dims, Role role = Role::kBetween);
  std::string weight(const std::string& name, const std::string& dims);
  std::string gradient(const std::string& weight_name);  // of a weight

  // The result is made if it is not there.
  void contraction(const std::string& name, const std::string& einsum, const std::string& a, const std::string& b,
                   const std::string& c);
  void parts(const std::string& name, const Names& reads, const Names& writes);
  // One step, as alone; `reduced` as in Step.
  LayerOperator& plain(const std::string& name, const std::string& space, base::Count flop, const Names& reads,
                       const Names& writes, const std::string& reduced = "");
  LayerOperator& add(LayerOperator one);
  Step step(const std::string& space, base::Count flop, const Names& reads, const Names& writes,
            const std::string& reduced = "") const;

  void keep(const std::string& name) { out_.kept.push_back(name); }
  Sizes& sizes() { return out_.sizes; }
  LayerOperators finish() { return std::move(out_); }

 private:
  LayerOptions options_;
  LayerOperators out_;
  bool backward_ = false;
};

// The maps of a sub-layer. Forward: from its input to `sub.mapped`. Backward: from `gradient`, of what the last map
// makes, to that of its input, whose name is returned.
void attention_forward(OperatorWriter& to, const SubLayer& sub, const std::string& input);
std::string attention_backward(OperatorWriter& to, const SubLayer& sub, const std::string& input,
                               const std::string& gradient);
void network_forward(OperatorWriter& to, const SubLayer& sub, const std::string& input);
std::string network_backward(OperatorWriter& to, const SubLayer& sub, const std::string& input,
                             const std::string& gradient);

}  // namespace orrery::tuning
