#include "orrery/verbs/map/fuse/run.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
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

// The problem with TENSOR=STORAGE demanded besides. Throws InputError O2113.
fused::Problem with_demand(fused::Problem problem, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string tensor = text.substr(0, equals), name = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::vector<std::string> tensors, storages;
  int at = -1, of = -1;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    if (problem.tensors[t].kind != fused::TensorKind::kIntermediate) continue;
    tensors.push_back(problem.tensors[t].name);
    if (tensors.back() == tensor) of = static_cast<int>(t);
  }
  for (std::size_t s = 0; s < problem.machine.storages.size(); ++s) {
    if (s > 0 && !problem.machine.storages[s].exchange) continue;
    storages.push_back(problem.machine.storages[s].name);
    if (storages.back() == name) at = static_cast<int>(s);
  }
  if (of < 0)
    base::fail("O2113", fmt::format("no einsum hands `{}` to another one", tensor), {},
               tensors.empty()
                   ? "none of these einsums hands anything on"
                   : base::did_you_mean(tensor, tensors, fmt::format("those are {}", fmt::join(tensors, ", "))));
  if (at < 0)
    base::fail("O2113", fmt::format("`{}` cannot be handed on in `{}`", tensor, name), {},
               fmt::format("it can in {}", fmt::join(storages, ", ")));
  const auto rule = std::find_if(problem.fuse.begin(), problem.fuse.end(),
                                 [&](const fused::FuseRule& one) { return one.tensor == of; });
  if (rule == problem.fuse.end()) {
    fused::FuseRule made;
    made.tensor = of;
    made.at = at;
    problem.fuse.push_back(std::move(made));
  } else if (rule->at >= 0 && rule->at != at) {
    base::fail("O2113",
               fmt::format("`{}` has to be handed on in `{}` already", tensor,
                           problem.machine.storages[static_cast<std::size_t>(rule->at)].name),
               {}, "the files' `keep` and `may_keep`, or another `--hand-on`, say so");
  } else {
    rule->at = at;
  }
  return problem;
}

// What `whole` leaves of its limit of time, for a second search.
fused::SearchOptions rest_of(fused::SearchOptions whole, const base::Stopwatch& watch) {
  if (whole.limits.seconds > 0) whole.limits.seconds = std::max(1e-3, whole.limits.seconds - watch.seconds());
  return whole;
}

double value_of(fused::Goal goal, const fused::Solution& one) {
  return goal == fused::Goal::kEnergy  ? one.energy
         : goal == fused::Goal::kDelay ? one.latency
                                       : one.energy * one.latency;
}

// The best without fusion, or where time is up what the search with fusion knew of, if that is better.
std::optional<fused::Solution> unfused_of(const fused::Problem& problem, fused::SearchOptions search,
                                          const fused::Result& known, BlockAnswer& answer) {
  if (!known.best || !search.fuse || problem.einsums.size() < 2) return std::nullopt;
  search.fuse = search.front = false;
  fused::Result found = fused::optimize(problem, search);
  answer.ended_early = !found.certificate.optimal;
  if (known.apart && (!found.best || value_of(search.goal, *known.apart) < value_of(search.goal, *found.best)))
    found.best = known.apart;
  return found.best;
}

// What is not fused is an answer, too: where time was up, it may be the best one.
void take_if_better(const fused::Solution& apart, fused::Goal goal, fused::Result& result) {
  if (result.certificate.optimal || value_of(goal, apart) >= value_of(goal, *result.best)) return;
  result.best = apart;
  if (!result.front.empty()) fused::add_to_front(result.front, apart);
  result.certificate.close(value_of(goal, apart), result.certificate.lower_bound);
}

// What the best of a problem with the demand of `--why` takes.
void add_why(const fused::Problem& problem, const std::string& text, fused::SearchOptions search, BlockAnswer& answer) {
  search.front = false;
  const fused::Result result = fused::optimize(problem, search);
  const std::size_t equals = text.rfind('=');
  answer.why = BlockWhy{text.substr(0, equals), text.substr(equals + 1), std::nullopt};
  if (result.best) answer.why->best = {result.best->energy, result.best->latency};
  answer.ended_early = answer.ended_early || !result.certificate.optimal;
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
  fused::Problem problem = read_block(request, answer).problem;
  if (const std::string wrong = fused::fault(problem); !wrong.empty()) base::fail("O2109", wrong);
  const fused::Problem as_read = problem;
  fused::Problem compared = problem;  // for `--why`, which has the last word on its tensor
  const std::string asked = request.why.substr(0, request.why.rfind('='));
  for (const std::string& text : request.handed_on) {
    problem = with_demand(std::move(problem), text);
    if (text.substr(0, text.rfind('=')) != asked) compared = with_demand(std::move(compared), text);
  }
  if (!request.why.empty()) compared = with_demand(std::move(compared), request.why);
  if (!request.tree.empty()) return given_tree(request, problem, std::move(answer));
  fused::SearchOptions search = request.search;
  if (request.interruptible) search.limits.stop = request.interruptible();
  const base::Stopwatch watch;
  fused::Result result = fused::optimize(problem, search);
  const std::optional<fused::Solution> apart = unfused_of(as_read, rest_of(search, watch), result, answer);
  if (apart && request.handed_on.empty()) take_if_better(*apart, search.goal, result);
  answer.certificate = result.certificate;
  answer.infeasible = result.infeasible;
  answer.ended_early = answer.ended_early || !result.certificate.optimal;
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
  if (apart) {
    answer.unfused = {apart->energy, apart->latency};
    unfused = fused::evaluate(as_read, apart->tree);
  }
  add_costs(problem, result.best->tree, cost, unfused ? &*unfused : nullptr, answer);
  add_exchanges(problem, result.best->tree, answer);
  if (!request.why.empty()) add_why(compared, request.why, rest_of(search, watch), answer);
  return answer;
}

}  // namespace orrery::verbs
