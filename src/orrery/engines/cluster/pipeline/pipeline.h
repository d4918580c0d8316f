// The stages of a pipeline: what each spends on a microbatch, and how long it waits for the others. placement.h says
// where ranks are on the network, schedule.h runs a pipeline event by event for traces and to test the closed forms,
// dualpipe.h has the schedule that runs in both directions.
#pragma once

#include <algorithm>
#include <array>

#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// Seconds of one stage for one microbatch.
struct Stage {
  PassPair passes;
  double forward = 0, backward = 0;
  double weight = 0;  // the part of `backward` that zero-bubble schedules defer
  struct Part {
    double forward = 0, backward = 0, weight = 0;
  };
  Part second;      // folded to a V: what of these its second chunk takes
  double pair = 0;  // DualPipe: a forward beside a backward pass, which take longer apart; else 0

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

// How long stages wait for the others. Keeps references.
class Waits {
 public:
  Waits(const Model& model, const Plan& plan, const Pipeline& pipe);

  // A stage of `kind` in total, until the last one has ended.
  double of(const Kind& kind) const;

  // Of an interleaved pipeline: microbatches that go through a chunk before the next.
  double group() const { return group_; }

 private:
  const Plan& plan_;
  const Pipeline& pipe_;
  double m_ = 0, p_ = 0;
  double group_ = 0;
  double refill_ = 0;  // turns that a group smaller than the pipeline waits
  double chunk_ = 1;   // share of a stage's layers in its longest chunk
  double all_ = 0;     // a microbatch's seconds in all stages; of stages folded to a V all seconds of all microbatches
};

// The same of one kind alone.
double waiting(const Model& model, const Plan& plan, const Pipeline& pipe, const Kind& kind);

}  // namespace orrery::cluster
