// Where a search of plans looks, in turn, until some are within the limits: first at what recipes keep to, with memory
// left free, then further.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/cluster/search/usual_space.h"

namespace orrery::verbs {

// Of an accelerator's memory, to be left free of what is in use.
struct MemoryMargin {
  double share = 0, bytes = 0;

  double of(double capacity) const { return std::min(capacity, share * capacity + bytes); }
};
// That of searches that are asked for no other: as much as predictions of memory are off by.
inline constexpr MemoryMargin kUsualMargin = {0.1, 0};

// Which plans are searched.
enum class PlanScope {
  kUsual,        // engines/cluster/search/usual_space.h
  kUnoffloaded,  // all that the software runs, with nothing in the hosts' memory
  kAll
};

struct PlanStage {
  PlanScope scope = PlanScope::kAll;
  double margin = 0;  // bytes of an accelerator, to be left free
};

// `margin`: nothing is the usual one, which gives way where no plan leaves it; unless `limited`, by another amount.
std::vector<PlanStage> plan_stages(PlanScope scope, const std::optional<MemoryMargin>& margin, bool limited,
                                   double capacity);

// The part of `wide` that a stage looks at.
cluster::Space space_of_stage(PlanScope scope, const cluster::Model& model, const cluster::System& system,
                              const cluster::Space& wide);

// "usual plans: tensor groups within a node, ...".
std::string scope_in_words(PlanScope scope, cluster::StackName software);

}  // namespace orrery::verbs
