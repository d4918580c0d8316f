#include "orrery/verbs/map/fuse/run.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/engines/fused/model/evaluate.h"
#include "orrery/formats/accelforge/fused_problem_reader.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/verbs/map/fuse/draw_tree.h"
#include "orrery/verbs/map/fuse/tree_file.h"

namespace orrery::verbs {
namespace {

using formats::accelforge::ComponentPrices;

// As a word.
bool names(const base::SourceFile& file, const std::string& word) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const std::string& text = file.text;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !inside(text[at - 1])) && (at + word.size() >= text.size() || !inside(text[at + word.size()])))
      return true;
  return false;
}

formats::accelforge::FusedProblem read_block(const BlockRequest& request, BlockAnswer& answer) {
  if (request.files.empty())
    base::fail("O1103", "`--fuse` needs AccelForge's files", {},
               "write `orrery map --fuse --compat accelforge ARCH.yaml WORKLOAD.yaml`");
  std::vector<formats::accelforge::File> files;
  for (const std::string& path : request.files) files.push_back(base::read_file(path));
  const auto table = std::filesystem::path(catalogue_directory()) / "tables" / "accelforge_components.csv";
  const ComponentPrices prices = ComponentPrices::read(base::read_file(table.string()));
  auto read = formats::accelforge::read_fused_problem(files, request.templates, prices, answer.warnings);
  for (const auto& file : files) answer.inputs.push_back(base::file_input(*file));
  for (const auto& file : read.included) answer.inputs.push_back(base::file_input(*file));
  for (const base::Override& one : request.templates.defined) {
    const auto names_it = [&](const formats::accelforge::File& file) { return names(*file, one.path); };
    if (std::none_of(files.begin(), files.end(), names_it) &&
        std::none_of(read.included.begin(), read.included.end(), names_it))
      answer.warnings.warning("O2101", fmt::format("no template asks for `{}`: `--define {}={}` changes nothing",
                                                   one.path, one.path, one.value));
    answer.inputs.push_back({fmt::format("--define {}={}", one.path, one.value), base::content_hash(one.value)});
  }
  std::sort(answer.inputs.begin(), answer.inputs.end());
  answer.inputs.erase(std::unique(answer.inputs.begin(), answer.inputs.end()), answer.inputs.end());
  return read;
}

// The part that takes longest.
std::string bound_by(const fused::Problem& problem, const fused::Einsum& einsum, const fused::EinsumCost& cost) {
  std::string name = problem.machine.units[static_cast<std::size_t>(einsum.unit)].name;
  double most = cost.unit_latency;
  for (std::size_t s = 0; s < cost.storage_latency.size(); ++s) {
    if (cost.storage_latency[s] <= most) continue;
    most = cost.storage_latency[s];
    name = problem.machine.storages[s].name;
  }
  return name;
}

void add_flows(const fused::Problem& problem, const fused::Einsum& einsum, const fused::EinsumCost& cost,
               BlockAnswer& answer) {
  const auto add = [](std::vector<BlockTraffic>& to, const std::string& storage, const std::string& tensor,
                      const fused::Flow& flow) {
    auto row = std::find_if(to.begin(), to.end(),
                            [&](const BlockTraffic& one) { return one.storage == storage && one.tensor == tensor; });
    if (row == to.end()) row = to.insert(to.end(), {storage, tensor});
    row->read_bits += flow.read;
    row->written_bits += flow.written;
    row->energy += flow.energy;
  };
  for (std::size_t s = 0; s < cost.flows.size(); ++s)
    for (std::size_t a = 0; a < cost.flows[s].size(); ++a) {
      const fused::Flow& flow = cost.flows[s][a];
      const std::string& storage = problem.machine.storages[s].name;
      add(answer.storages, storage, "", flow);
      if (flow.read == 0 && flow.written == 0) continue;
      add(answer.traffic, storage, problem.tensors[static_cast<std::size_t>(einsum.accesses[a].tensor)].name, flow);
    }
}

void add_costs(const fused::Problem& problem, const fused::Tree& tree, const fused::Evaluation& cost,
               const fused::Evaluation* unfused, BlockAnswer& answer) {
  for (std::size_t b = 0; b < tree.branches.size() && b < cost.einsums.size(); ++b) {
    const fused::Einsum& einsum = problem.einsums[static_cast<std::size_t>(tree.branches[b].einsum)];
    const fused::EinsumCost& one = cost.einsums[b];
    BlockEinsum row;
    row.name = einsum.name;
    row.unit = problem.machine.units[static_cast<std::size_t>(einsum.unit)].name;
    row.bound_by = bound_by(problem, einsum, one);
    row.energy = one.energy;
    row.latency = one.latency;
    if (unfused != nullptr && b < unfused->einsums.size()) {
      row.unfused_energy = unfused->einsums[b].energy;
      row.unfused_latency = unfused->einsums[b].latency;
    }
    answer.einsums.push_back(std::move(row));
    answer.compute_energy += one.unit_energy;
    answer.leakage_energy += one.leakage;
    add_flows(problem, einsum, one, answer);
  }
  const auto name_of = [&](int branch) {
    return branch < 0
               ? std::string()
               : problem.einsums[static_cast<std::size_t>(tree.branches[static_cast<std::size_t>(branch)].einsum)].name;
  };
  for (std::size_t s = 1; s < cost.peaks.size(); ++s) {
    const fused::Peak& peak = cost.peaks[s];
    BlockUse use{problem.machine.storages[s].name, name_of(peak.first), name_of(peak.last), peak.bits, std::nullopt};
    if (std::isfinite(peak.capacity)) use.capacity_bits = peak.capacity;
    answer.use.push_back(std::move(use));
  }
}

