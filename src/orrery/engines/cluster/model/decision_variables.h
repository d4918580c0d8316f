// The decision variables of a search over plans, each with whole numbers for values, so that loops, limits and messages
// treat all alike.
#pragma once

#include <array>
#include <string>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// In the order in which ties are broken: the plan with the smaller number in the first variable that differs is taken.
enum class Variable {
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

inline constexpr auto kVariables = [] {
  std::array<Variable, static_cast<std::size_t>(Variable::kOrder) + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Variable>(i);
  return all;
}();

// Shares are counted in these parts.
inline constexpr base::Count kWholeShare = 1'000'000;

// As of cluster::fields(plan).
const char* name(Variable variable);

// The choice as a number: of a schedule its place in 1f1b, gpipe, zero-bubble, dualpipe, zb-v, v-half, v-min; of a
// truth 0 or 1, of a share its millionths.
base::Count get(const Plan& plan, Variable variable);
void set(Plan& plan, Variable variable, base::Count value);

// "8", "full", "true": as options and files say it. A schedule is named without its chunks.
std::string value_name(Variable variable, base::Count value);

// The order of ties: fewer accelerators first, then variable by variable.
bool comes_before(const Plan& a, const Plan& b);

}  // namespace orrery::cluster
