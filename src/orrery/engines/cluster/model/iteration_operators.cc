// The passes of layer.h say what they ask their operator model, where somebody listens: so nothing is listed that is
// not priced, and the other way round. Cost: the passes of each kind of layer, some hundred entries.
#include "orrery/engines/cluster/model/iteration_operators.h"

#include <algorithm>
#include <array>

#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {
namespace {

// Prices nothing: only what is asked counts, and whether attention is known as one operator.
class Silent final : public machine::OperatorModel {
 public:
  explicit Silent(const machine::OperatorModel* asked) : asked_(asked) {}
  double matrix_product_seconds(const machine::MatrixProduct&) const override { return 0; }
  double memory_bound_seconds(double) const override { return 0; }
  double issue_seconds() const override { return 0; }
  std::optional<double> attention_seconds(const machine::Operator& attention) const override {
    return asked_ == nullptr ? std::nullopt : asked_->attention_seconds(attention);
  }

 private:
  const machine::OperatorModel* asked_;
};

bool same(const OperatorUse& a, const OperatorUse& b) {
  return a.name == b.name && a.pass == b.pass && a.one.kind == b.one.kind && a.one.product == b.one.product &&
         a.one.bytes == b.one.bytes && a.one.share == b.one.share;
}

}  // namespace

std::string_view name(OperatorPass pass) {
  constexpr std::array<std::string_view, 6> kNames = {"forward",  "input gradient", "weight gradient",
                                                      "backward", "recomputation",  "step"};
  return kNames[static_cast<std::size_t>(pass)];
}

OperatorUses operators_of(const Model& model, const System& system, const Plan& plan,
                          const machine::OperatorModel* asked) {
  const Silent silent(asked);
  LayerContext context = layer_context(model, system, plan, silent);
  OperatorUses part, all;
  context.uses = &part;
  context.asked = asked;
  const double m = whole_microbatches(plan);
  const auto take = [&](double times) {
    for (OperatorUse& use : part) {
      use.times *= times;
      const auto known =
          std::find_if(all.begin(), all.end(), [&](const OperatorUse& other) { return same(use, other); });
      if (known == all.end())
        all.push_back(std::move(use));
      else
        known->times += use.times;
    }
    part.clear();
  };
  for (const LayerKind& kind : model.kinds) {
    layer_passes(context, kind);
    take(m * static_cast<double>(kind.layers));
  }
  if (model.ahead > 0) {
    ahead_passes(context);
    take(m * static_cast<double>(model.ahead));
  }
  embedding_passes(context);
  logits_passes(context);
  take(m);

  double own = 0;
  for (base::Count stage = 0; stage < plan.pp; ++stage)
    own += stepped_parameters(plan, stage_parameters(model, plan, stage));
  part.push_back({"optimiser", OperatorPass::kStep,
                  machine::Operator::moving(machine::OperatorKind::kElementwise,
                                            system.calibration.optimizer_bytes_per_param * own)});
  take(1);
  std::erase_if(all, [](const OperatorUse& use) { return use.times <= 0; });
  return all;
}

}  // namespace orrery::cluster
