// Pins against edges: along every edge configurations may not fall. The least configuration that a kernel can have is
// the largest first one of all kernels before it; where that exceeds its last one, the kernel it came from and this one
// contradict each other, and the path between them is the proof. Cost: a step per kernel and edge.
#include "orrery/engines/dataflow/search/contradictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/search/degrees.h"
#include "orrery/engines/dataflow/search/sharding.h"

namespace orrery::dataflow {
namespace {

using workload::Kernel;
using workload::KernelGraph;

void explain_cycle(const KernelGraph& graph, const std::vector<int>& cycle, std::vector<Reason>& reasons) {
  Reason reason;
  reason.diagnostic.code = "O1446";
  reason.diagnostic.message = fmt::format("{} kernels depend on each other in a cycle", cycle.size());
  std::string way;
  for (std::size_t i = 0; i < std::min<std::size_t>(cycle.size(), 8); ++i) way += named(graph, cycle[i]) + " -> ";
  if (cycle.size() > 8) way += "... -> ";
  reason.diagnostic.note(way + named(graph, cycle.front()));
  reason.diagnostic.hint("remove a connection of the cycle, or reverse it");
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto from = std::find(cycle.begin(), cycle.end(), graph.edges[e].from);
    if (from == cycle.end()) continue;
    const auto next = from + 1 == cycle.end() ? cycle.begin() : from + 1;
    if (graph.edges[e].to == *next) reason.blamed.push_back({Part::kEdge, static_cast<int>(e), ""});
  }
  reasons.push_back(std::move(reason));
}

void explain_pin_ranges(const Setup& setup, int count, std::vector<Reason>& reasons) {
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    const int pin = setup.graph.kernels[k].configuration;
    if (pin < count) continue;
    Reason reason;
    reason.diagnostic.code = "O1445";
    reason.diagnostic.message = fmt::format("kernel {} is pinned to configuration {}, but there are only {}",
                                            named(setup.graph, static_cast<int>(k)), pin, count);
    reason.diagnostic.note(fmt::format("configurations count from 0: 0 to {}", count - 1));
    reason.diagnostic.hint("pin it to one of them, to -1 (free), or raise num_config");
    reason.blamed = {{Part::kKernel, static_cast<int>(k), "config"}, {Part::kExecution, -1, "num_config"}};
    reasons.push_back(std::move(reason));
  }
}

std::string range_of(const KernelGraph& graph, int kernel, int first, int last) {
  const Kernel& one = graph.kernels[static_cast<std::size_t>(kernel)];
  if (one.configuration >= 0) return fmt::format("{} is pinned to configuration {}", named(graph, kernel), first);
  return fmt::format("{} runs {} and may have {} to {}", named(graph, kernel),
                     one.direction == workload::Direction::kBackward ? "backward" : "forward", first, last);
}

void explain_pin_order(const Setup& setup, const ConfigurationRanges& ranges, std::vector<Reason>& reasons) {
  const KernelGraph& graph = setup.graph;
  const std::vector<int>&first = ranges.first, &last = ranges.last;
  std::vector<std::vector<int>> sources(graph.kernels.size());
  for (const workload::KernelEdge& edge : graph.edges) {
    sources[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  }
  std::vector<int> earliest = first, came_from(graph.kernels.size(), -1);
  for (const int kernel : workload::topological_order(graph)) {
    const auto k = static_cast<std::size_t>(kernel);
    for (const int source : sources[k]) {
      if (earliest[static_cast<std::size_t>(source)] <= earliest[k]) continue;
      earliest[k] = earliest[static_cast<std::size_t>(source)];
      came_from[k] = source;
    }
    if (earliest[k] <= last[k]) continue;
    std::vector<int> way = {kernel};
    while (came_from[static_cast<std::size_t>(way.back())] >= 0)
      way.push_back(came_from[static_cast<std::size_t>(way.back())]);
    std::reverse(way.begin(), way.end());
    Reason reason;
    reason.diagnostic.code = "O1444";
    reason.diagnostic.message =
        fmt::format("kernel {}, and kernel {}",
                    range_of(graph, way.front(), earliest[k], last[static_cast<std::size_t>(way.front())]),
                    range_of(graph, kernel, first[k], last[k]));
    std::string text;
    for (const int stop : way) text += (text.empty() ? "" : " -> ") + named(graph, stop);
    reason.diagnostic.note("what a kernel reads must be produced in its configuration or before: " + text);
    reason.diagnostic.hint("pin them in the order of the connections, or leave one of them free (-1)");
    reason.blamed = {{Part::kKernel, way.front(), "config"}, {Part::kKernel, kernel, "config"}};
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      for (std::size_t i = 0; i + 1 < way.size(); ++i)
        if (graph.edges[e].from == way[i] && graph.edges[e].to == way[i + 1])
          reason.blamed.push_back({Part::kEdge, static_cast<int>(e), ""});
    }
    reasons.push_back(std::move(reason));
    earliest[k] = first[k];  // reported once
    came_from[k] = -1;
  }
}

