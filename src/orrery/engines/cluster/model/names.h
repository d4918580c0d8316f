// The names of a plan's choices in options, files and JSON, and the limits of its sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// A schedule as users name it: interleaving is 1F1B with several chunks per stage.
enum class PipelineChoice { kGpipe, kOneFOneB, kInterleaved, kZeroBubble, kDualPipe, kZbV, kVHalf, kVMin };

PipelineChoice schedule_of(const Plan& plan);
Schedule schedule_of(PipelineChoice choice);

// Limits within which products of sizes stay within 64 bits.
inline constexpr base::Count kMostDegree = 50'000;          // of tp, pp, dp, ep, cp, interleave
inline constexpr base::Count kMostInPlan = 1'000'000'000;   // of accelerators and sequences
inline constexpr base::Count kMostInModel = 1'000'000'000;  // of any size

// The names that options and JSON use.
template <typename Value>
using Names = std::vector<std::pair<std::string, Value>>;
const Names<PipelineChoice>& schedules();
const Names<Order>& orders();
const Names<Recompute>& recomputations();
const Names<machine::Precision>& precisions();
const Names<Attention>& attentions();
const Names<StackName>& stacks();
const Names<machine::AttentionKernel>& attention_kernels();

// The name of `value` among them; "" if it has none.
template <typename Value>
std::string name_of(Value value, const Names<Value>& names) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return "";
}

}  // namespace orrery::cluster
