// The stages of a pipeline: what each spends on a microbatch, and how long it waits for the others.
#pragma once

#include <algorithm>
#include <array>

#include "orrery/cluster/layer.h"
#include "orrery/cluster/plan.h"

namespace orrery::cluster {

// Seconds of one stage for one microbatch.
struct Stage {
  PassPair passes;
  double forward = 0, backward = 0;
  double weight = 0;  // the part of `backward` that zero-bubble schedules defer
  double pair = 0;    // DualPipe: a forward beside a backward pass, which take longer apart; else 0

  double tau() const { return pair > 0 ? pair : forward + backward; }
  double input() const { return backward - weight; }
  double apart() const { return pair > 0 ? std::max(0.0, forward + backward - pair) : 0; }
};

// Stages of one kind: how many there are, and the first and the last of them.
struct Kind {
  Stage stage;
  double count = 0;
  double front = 0, back = 0;
};

// First, longer ones between, shorter ones between, last.
using Pipeline = std::array<Kind, 4>;

Pipeline pipeline(const LayerContext& context);

// How long a stage of `kind` waits in total for the others, until the last one has ended.
double waiting(const Model& model, const Plan& plan, const Pipeline& pipe, const Kind& kind);

}  // namespace orrery::cluster