void explain_tiles(const Setup& setup, const Defects& defects, std::vector<Reason>& reasons) {
  const std::vector<Allocation> all = allocations(setup, defects);
  if (std::any_of(all.begin(), all.end(),
                  [&](const Allocation& allocation) { return !tilings(setup, allocation.degrees, defects).empty(); }))
    return;
  Count sequence = 0, stated = 0;
  bool counted = defects.tile_size_counts_tiles;
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload)) {
    sequence = model->sequence;
    stated = model->tile_size;
    counted = counted || model->tile_size_counts_tiles;
  } else if (const auto* space = std::get_if<StateSpaceModel>(&setup.execution.workload)) {
    sequence = space->sequence;
    stated = space->tile_size;
  }
  Reason reason;
  reason.diagnostic.code = "O1452";
  reason.diagnostic.message = counted
                                  ? fmt::format("{} tiles do not divide a sequence of {} tokens", stated, sequence)
                                  : fmt::format("tiles of {} tokens do not divide a sequence of {}", stated, sequence);
  reason.diagnostic.note(fmt::format("{} / {} = {:.6g}", sequence, stated,
                                     static_cast<double>(sequence) / static_cast<double>(std::max<Count>(1, stated))));
  reason.diagnostic.hint("with this `--compat` they must; without it the last tile may be smaller");
  reason.blamed = {{Part::kWorkload, -1, "tile_size"}, {Part::kWorkload, -1, "seq_len"}};
  reasons.push_back(std::move(reason));
}

void explain_shardings(const Setup& setup, std::vector<Reason>& reasons) {
  if (!std::holds_alternative<LanguageModelRun>(setup.execution.workload) || setup.execution.skip_inter_chip) return;
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    if (std::optional<base::Diagnostic> found = sharding_contradiction(setup.graph, static_cast<int>(k))) {
      reasons.push_back({std::move(*found), {{Part::kKernel, static_cast<int>(k), "sharding"}}});
    }
  }
}

