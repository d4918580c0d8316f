#include "orrery/engines/fused/model/evaluate.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/engines/fused/model/branch_price.h"
#include "orrery/engines/fused/model/einsum_view.h"
#include "orrery/engines/fused/model/lifetimes.h"
#include "orrery/engines/fused/model/tree_rules.h"

namespace orrery::fused {
namespace {

// What an exchange level holds, by branch and over branches.
Peak shared_peak(const Problem& problem, const Tree& tree, int storage, std::vector<Held>& held) {
  std::vector<Private> branches;
  std::map<int, Living> living;
  std::vector<int> shared;
  for (int b = 0; b < static_cast<int>(tree.branches.size()); ++b) {
    const Branch& branch = tree.branches[b];
    const EinsumView view(problem, branch.einsum);
    Private mine;
    mine.fused = fused_loops(problem, branch);
    mine.bits.resize(mine.fused + 1);
    int loops = 0;
    for (int i = 0; i < static_cast<int>(branch.steps.size()); ++i) {
      const Step& step = branch.steps[i];
      if (step.kind == Step::Kind::kLoop) ++loops;
      if (step.kind != Step::Kind::kHold || step.storage != storage) continue;
      const int tensor = view.e.accesses[step.access].tensor;
      const double bits =
          static_cast<double>(tile_words(problem, branch, i, step.access)) * view.word_bits(storage, step.access);
      const int depth = std::min(loops, mine.fused);
      const auto found = living.find(tensor);
      if (!step.exchange) {
        mine.bits[depth] += bits;
        held.push_back({tensor, b, depth, bits});
      } else if (found == living.end()) {
        living[tensor] = {bits, depth, b, b};
        held.push_back({tensor, b, depth, bits});
      } else {
        found->second.last = b;
      }
    }
    branches.push_back(std::move(mine));
    shared.push_back(branch.shared);
  }
  std::vector<Living> tensors;
  for (const auto& [tensor, one] : living) tensors.push_back(one);
  return peak(branches, tensors, shared);
}

// What a branch holds in a storage that it has for itself.
double private_bits(const Problem& problem, const Branch& branch, int storage) {
  const EinsumView view(problem, branch.einsum);
  double bits = 0;
  for (int i = 0; i < static_cast<int>(branch.steps.size()); ++i) {
    const Step& step = branch.steps[i];
    if (step.kind == Step::Kind::kHold && step.storage == storage)
      bits += static_cast<double>(tile_words(problem, branch, i, step.access)) * view.word_bits(storage, step.access);
  }
  return bits;
}

void check_capacity(const Problem& problem, const Tree& tree, Evaluation& answer) {
  answer.held.resize(problem.machine.storages.size());
  for (int s = 0; s < static_cast<int>(problem.machine.storages.size()); ++s) {
    const Storage& storage = problem.machine.storages[s];
    Peak most;
    most.capacity = storage.capacity;
    const auto refuse = [&](const Peak& at) {
      const std::string& first = problem.einsums[tree.branches[at.first].einsum].name;
      answer.faults.push_back(
          {Fault::Kind::kCapacity, at.first, -1, s,
           fmt::format("{} holds {:.0f} bits at {} and has {:.0f}", storage.name, at.bits, first, at.capacity)});
    };
    if (storage.exchange) {
      most = shared_peak(problem, tree, s, answer.held[s]);
      most.capacity = storage.capacity;
      if (most.bits > most.capacity) refuse(most);
    } else if (s > 0) {
      for (int b = 0; b < static_cast<int>(tree.branches.size()); ++b) {
        const Peak here{private_bits(problem, tree.branches[b], s),
                        EinsumView(problem, tree.branches[b].einsum).capacity(s), b, b};
        if (here.bits > here.capacity) refuse(here);
        if (here.bits > most.bits || most.first < 0) most = here;
      }
    }
    answer.peaks.push_back(most);
  }
}

}  // namespace

Evaluation evaluate(const Problem& problem, const Tree& tree) {
  Evaluation answer;
  answer.faults = broken_rules(problem, tree);
  if (!countable(answer.faults)) return answer;
  for (const Branch& branch : tree.branches) {
    answer.einsums.push_back(price(problem, branch));
    answer.energy += answer.einsums.back().energy;
    answer.latency += answer.einsums.back().latency;
  }
  check_capacity(problem, tree, answer);
  return answer;
}

}  // namespace orrery::fused
