// The operators of a training run, one by one: what `evaluate` adds up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/describe/machine/operator.h"

namespace orrery::machine {
class OperatorModel;
}

namespace orrery::cluster {

struct Model;
struct System;
struct Plan;

enum class OperatorPass { kForward, kInputGradient, kWeightGradient, kBackward, kRecomputation, kStep };
std::string_view name(OperatorPass pass);

// An operator on one accelerator. `times` is how often it counts; of flash attention's backward pass, which is priced
// by its forward products, no whole number.
struct OperatorUse {
  std::string name;  // "KQV", "FF1", "scores", "norms, activations, layouts"
  OperatorPass pass = OperatorPass::kForward;
  machine::Operator one;
  double times = 1;
  // What it computes, where `one` is another product that it is priced as: queries by keys of fused attention. By
  // itself that product would write the scores, which the fused operator never does.
  std::optional<machine::MatrixProduct> computes = {};
};
using OperatorUses = std::vector<OperatorUse>;

// All of an iteration, of one rank of every stage taken together: an iteration on `gpus` accelerators does each
// gpus / pp times as often. Their seconds add up to those that all stages compute. Equal operators are one. The
// plan is possible (plan.h). `asked` says whether attention is one operator, and prices its products where it knows the
// forward pass alone; null: it is its products.
OperatorUses operators_of(const Model& model, const System& system, const Plan& plan,
                          const machine::OperatorModel* asked = nullptr);

}  // namespace orrery::cluster