// A chip's part is at most the whole, and the parts of all chips must cover the whole.
void explain_stated_parts(const Setup& setup, const Defects& defects, std::vector<Reason>& reasons) {
  if (!stated_parts_hold(setup, defects)) return;
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    const Kernel& kernel = setup.graph.kernels[k];
    struct Size {
      const char *field, *name;
      Count stated;
      double whole;
    };
    const Size sizes[] = {
        {"shard_outer_M", "outer * M", kernel.shard_m,
         static_cast<double>(kernel.outer) * static_cast<double>(kernel.m)},
        {"shard_K", "K", kernel.shard_k, static_cast<double>(kernel.is_product() ? kernel.k : 1)},
        {"shard_N", "N", kernel.shard_n, static_cast<double>(kernel.n)},
    };
    Reason reason;
    reason.diagnostic.code = "O1451";
    double share = 1;
    std::string product;
    for (const Size& size : sizes) {
      if (size.stated <= 0) continue;
      const double part = static_cast<double>(size.stated) / size.whole;
      share *= part;
      product += fmt::format("{}{} {} of {} {:.0f}", product.empty() ? "" : ", ", size.field, size.stated, size.name,
                             size.whole);
      reason.blamed.push_back({Part::kKernel, static_cast<int>(k), size.field});
      if (part > 1 && reason.diagnostic.message.empty())
        reason.diagnostic.message =
            fmt::format("kernel {} states {} {}, and has {} {:.0f}", named(setup.graph, static_cast<int>(k)),
                        size.field, size.stated, size.name, size.whole);
    }
    const double chips = static_cast<double>(setup.system.chips);
    if (reason.diagnostic.message.empty() && share * chips < 1 - 1e-9) {
      reason.diagnostic.message =
          fmt::format("the parts that kernel {} states do not cover its work", named(setup.graph, static_cast<int>(k)));
      reason.diagnostic.note(product);
      reason.diagnostic.note(fmt::format("{} chips do {:.3g} of the whole", setup.system.chips, share * chips));
      reason.blamed.push_back({Part::kSystem, -1, "num_chip"});
    }
    if (reason.diagnostic.message.empty()) continue;
    reason.diagnostic.hint("state a chip's part before tiling, or leave it out so that `sharding` determines it");
    reasons.push_back(std::move(reason));
  }
}

// Networks are counted in 31 bits.
void explain_chips(const Setup& setup, std::vector<Reason>& reasons) {
  if (setup.system.chips <= kMostChips) return;
  Reason reason;
  reason.diagnostic.code = "O1453";
  reason.diagnostic.message = fmt::format("a network of {} chips is too large", setup.system.chips);
  reason.diagnostic.hint(fmt::format("a network may have at most {} chips", kMostChips));
  reason.blamed.push_back({Part::kSystem, -1, "num_chip"});
  reasons.push_back(std::move(reason));
}

std::vector<Reason> all_contradictions(const Setup& setup, const Defects& defects) {
  std::vector<Reason> reasons;
  explain_chips(setup, reasons);
  if (!reasons.empty()) return reasons;
  if (const std::vector<int> cycle = workload::find_cycle(setup.graph); !cycle.empty()) {
    explain_cycle(setup.graph, cycle, reasons);
  }
  explain_shardings(setup, reasons);
  explain_stated_parts(setup, defects, reasons);
  if (!one_kernel_each(setup)) {
    const ConfigurationRanges ranges = configuration_ranges(setup);
    const std::size_t before = reasons.size();
    explain_pin_ranges(setup, ranges.count, reasons);
    if (reasons.size() == before) explain_pin_order(setup, ranges, reasons);
  }
  std::vector<Reason> of_degrees = degree_contradictions(setup, defects);
  if (of_degrees.empty()) explain_tiles(setup, defects, reasons);
  reasons.insert(reasons.end(), std::make_move_iterator(of_degrees.begin()), std::make_move_iterator(of_degrees.end()));
  return reasons;
}

}  // namespace

std::vector<Reason> contradictions(const Setup& setup, const Defects& defects) {
  try {
    return all_contradictions(setup, defects);
  } catch (const base::OverflowError& error) {
    return {too_large_to_count(error)};
  }
}

Contradictions::Contradictions(std::vector<Reason> found)
    : base::InputError([&] {
        std::vector<base::Diagnostic> told;
        for (const Reason& reason : found) told.push_back(reason.diagnostic);
        return told;
      }()),
      reasons(std::move(found)) {}

Reason too_large_to_count(const base::OverflowError& error) {
  Reason reason;
  reason.diagnostic.code = "O1453";
  reason.diagnostic.message = fmt::format("sizes exceed 64 bits: {}", error.what());
  reason.diagnostic.hint("64-bit counts hold products up to 9.2e18; look for a size that is far too large");
  return reason;
}

}  // namespace orrery::dataflow
