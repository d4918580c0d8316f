#include "orrery/engines/cluster/search/usual_space.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

// The open variable has those of its values that are usual; all of them where none is.
template <typename Usual>
void keep(Space& space, Variable variable, Values values, const Usual& usual) {
  if (!space.open(variable)) return;
  values.erase(std::remove_if(values.begin(), values.end(), [&](base::Count value) { return !usual(value); }),
               values.end());
  space.of(variable) = std::move(values);
}

}  // namespace

bool pipelines_small_batches(StackName software) {
  return software == StackName::kMegatron2021 || kin(software) == StackName::kMegatronCore;
}

Space without_offloading(Space space) {
  for (const Variable variable : {Variable::kOffloadActivations, Variable::kOffloadOptimizer})
    keep(space, variable, {0}, [](base::Count) { return true; });
  return space;
}

Space usual_space(const Model& model, const System& system, const Space& space) {
  const Domain domain(model, system, space);
  Space out = without_offloading(space);
  const base::Count node = std::max<base::Count>(1, system.node_size);
  keep(out, Variable::kTp, domain.tp(), [&](base::Count tp) { return tp <= node; });
  keep(out, Variable::kCp, domain.cp(), [&](base::Count cp) { return cp == 1 || model.seq / cp >= kLeastLocalTokens; });
  keep(out, Variable::kOrder, {domain.orders().front()}, [](base::Count) { return true; });
  keep(out, Variable::kShard, {0}, [](base::Count) { return true; });
  if (!pipelines_small_batches(space.base.stack.name)) return out;
  Values batches;
  for (base::Count micro = 1; micro <= kMostMicroBatch; micro *= 2) batches.push_back(micro);
  // Given microbatches need not divide what they share out, open ones do: so the software has to insist on it.
  if ((space.base.stack.lacks & ~space.waived & feature("uneven_microbatches")) != 0)
    keep(out, Variable::kMicroBatch, batches, [](base::Count) { return true; });
  // Not by a list of values: a given value stands for one replica as well, an open one does not.
  if (space.open(Variable::kZero)) out.base.stack.lacks |= feature("zero_2") | feature("zero_3");
  return out;
}

}  // namespace orrery::cluster
