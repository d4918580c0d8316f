// Device and host work side by side, so no term of an iteration is the host's alone. What it costs is the difference to
// the same run without it. Cost: a second evaluation, a microsecond; shapes of products are known from the first.
#include "orrery/inputs/systems/host_share.h"

#include <algorithm>

#include "orrery/engines/cluster/model/evaluate.h"

namespace orrery::verbs {
namespace {

class WithoutHost final : public machine::OperatorModel {
 public:
  explicit WithoutHost(const machine::OperatorModel& device) : device_(device) {}
  double matrix_product_seconds(const machine::MatrixProduct& product) const override {
    return device_.matrix_product_seconds(product);
  }
  double weight_gradient_seconds(const machine::MatrixProduct& product) const override {
    return device_.weight_gradient_seconds(product);
  }
  std::optional<double> attention_seconds(const machine::Operator& attention) const override {
    return device_.attention_seconds(attention);
  }
  double memory_bound_seconds(double bytes) const override { return device_.memory_bound_seconds(bytes); }
  double elementwise_seconds(double elements, machine::Precision precision) const override {
    return device_.elementwise_seconds(elements, precision);
  }
  double issue_seconds() const override { return 0; }

 private:
  const machine::OperatorModel& device_;
};

}  // namespace

double host_share(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                  double iteration_s, const machine::OperatorModel& operators) {
  if (!(iteration_s > 0) || operators.issue_seconds() <= 0) return 0;
  const double without = cluster::evaluate(model, system, plan, WithoutHost(operators)).iteration_s;
  return std::clamp(1 - without / iteration_s, 0.0, 1.0);
}

}  // namespace orrery::verbs
