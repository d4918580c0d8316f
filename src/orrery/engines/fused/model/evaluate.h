// evaluate(problem, tree): what a loop tree costs and whether it is allowed. Pure, and independent of the search.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/fused/model/fused_problem.h"
#include "orrery/engines/fused/model/loop_tree.h"

namespace orrery::fused {

// Bits that an einsum's access moves through a storage, over all instances and all `times`, and what they cost.
struct Flow {
  double read = 0;
  double written = 0;
  double energy = 0;
};

struct EinsumCost {
  double energy = 0;      // of all `times`, leakage included
  double leakage = 0;     // share of it
  double latency = 0;     // of all `times`
  double operations = 0;  // of all `times`
  double unit_energy = 0;
  double unit_latency = 0;
  std::vector<std::vector<Flow>> flows;  // [storage][access]
  std::vector<double> storage_latency;   // [storage]
};

// The most bits that an instance of a storage holds at once, and where.
struct Peak {
  double bits = 0;
  double capacity = kUnlimited;
  int first = -1;  // the branches that are open at that moment
  int last = -1;
};

// One line a moment: what an exchange level holds while a branch runs, by the depth it stands at.
struct Held {
  int tensor = 0;
  int branch = 0;  // that holds it, for tensors that one branch alone holds; else that of its producer
  int depth = 0;   // fused loops above it
  double bits = 0;
};

struct Fault {
  enum class Kind { kShape, kRecomputes, kDisagrees, kTree, kCapacity, kHierarchy, kConstraint };
  Kind kind = Kind::kShape;
  int branch = -1;
  int tensor = -1;
  int storage = -1;
  std::string reason;
};

struct Evaluation {
  std::vector<Fault> faults;  // empty: allowed
  double energy = 0;
  double latency = 0;
  std::vector<EinsumCost> einsums;      // by branch
  std::vector<Peak> peaks;              // by storage
  std::vector<std::vector<Held>> held;  // by storage, exchange levels only

  bool legal() const { return faults.empty(); }
};

Evaluation evaluate(const Problem& problem, const Tree& tree);

}  // namespace orrery::fused
