// The linear partition problem: cut a sequence into at most p runs so that the most expensive run is as cheap as
// possible. The answer for the first i kernels in s stages is min over j of max(answer for j in s - 1, price of j ..
// i-1), filled in row by row; the price of a run is that of its sums of compute and network under the overlap mode, and
// rises with the run, so j is found by bisection. Cost: p n log n.
//
// Runs of one topological order are not all monotone assignments; total / p and the dearest kernel bound what any other
// could reach, and equal layers over a divisor of their number reach it. Where they do not, all assignments are
// searched (stage_ideals.h), as far as the graph has few enough of them.
#include "orrery/engines/dataflow/search/pipeline_stages.h"

#include <algorithm>
#include <queue>

#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/partition/partition_space.h"
#include "orrery/engines/dataflow/partition/tolerances.h"
#include "orrery/engines/dataflow/search/degrees.h"
#include "orrery/engines/dataflow/search/stage_ideals.h"

namespace orrery::dataflow {
namespace {

// Of the graph's layers, over so many stages; DFModel takes the graph for the whole model.
Count stages_of_graph(const LanguageModelRun& model, const Degrees& degrees, const Defects& defects) {
  if (defects.graph_is_whole_model) return degrees.pipeline;
  const double share = static_cast<double>(model.layers_in_graph) * static_cast<double>(degrees.pipeline) /
                       static_cast<double>(std::max<Count>(1, model.layers));
  return std::clamp<Count>(static_cast<Count>(share), 1, degrees.pipeline);
}

std::vector<int> index_order(const workload::KernelGraph& graph) {
  std::vector<std::vector<int>> readers(graph.kernels.size());
  std::vector<int> waiting(graph.kernels.size(), 0);
  for (const workload::KernelEdge& edge : graph.edges) {
    readers[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    ++waiting[static_cast<std::size_t>(edge.to)];
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t k = 0; k < waiting.size(); ++k)
    if (waiting[k] == 0) ready.push(static_cast<int>(k));
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int reader : readers[static_cast<std::size_t>(order.back())])
      if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  return order;
}

class Runs {
 public:
  Runs(const PartitionProblem& problem, const PartitionWork& work, const std::vector<int>& order) : problem_(problem) {
    compute_.push_back(0);
    network_.push_back(0);
    beside_.push_back(0);
    for (const int kernel : order) {
      compute_.push_back(compute_.back() + work.compute_ns[static_cast<std::size_t>(kernel)]);
      network_.push_back(network_.back() + work.network_ns[static_cast<std::size_t>(kernel)]);
      beside_.push_back(beside_.back() + work.beside_ns[static_cast<std::size_t>(kernel)]);
    }
  }

  double price(std::size_t from, std::size_t to) const {
    return combined(compute_[to] - compute_[from],
                    std::max(network_[to] - network_[from], beside_[to] - beside_[from]));
  }
  double share_of_all(Count stages) const {
    return combined(compute_.back() / static_cast<double>(stages),
                    std::max(network_.back(), beside_.back()) / static_cast<double>(stages));
  }
  std::size_t size() const { return compute_.size() - 1; }

  double combined(double compute, double network) const {
    return problem_.overlap == Overlap::kPerfect ? std::max(compute, network) : compute + network;
  }

 private:
  const PartitionProblem& problem_;
  std::vector<double> compute_, network_, beside_;
};

// Where each run begins; every run but the last may be empty.
std::vector<std::size_t> cut(const Runs& runs, Count stages) {
  const std::size_t n = runs.size();
  const auto rows = static_cast<std::size_t>(std::min<Count>(stages, static_cast<Count>(std::max<std::size_t>(n, 1))));
  std::vector<double> before(n + 1), here(n + 1);
  for (std::size_t i = 0; i <= n; ++i) before[i] = runs.price(0, i);
  std::vector<std::vector<std::size_t>> begin(rows, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t s = 1; s < rows; ++s) {
    for (std::size_t i = 0; i <= n; ++i) {
      // `before` rises with j, the price of the run falls: best where they cross.
      std::size_t low = 0, high = i;
      while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (before[middle] < runs.price(middle, i)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      const auto at = [&](std::size_t j) { return std::max(before[j], runs.price(j, i)); };
      begin[s][i] = low > 0 && at(low - 1) < at(low) ? low - 1 : low;
      here[i] = at(begin[s][i]);
    }
    before.swap(here);
  }
  std::vector<std::size_t> begins(rows, 0);
  std::size_t end = n;
  for (std::size_t s = rows; s-- > 1;) end = begins[s] = begin[s][end];
  return begins;
}

// The first of the slowest stages, and its time.
std::size_t slowest_of(const std::vector<int>& stage, const StageWork& work, const Runs& runs, double& slowest_ns) {
  const auto stages = static_cast<std::size_t>(*std::max_element(stage.begin(), stage.end())) + 1;
  std::vector<double> compute(stages, 0), network(stages, 0), beside(stages, 0);
  for (std::size_t k = 0; k < stage.size(); ++k) {
    const auto s = static_cast<std::size_t>(stage[k]);
    compute[s] += work.compute[k];
    network[s] += work.network[k];
    beside[s] += work.beside[k];
  }
  std::size_t slowest = 0;
  slowest_ns = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    const double ns = runs.combined(compute[s], std::max(network[s], beside[s]));
    if (ns <= slowest_ns) continue;
    slowest_ns = ns;
    slowest = s;
  }
  return slowest;
}

}  // namespace

bool spreads_layers(const Setup& setup, const Degrees& degrees, const Defects& defects) {
  const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload);
  if (model == nullptr || model->layers_in_graph <= 1) return false;
  if (defects.graph_is_whole_model) return true;
  return model->layers_in_graph > base::ceil_divide(model->layers, std::max<Count>(1, degrees.pipeline));
}