void add_exchanges(const fused::Problem& problem, const fused::Tree& tree, BlockAnswer& answer) {
  std::vector<bool> done(problem.tensors.size(), false);
  for (const fused::Branch& branch : tree.branches) {
    const fused::Einsum& einsum = problem.einsums[static_cast<std::size_t>(branch.einsum)];
    for (int a = 0; a < static_cast<int>(einsum.accesses.size()); ++a) {
      const auto t = static_cast<std::size_t>(einsum.accesses[static_cast<std::size_t>(a)].tensor);
      if (done[t] || problem.tensors[t].kind != fused::TensorKind::kIntermediate) continue;
      done[t] = true;
      BlockExchange made;
      made.tensor = problem.tensors[t].name;
      made.storage = problem.machine.storages[0].name;
      made.bits = problem.tensors[t].bits * static_cast<double>(tile_below(problem, branch, 0, a));
      made.tile_bits = made.bits;
      for (std::size_t i = 0; i < branch.steps.size(); ++i) {
        const fused::Step& step = branch.steps[i];
        if (step.kind != fused::Step::Kind::kHold || step.access != a || !step.exchange) continue;
        made.storage = problem.machine.storages[static_cast<std::size_t>(step.storage)].name;
        made.tile_bits = problem.tensors[t].bits * static_cast<double>(tile_below(problem, branch, i, a));
        for (std::size_t k = 0; k < i; ++k)
          if (branch.steps[k].kind == fused::Step::Kind::kLoop)
            made.loops.push_back(problem.variables[static_cast<std::size_t>(branch.steps[k].variable)].name);
      }
      answer.exchanges.push_back(std::move(made));
    }
  }
}

BlockPoint point_of(const fused::Problem& problem, const fused::Solution& solution) {
  return {solution.energy, solution.latency, nodes_of(problem, solution.tree)};
}

// A tree from a file in place of the search. Throws InputError O2112 where it is not allowed.
BlockAnswer given_tree(const BlockRequest& request, const fused::Problem& problem, BlockAnswer answer) {
  TreeFile file = read_tree(request.tree);
  const fused::Tree tree = tree_of(problem, file.tree);
  const fused::Evaluation cost = fused::evaluate(problem, tree);
  if (!cost.legal())
    base::fail("O2112", fmt::format("the tree is not allowed: {}", cost.faults.front().reason),
               file.tree.empty() ? base::Location{} : file.tree.front().from,
               "a tree goes with the files and the `--define`s that it was found for");
  answer.inputs.push_back(std::move(file.input));
  answer.searched = false;
  answer.best = BlockPoint{cost.energy, cost.latency, nodes_of(problem, tree)};
  add_costs(problem, tree, cost, nullptr, answer);
  add_exchanges(problem, tree, answer);
  return answer;
}

}  // namespace

BlockAnswer map_fused_block(const BlockRequest& request) {
  BlockAnswer answer;
  answer.compat = {"accelforge"};
  answer.objective = request.search.goal == fused::Goal::kEnergy  ? "energy"
                     : request.search.goal == fused::Goal::kDelay ? "delay"
                                                                  : "edp";
  const fused::Problem problem = read_block(request, answer).problem;
  if (const std::string wrong = fused::fault(problem); !wrong.empty()) base::fail("O2109", wrong);
  if (!request.tree.empty()) return given_tree(request, problem, std::move(answer));
  fused::SearchOptions search = request.search;
  if (request.interruptible) search.limits.stop = request.interruptible();
  const fused::Result result = fused::optimize(problem, search);
  answer.certificate = result.certificate;
  answer.infeasible = result.infeasible;
  answer.ended_early = !result.certificate.optimal;
  for (const fused::Solution& one : result.front) answer.front.push_back(point_of(problem, one));
  if (!result.best) {
    for (const fused::Storage& storage : problem.machine.storages)
      if (std::isfinite(storage.capacity))
        answer.capacities.push_back(
            fmt::format("an instance of `{}` holds {:.0f} bits", storage.name, storage.capacity));
    return answer;
  }
  answer.best = point_of(problem, *result.best);
  const fused::Evaluation cost = fused::evaluate(problem, result.best->tree);
  std::optional<fused::Evaluation> unfused;
  if (search.fuse && problem.einsums.size() > 1) {
    fused::SearchOptions apart = search;
    apart.fuse = false;
    apart.front = false;
    const fused::Result other = fused::optimize(problem, apart);
    if (other.best) {
      answer.unfused = {other.best->energy, other.best->latency};
      unfused = fused::evaluate(problem, other.best->tree);
    }
  }
  add_costs(problem, result.best->tree, cost, unfused ? &*unfused : nullptr, answer);
  add_exchanges(problem, result.best->tree, answer);
  return answer;
}

}  // namespace orrery::verbs
