#include "orrery/engines/fused/search/infeasible.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::fused {
namespace {

// The least words of a tensor's tile at the exchange level; 0 where it need not stand there.
Count least_tile(const Problem& problem, const SearchOptions& options, int level, const EinsumView& view, int access) {
  bool has_to = view.keep(0, access) == Keep::kNever;
  const std::vector<int>& variables = view.e.accesses[access].variables;
  std::vector<Count> tile(variables.size(), 1);
  const bool whole = options.fused_loops == 0;
  for (std::size_t r = 0; r < tile.size(); ++r)
    if (whole) tile[r] = view.bound(variables[r]);
  for (const FuseRule& rule : problem.fuse) {
    if (rule.tensor != view.e.accesses[access].tensor) continue;
    has_to = has_to || rule.at == level;
    for (std::size_t r = 0; r < tile.size(); ++r) {
      if (r < rule.tile.size() && rule.tile[r] > 0) tile[r] = rule.tile[r];
      const bool stepped = std::find(rule.loops.begin(), rule.loops.end(), static_cast<int>(r)) != rule.loops.end();
      if (rule.loops_given && !stepped) tile[r] = view.bound(variables[r]);
    }
  }
  Count words = has_to ? 1 : 0;
  for (const Count size : tile) words *= size;
  return words;
}

std::string all_tensors(const EinsumShape& shape) {
  std::string all;
  for (int a = 0; a < shape.view.accesses(); ++a)
    all +=
        fmt::format("{}{} ({:.0f} words)", a == 0 ? "" : ", ", shape.view.tensor(a).name, shape.words(shape.full, a));
  return all;
}

}  // namespace

std::string why_none(const Problem& problem, const SearchOptions& options,
                     const std::vector<const OperatorMappings*>& sets) {
  int level = -1;
  for (std::size_t s = 0; s < problem.machine.storages.size(); ++s)
    if (problem.machine.storages[s].exchange) level = static_cast<int>(s);
  for (int e = 0; e < static_cast<int>(sets.size()) && level >= 0; ++e) {
    const EinsumView view(problem, e);
    for (int a = 0; a < view.accesses(); ++a) {
      if (view.tensor(a).kind != TensorKind::kIntermediate) continue;
      const Count words = least_tile(problem, options, level, view, a);
      const double bits = static_cast<double>(words) * view.word_bits(level, a);
      const Storage& storage = problem.machine.storages[level];
      if (bits > storage.capacity)
        return fmt::format(
            "{} has to be handed on in {}, in tiles of {} words or more: {:.0f} bits, where it has {:.0f}",
            view.tensor(a).name, storage.name, words, bits, storage.capacity);
    }
  }
  for (int e = 0; e < static_cast<int>(sets.size()); ++e)
    if (sets[e]->interfaces.empty())
      return fmt::format("no mapping of {} fits, wherever its tensors are handed on: {}", problem.einsums[e].name,
                         all_tensors(EinsumShape(problem, e)));
  const std::string where = level < 0 ? "" : " within the capacity of " + problem.machine.storages[level].name;
  return "each einsum has a mapping, but none of them agree" + where;
}

}  // namespace orrery::fused