StageAssignment assign_stages(const Setup& setup, const Degrees& degrees, const ShardingOptimum& sharding,
                              const Defects& defects) {
  const auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  const Count stages = stages_of_graph(model, degrees, defects);
  const std::vector<int> order = index_order(setup.graph);
  Mapping mapping;
  mapping.degrees = degrees;
  mapping.sharding = sharding.sharding;
  const std::vector<Tiling> tiles = tilings(setup, degrees, defects, 1);
  if (!tiles.empty()) {
    mapping.tiles = tiles.front().tiles;
    mapping.tile_size = tiles.front().tile_size;
  }
  const PartitionProblem problem = lower(setup, mapping, defects);
  const PartitionWork work = partition_work(problem);
  const Runs runs(problem, work, order);
  std::vector<std::size_t> begins = cut(runs, stages);

  StageAssignment result;
  result.stage.assign(setup.graph.kernels.size(), 0);
  std::size_t slowest = 0;
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const std::size_t end = s + 1 < begins.size() ? begins[s + 1] : order.size();
    for (std::size_t i = begins[s]; i < end; ++i)
      result.stage[static_cast<std::size_t>(order[i])] = static_cast<int>(s);
    const double ns = runs.price(begins[s], end);
    if (s == 0 || ns > result.slowest_ns) {
      result.slowest_ns = ns;
      slowest = s;
    }
  }
  result.bound_ns = runs.share_of_all(stages);
  for (std::size_t i = 0; i < order.size(); ++i) result.bound_ns = std::max(result.bound_ns, runs.price(i, i + 1));
  if (result.slowest_ns > result.bound_ns * (1 + kTie)) {
    const StageWork of_kernels{work.compute_ns, work.network_ns, work.beside_ns};
    const StageSearch all = fastest_stages(
        setup.graph, of_kernels, static_cast<int>(std::min<Count>(stages, static_cast<Count>(order.size()))),
        [&](double compute, double network) { return runs.combined(compute, network); },
        result.slowest_ns * (1 - kTie));
    if (all.stage) {
      result.stage = *all.stage;
      slowest = slowest_of(result.stage, of_kernels, runs, result.slowest_ns);
    }
    if (all.complete) result.bound_ns = result.slowest_ns;
  }
  result.sharding = sharding;
  result.sharding.sharding.clear();
  for (std::size_t k = 0; k < result.stage.size(); ++k) {
    if (result.stage[k] != static_cast<int>(slowest)) continue;
    result.kernels.push_back(static_cast<int>(k));
    result.sharding.sharding.push_back(sharding.sharding[k]);
  }
  result.slowest = stage_alone(setup, result.kernels, degrees);
  return result;
}

Setup stage_alone(const Setup& setup, const std::vector<int>& kernels, const Degrees& degrees) {
  Setup alone = setup;
  alone.graph = {};
  std::vector<int> place(setup.graph.kernels.size(), -1);
  for (const int kernel : kernels) {
    place[static_cast<std::size_t>(kernel)] = static_cast<int>(alone.graph.kernels.size());
    alone.graph.kernels.push_back(setup.graph.kernels[static_cast<std::size_t>(kernel)]);
  }
  for (workload::KernelEdge edge : setup.graph.edges) {
    edge.from = place[static_cast<std::size_t>(edge.from)];
    edge.to = place[static_cast<std::size_t>(edge.to)];
    if (edge.from >= 0 && edge.to >= 0) alone.graph.edges.push_back(edge);
  }
  auto& model = std::get<LanguageModelRun>(alone.execution.workload);
  model.layers = degrees.pipeline;
  model.layers_in_graph = 1;
  return alone;
}

}  // namespace orrery::dataflow
