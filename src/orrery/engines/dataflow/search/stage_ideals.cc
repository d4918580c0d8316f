// An assignment that never falls along an edge is a chain of order ideals, the kernels of the first stages:
//
//   slowest(s, I) = min over ideals J within I of max(slowest(s - 1, J), price of I without J)
//
// An ideal grows by a kernel whose producers it holds; a table keeps each only once. Pairs whose stage alone reaches
// what is to be beaten are left out. Cost: stages * ideals^2 / 2; graphs for which that is too much, such as those with
// many weight updates, keep the cut of one topological order (pipeline_stages.cc).
#include "orrery/engines/dataflow/search/stage_ideals.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace orrery::dataflow {
namespace {

constexpr std::size_t kMostIdeals = 3'000;
constexpr double kMostPairs = 2e7;  // of ideals, of all stages: a tenth of a second

using Set = std::vector<std::uint64_t>;

bool has(const Set& set, int kernel) {
  return (set[static_cast<std::size_t>(kernel) / 64] >> (kernel % 64) & 1U) != 0;
}

bool within(const Set& inner, const Set& outer) {
  for (std::size_t i = 0; i < inner.size(); ++i)
    if ((inner[i] & ~outer[i]) != 0) return false;
  return true;
}

struct Ideal {
  Set set;
  int kernels = 0;
  double compute = 0, network = 0, beside = 0;
};

// By rising number of kernels; empty where there are too many.
std::vector<Ideal> ideals_of(const workload::KernelGraph& graph, const StageWork& work) {
  const int kernels = static_cast<int>(graph.kernels.size());
  std::vector<std::vector<int>> producers(graph.kernels.size());
  for (const workload::KernelEdge& edge : graph.edges)
    producers[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  std::map<Set, std::size_t> known;
  std::vector<Ideal> ideals(1);
  ideals[0].set.assign((graph.kernels.size() + 63) / 64, 0);
  known[ideals[0].set] = 0;
  for (std::size_t at = 0; at < ideals.size(); ++at) {
    for (int k = 0; k < kernels; ++k) {
      const Ideal& from = ideals[at];
      const auto& needs = producers[static_cast<std::size_t>(k)];
      if (has(from.set, k) || !std::all_of(needs.begin(), needs.end(), [&](int p) { return has(from.set, p); }))
        continue;
      Set grown = from.set;
      grown[static_cast<std::size_t>(k) / 64] |= std::uint64_t{1} << (k % 64);
      if (!known.emplace(grown, ideals.size()).second) continue;
      if (ideals.size() == kMostIdeals) return {};
      ideals.push_back({std::move(grown), from.kernels + 1, from.compute + work.compute[static_cast<std::size_t>(k)],
                        from.network + work.network[static_cast<std::size_t>(k)],
                        from.beside + work.beside[static_cast<std::size_t>(k)]});
    }
  }
  return ideals;
}

}  // namespace

StageSearch fastest_stages(const workload::KernelGraph& graph, const StageWork& work, int stages,
                           const StagePrice& price, double beat_ns) {
  StageSearch result;
  const std::vector<Ideal> ideals = ideals_of(graph, work);
  if (ideals.empty() || stages < 1) return result;
  // No more stages than kernels are of use.
  const int rows = std::min(stages, std::max(1, static_cast<int>(graph.kernels.size())));
  const double pairs = static_cast<double>(ideals.size()) * static_cast<double>(ideals.size()) / 2 * rows;
  if (pairs > kMostPairs) return result;
  result.complete = true;
  std::vector<double> before(ideals.size(), kNever), here;
  before[0] = 0;
  std::vector<std::vector<std::size_t>> begun(static_cast<std::size_t>(rows),
                                              std::vector<std::size_t>(ideals.size(), 0));
  for (int s = 0; s < rows; ++s) {
    here = before;
    for (std::size_t i = 0; i < ideals.size(); ++i) {
      std::size_t& from = begun[static_cast<std::size_t>(s)][i];
      from = i;  // an empty stage
      for (std::size_t j = 0; j < i; ++j) {
        if (before[j] >= std::min(here[i], beat_ns) || !within(ideals[j].set, ideals[i].set)) continue;
        const double ns = std::max(
            before[j], price(ideals[i].compute - ideals[j].compute,
                             std::max(ideals[i].network - ideals[j].network, ideals[i].beside - ideals[j].beside)));
        if (ns < here[i]) {
          here[i] = ns;
          from = j;
        }
      }
    }
    before = here;
  }
  if (!(before.back() < beat_ns)) return result;
  result.stage.emplace(graph.kernels.size(), 0);
  std::size_t at = ideals.size() - 1;
  for (int s = rows - 1; s >= 0; --s) {
    const std::size_t from = begun[static_cast<std::size_t>(s)][at];
    for (std::size_t k = 0; k < graph.kernels.size(); ++k)
      if (has(ideals[at].set, static_cast<int>(k)) && !has(ideals[from].set, static_cast<int>(k)))
        (*result.stage)[k] = s;
    at = from;
  }
  return result;
}

}  // namespace orrery::dataflow
