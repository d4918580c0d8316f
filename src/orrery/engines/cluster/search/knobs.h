// What of a plan a search may choose, each choice as a whole number, so that loops, limits and messages treat all
// alike.
#pragma once

#include <array>
#include <string>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// In the order in which ties are broken: the plan with the smaller number in the first knob that differs is taken.
enum class Knob {
  kGlobalBatch,
  kTp,
  kPp,
  kDp,
  kCp,
  kEp,
  kMicroBatch,
  kSchedule,
  kInterleave,
  kRecompute,
  kSequenceParallel,
  kZero,
  kExpertTp,
  kShard,
  kOffloadActivations,
  kOffloadOptimizer,
  kOrder,
};

inline constexpr std::array kKnobs = {Knob::kGlobalBatch,
                                      Knob::kTp,
                                      Knob::kPp,
                                      Knob::kDp,
                                      Knob::kCp,
                                      Knob::kEp,
                                      Knob::kMicroBatch,
                                      Knob::kSchedule,
                                      Knob::kInterleave,
                                      Knob::kRecompute,
                                      Knob::kSequenceParallel,
                                      Knob::kZero,
                                      Knob::kExpertTp,
                                      Knob::kShard,
                                      Knob::kOffloadActivations,
                                      Knob::kOffloadOptimizer,
                                      Knob::kOrder};

// Shares are counted in these parts.
inline constexpr base::Count kWholeShare = 1'000'000;

// As of cluster::fields(plan).
const char* name(Knob knob);

// The choice as a number: of a schedule its place in 1f1b, gpipe, zero-bubble, dualpipe; of a truth 0 or 1, of a share
// its millionths.
base::Count get(const Plan& plan, Knob knob);
void set(Plan& plan, Knob knob, base::Count value);

// "8", "full", "true": as options and files say it. A schedule is named without its chunks.
std::string value_name(Knob knob, base::Count value);

// The order of ties: fewer accelerators first, then knob by knob.
bool comes_before(const Plan& a, const Plan& b);

}  // namespace orrery::cluster
