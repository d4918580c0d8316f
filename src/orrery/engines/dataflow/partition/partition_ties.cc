#include "orrery/engines/dataflow/partition/partition_ties.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

#include <algorithm>
#include <limits>

namespace orrery::dataflow {
namespace {

template <typename Value>
std::vector<std::vector<Value>> table(const std::vector<std::size_t>& states, const Value& value) {
  std::vector<std::vector<Value>> result;
  for (const std::size_t count : states) result.emplace_back(count, value);
  return result;
}

void keep_fewest(std::vector<ChainArc>& arcs, const std::vector<ChainSet>& sets, const std::vector<std::size_t>& states,
                 std::size_t end) {
  constexpr int kMany = std::numeric_limits<int>::max() / 2;
  auto before = table(states, kMany), after = table(states, kMany);
  before.front()[0] = 0;
  after.back()[end] = 0;
  const auto filled = [&](const ChainArc& arc) { return sets[arc.set].kernels.empty() ? 0 : 1; };
  for (const ChainArc& arc : arcs) {
    const auto layer = static_cast<std::size_t>(arc.layer);
    int& best = before[layer + 1][arc.to];
    best = std::min(best, before[layer][arc.from] + filled(arc));
  }
  for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc) {
    const auto layer = static_cast<std::size_t>(arc->layer);
    int& best = after[layer][arc->from];
    best = std::min(best, after[layer + 1][arc->to] + filled(*arc));
  }
  const int fewest = before.back()[end];
  std::erase_if(arcs, [&](const ChainArc& arc) {
    const auto layer = static_cast<std::size_t>(arc.layer);
    return before[layer][arc.from] + filled(arc) + after[layer + 1][arc.to] != fewest;
  });
}

void keep_least_sram(std::vector<ChainArc>& arcs, const std::vector<ChainSet>& sets,
                     const std::vector<std::size_t>& states, std::size_t end) {
  auto most = table(states, kNever);
  most.front()[0] = 0;
  for (const ChainArc& arc : arcs) {
    const auto layer = static_cast<std::size_t>(arc.layer);
    double& best = most[layer + 1][arc.to];
    best = std::min(best, std::max(most[layer][arc.from], sets[arc.set].sram_bytes));
  }
  const double least = most.back()[end];
  std::erase_if(arcs, [&](const ChainArc& arc) { return sets[arc.set].sram_bytes > least; });
}

}  // namespace

std::vector<int> first_chain(std::vector<ChainArc> arcs, const std::vector<ChainSet>& sets,
                             const std::vector<std::size_t>& states, std::size_t end, std::size_t kernels) {
  keep_fewest(arcs, sets, states, end);
  keep_least_sram(arcs, sets, states, end);
  auto first = table(states, std::vector<int>());
  first.front()[0].assign(kernels, -1);
  for (const ChainArc& arc : arcs) {
    const auto layer = static_cast<std::size_t>(arc.layer);
    const std::vector<int>& before = first[layer][arc.from];
    if (before.empty()) continue;
    std::vector<int> assignment = before;
    for (const int k : sets[arc.set].kernels) assignment[static_cast<std::size_t>(k)] = arc.layer;
    std::vector<int>& best = first[layer + 1][arc.to];
    if (best.empty() || assignment < best) best = std::move(assignment);
  }
  return first.back()[end];
}

}  // namespace orrery::dataflow
