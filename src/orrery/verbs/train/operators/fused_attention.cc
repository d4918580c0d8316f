#include "orrery/verbs/train/operators/fused_attention.h"

#include <algorithm>

namespace orrery::verbs {
namespace {

// The same operators, attention by its products.
class Apart final : public machine::OperatorModel {
 public:
  explicit Apart(const machine::OperatorModel& rest) : rest_(rest) {}
  double matrix_product_seconds(const machine::MatrixProduct& product) const override {
    return rest_.matrix_product_seconds(product);
  }
  double weight_gradient_seconds(const machine::MatrixProduct& product) const override {
    return rest_.weight_gradient_seconds(product);
  }
  double memory_bound_seconds(double bytes) const override { return rest_.memory_bound_seconds(bytes); }
  double elementwise_seconds(double elements, machine::Precision precision) const override {
    return rest_.elementwise_seconds(elements, precision);
  }
  double issue_seconds() const override { return rest_.issue_seconds(); }

 private:
  const machine::OperatorModel& rest_;
};

bool is_attention(const cluster::OperatorUse& use) {
  const bool forward = use.pass == cluster::OperatorPass::kForward || use.pass == cluster::OperatorPass::kRecomputation;
  return forward && (use.name.ends_with("attention") || use.name.ends_with("scores") || use.name.ends_with("values") ||
                     use.name.starts_with("softmax"));
}

double forward_seconds(const std::vector<RunOperator>& listed) {
  double sum = 0;
  for (const RunOperator& one : listed)
    if (is_attention(one.use)) sum += one.seconds;
  return sum;
}

}  // namespace

bool FusedAttention::searched() const {
  return std::all_of(asked.begin(), asked.end(), [](const AskedAttention& one) { return one.one.searched; });
}

FusedAttention fused_attention(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                               const machine::OperatorModel& operators, const ChipOperators& nests,
                               const std::vector<RunOperator>& listed) {
  const Apart apart(operators);
  FusedAttention out;
  out.apart_s = cluster::evaluate(model, system, plan, apart).iteration_s;
  out.forward_s = forward_seconds(listed);
  out.forward_apart_s = forward_seconds(run_operators(cluster::operators_of(model, system, plan), apart));
  for (auto& [shape, one] : nests.attentions()) {
    const auto runs = [&of = shape](const RunOperator& other) {
      return other.use.one.kind == machine::OperatorKind::kAttention && attention_shape(other.use.one) == of;
    };
    const bool taken = std::any_of(listed.begin(), listed.end(), runs);
    out.asked.push_back({shape, one, taken, {}});
  }
  return out;
}

}  // namespace orrery::verbs
