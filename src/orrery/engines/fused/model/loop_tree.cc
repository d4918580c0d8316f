#include "orrery/engines/fused/model/loop_tree.h"

namespace orrery::fused {

Exchange exchange_of(const Problem& /*problem*/, const Branch& branch, int access) {
  int loops = 0;
  for (const Step& step : branch.steps) {
    if (step.kind == Step::Kind::kLoop) ++loops;
    if (step.kind == Step::Kind::kHold && step.access == access && step.exchange) return {step.storage, loops};
  }
  return {};
}

int fused_loops(const Problem& /*problem*/, const Branch& branch) {
  int loops = 0;
  int fused = 0;
  for (const Step& step : branch.steps) {
    if (step.kind == Step::Kind::kLoop) ++loops;
    if (step.kind == Step::Kind::kHold && step.exchange) fused = loops;
  }
  return fused;
}

}  // namespace orrery::fused
