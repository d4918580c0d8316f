#include "orrery/engines/fused/model/fused_problem.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace orrery::fused {
namespace {

std::string machine_fault(const Machine& m) {
  if (m.storages.empty() || m.units.empty()) return "a machine needs a storage and a unit";
  for (std::size_t s = 1; s < m.storages.size(); ++s)
    if (m.storages[s].position <= m.storages[s - 1].position)
      return fmt::format("{} stands after {}, which is not outside of it", m.storages[s].name, m.storages[s - 1].name);
  for (std::size_t f = 0; f < m.fanouts.size(); ++f) {
    if (m.fanouts[f].ways < 1) return fmt::format("fan-out {} has {} ways", m.fanouts[f].name, m.fanouts[f].ways);
    if (f > 0 && m.fanouts[f].position <= m.fanouts[f - 1].position)
      return fmt::format("fan-out {} stands after {}, which is not outside of it", m.fanouts[f].name,
                         m.fanouts[f - 1].name);
    if (m.fanouts[f].position <= m.storages[0].position)
      return fmt::format("fan-out {} stands outside of {}, which has to be the outermost", m.fanouts[f].name,
                         m.storages[0].name);
    for (const Storage& storage : m.storages)
      if (storage.exchange && storage.position > m.fanouts[f].position)
        return fmt::format(
            "{} is an exchange level inside fan-out {}: einsums exchange tensors outside of all fan-outs", storage.name,
            m.fanouts[f].name);
  }
  if (m.storages[0].exchange)
    return fmt::format("{} is the outermost storage, not an exchange level", m.storages[0].name);
  return "";
}

std::string einsum_fault(const Problem& p, const Einsum& e) {
  if (e.accesses.empty()) return fmt::format("{} touches no tensor", e.name);
  if (e.unit < 0 || e.unit >= static_cast<int>(p.machine.units.size())) return fmt::format("{} has no unit", e.name);
  for (const Access& access : e.accesses) {
    if (access.variables.size() != p.tensors[access.tensor].ranks.size())
      return fmt::format("{} walks over {} of the {} ranks of {}", e.name, access.variables.size(),
                         p.tensors[access.tensor].ranks.size(), p.tensors[access.tensor].name);
    for (std::size_t r = 0; r < access.variables.size(); ++r) {
      if (std::find(e.variables.begin(), e.variables.end(), access.variables[r]) == e.variables.end())
        return fmt::format("{} has no variable for rank {} of {}", e.name, p.tensors[access.tensor].ranks[r],
                           p.tensors[access.tensor].name);
      for (std::size_t q = 0; q < r; ++q)
        if (access.variables[q] == access.variables[r])
          return fmt::format("{} walks over two ranks of {} with one variable", e.name, p.tensors[access.tensor].name);
    }
  }
  for (const int v : e.variables)
    if (p.variables[v].bound < 1)
      return fmt::format("variable {} has bound {}", p.variables[v].name, p.variables[v].bound);
  if (e.copy && e.accesses.size() != 2) return fmt::format("{} is a copy of {} tensors", e.name, e.accesses.size() - 1);
  return "";
}

}  // namespace

namespace {

// Whether energy times time may leave the range of doubles: every operation moves each of its words through every
// storage, one after the other.
bool beyond_doubles(const Problem& p) {
  double energy = 0, time = 0, leakage = 0;
  for (const Storage& storage : p.machine.storages) leakage += storage.leakage;
  for (const Unit& unit : p.machine.units) leakage += unit.leakage;
  for (const Einsum& e : p.einsums) {
    double operations = static_cast<double>(e.times);
    for (const int v : e.variables) operations *= static_cast<double>(p.variables[static_cast<std::size_t>(v)].bound);
    const Unit& unit = p.machine.units[static_cast<std::size_t>(e.unit)];
    energy += operations * unit.energy;
    time += operations / unit.rate;
    for (std::size_t s = 0; s < p.machine.storages.size(); ++s)
      for (std::size_t a = 0; a < e.accesses.size(); ++a) {
        const Storage& storage = p.machine.storages[s];
        const double bits = operations * std::max(p.tensors[static_cast<std::size_t>(e.accesses[a].tensor)].bits,
                                                  e.bits.empty() ? 0.0 : e.bits[s][a]);
        energy += 2 * bits * (storage.read_energy + storage.write_energy);
        time += 2 * bits / storage.read_rate + 2 * bits / storage.write_rate;
      }
  }
  return !std::isfinite((energy + leakage * time) * time);
}

}  // namespace

std::string fault(const Problem& p) {
  if (std::string wrong = machine_fault(p.machine); !wrong.empty()) return wrong;
  std::vector<int> maker(p.tensors.size(), -1);
  for (int e = 0; e < static_cast<int>(p.einsums.size()); ++e) {
    if (std::string wrong = einsum_fault(p, p.einsums[e]); !wrong.empty()) return wrong;
    const int made = p.einsums[e].accesses.back().tensor;
    if (maker[made] >= 0)
      return fmt::format("{} is made by {} and by {}", p.tensors[made].name, p.einsums[maker[made]].name,
                         p.einsums[e].name);
    maker[made] = e;
  }
  for (int e = 0; e < static_cast<int>(p.einsums.size()); ++e)
    for (int a = 0; a < p.einsums[e].output(); ++a) {
      const int tensor = p.einsums[e].accesses[a].tensor;
      if (maker[tensor] >= e)
        return fmt::format("{} reads {}, which {} makes only then: the graph has a cycle or another order",
                           p.einsums[e].name, p.tensors[tensor].name, p.einsums[maker[tensor]].name);
      for (int b = 0; b < a; ++b)
        if (p.einsums[e].accesses[b].tensor == tensor)
          return fmt::format("{} reads {} twice", p.einsums[e].name, p.tensors[tensor].name);
    }
  for (std::size_t t = 0; t < p.tensors.size(); ++t) {
    bool read = false;
    for (const Einsum& e : p.einsums)
      for (int a = 0; a < e.output(); ++a) read = read || e.accesses[a].tensor == static_cast<int>(t);
    const bool made = maker[t] >= 0;
    if (!made && !read) continue;
    const TensorKind kind = p.tensors[t].kind;
    const bool right = made ? kind == (read ? TensorKind::kIntermediate : TensorKind::kOutput)
                            : kind == TensorKind::kInput || kind == TensorKind::kWeight;
    if (!right)
      return fmt::format("{} is {}made and {}read, and called another kind of tensor", p.tensors[t].name,
                         made ? "" : "not ", read ? "" : "not ");
  }
  return beyond_doubles(p) ? "energies and times are so large that their product may exceed 1.8e308" : "";
}

std::vector<Life> lives(const Problem& problem) {
  std::vector<Life> lives(problem.tensors.size());
  for (int e = 0; e < static_cast<int>(problem.einsums.size()); ++e)
    for (const Access& access : problem.einsums[e].accesses) {
      Life& life = lives[access.tensor];
      if (life.first < 0) life.first = e;
      life.last = e;
    }
  return lives;
}

}  // namespace orrery::fused
