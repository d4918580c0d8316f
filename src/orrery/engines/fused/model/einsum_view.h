// What a problem says of one einsum: the machine's figures where the einsum has none of its own.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/fused_problem.h"

namespace orrery::fused {

struct EinsumView {
  EinsumView(const Problem& of, int einsum) : problem(of), machine(of.machine), e(of.einsums[einsum]) {}

  const Problem& problem;
  const Machine& machine;
  const Einsum& e;

  int accesses() const { return static_cast<int>(e.accesses.size()); }
  const Tensor& tensor(int access) const { return problem.tensors[e.accesses[access].tensor]; }
  Count bound(int variable) const { return problem.variables[variable].bound; }

  bool relevant(int access, int variable) const {
    for (const int v : e.accesses[access].variables)
      if (v == variable) return true;
    return false;
  }
  double word_bits(int storage, int access) const {
    return e.bits.empty() ? tensor(access).bits : e.bits[storage][access];
  }
  double capacity(int storage) const {
    return e.capacity.empty() ? machine.storages[storage].capacity : e.capacity[storage];
  }
  Keep keep(int storage, int access) const { return e.keep.empty() ? Keep::kMay : e.keep[storage][access]; }

  // What stands inside of the einsum's unit is not there.
  bool has_storage(int storage) const { return machine.storages[storage].position < machine.units[e.unit].position; }
  bool has_fanout(int fanout) const { return machine.fanouts[fanout].position < machine.units[e.unit].position; }

  bool may_spread(int fanout, int variable) const {
    if (e.fanouts.empty() || e.fanouts[fanout].allowed.empty()) return true;
    for (std::size_t i = 0; i < e.variables.size(); ++i)
      if (e.variables[i] == variable) return e.fanouts[fanout].allowed[i];
    return false;
  }
  bool shares(int fanout, int access) const {
    return e.fanouts.empty() || e.fanouts[fanout].shares.empty() || e.fanouts[fanout].shares[access];
  }
  double min_usage(int fanout) const { return e.fanouts.empty() ? 0 : e.fanouts[fanout].min_usage; }

  // Energy per unit of time of the whole machine.
  double leakage() const {
    double all = machine.leakage;
    for (const Storage& storage : machine.storages) all += storage.leakage;
    for (const Unit& unit : machine.units) all += unit.leakage;
    return all;
  }
};

}  // namespace orrery::fused
