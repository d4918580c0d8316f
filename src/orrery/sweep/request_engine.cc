#include "orrery/sweep/request_engine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/count.h"
#include "orrery/base/parallel.h"
#include "orrery/base/text_file.h"
#include "orrery/scenario/estimate_chip.h"
#include "orrery/scenario/train_search.h"
#include "orrery/sweep/arguments.h"
#include "orrery/sweep/question_key.h"

namespace orrery::sweep {
namespace {

using store::Figure;
using store::Outcome;
using store::Status;

std::string inputs_text(const std::vector<base::Input>& inputs) {
  std::string out;
  for (const base::Input& input : inputs) out += input.name + '\x1f' + input.hash + '\x1e';
  return out;
}

Outcome outcome_of(const scenario::TrainedModel& trained, bool limited) {
  Outcome out;
  if (!trained.iteration.fits || (trained.search && trained.search->top.empty())) {
    out.status = Status::kInfeasible;
    out.reason = trained.iteration.fits ? scenario::explain_conflict(trained).message
                                        : scenario::explain_no_fit(trained).message;
    return out;
  }
  const double seconds = trained.tokens > 0 ? trained.training_s : trained.iteration.iteration_s;
  const scenario::TrainingCost cost = scenario::training_cost(trained, seconds);
  out.status = limited ? Status::kGap : Status::kOptimal;
  out.gap = trained.search ? trained.search->certificate.gap : 0;
  out.figures[Figure::kSeconds] = seconds;
  out.figures[Figure::kUtilization] = trained.iteration.done.mfu;
  out.figures[Figure::kDollars] = cost.dollars.value_or(store::kAbsent);
  if (trained.joules) {  // of its operators on a chip; else what the system is rated
    const double iterations = seconds / trained.iteration.iteration_s;
    out.figures[Figure::kEnergy] = *trained.joules * iterations * 1e12;
    out.figures[Figure::kPower] = *trained.joules / trained.iteration.iteration_s;
  } else if (cost.kilowatt_hours) {
    out.figures[Figure::kEnergy] = *cost.kilowatt_hours * 3.6e18;
    out.figures[Figure::kPower] = *cost.kilowatt_hours * 3.6e6 / seconds;
  }
  return out;
}

Outcome outcome_of(const scenario::PlacedGraph& placed) {
  Outcome out;
  const dataflow::Placement& placement = placed.placement;
  if (!placement.mapping) {
    out.status = placement.infeasible ? Status::kInfeasible : Status::kTimeout;
    out.reason =
        placed.reasons.empty() ? "the search ended before it found a placement" : placed.reasons.front().message;
    return out;
  }
  out.status = placement.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = placement.certificate.gap;
  out.figures[Figure::kSeconds] = placement.evaluation.final_ns / 1e9;
  out.figures[Figure::kUtilization] = placement.evaluation.flops_utilization;
  const dataflow::PlacementMoney& money = placement.evaluation.money;
  if (money.total_cost() > 0) out.figures[Figure::kDollars] = money.total_cost();
  if (money.total_power() > 0) {
    out.figures[Figure::kPower] = money.total_power();
    out.figures[Figure::kEnergy] = money.total_power() * placement.evaluation.final_ns * 1e3;
  }
  return out;
}

Outcome outcome_of(const scenario::EstimatedChip& chip) {
  Outcome out;
  out.status = Status::kOptimal;
  double area = 0;
  for (const energy::EstimatedComponent& component : chip.components)
    area += component.area_um2 * static_cast<double>(component.count);
  out.figures[Figure::kArea] = area;
  return out;
}

}  // namespace

RequestEngine::RequestEngine(std::string verb, std::vector<std::string> arguments, ReadRequest read,
                             const EngineOptions& options)
    : verb_(std::move(verb)), arguments_(std::move(arguments)), read_(std::move(read)), options_(options) {
  request_at({});
}

Request RequestEngine::request_at(const base::Overrides& point) {
  const SplitPoint parts = split(point);
  std::string key;
  for (const std::string& option : parts.options) key += option + '\x1d';
  Request request;
  {
    const std::lock_guard lock(mutex_);
    const auto known = requests_.find(key);
    if (known != requests_.end()) {
      request = known->second;
    } else {
      std::vector<std::string> all = arguments_;
      all.insert(all.end(), parts.options.begin(), parts.options.end());
      request = read_(verb_, all);
      requests_.emplace(key, request);
    }
  }
  std::visit(
      [&](auto& of) {
        of.overrides.insert(of.overrides.end(), parts.settings.begin(), parts.settings.end());
        if constexpr (requires { of.limits.stop; }) {
          of.limits.threads = 1;
          of.limits.stop = options_.stop;
        }
      },
      request);
  return request;
}

RequestEngine::Answer RequestEngine::answer(const base::Overrides& point) {
  const Request request = request_at(point);
  Answer out;
  if (const auto* train = std::get_if<scenario::TrainRequest>(&request)) {
    scenario::TrainedModel trained = scenario::train(*train);
    out = {outcome_of(trained, !trained.all_choices || !trained.unproven.empty()), std::move(trained.inputs),
           std::move(trained.warnings)};
  } else if (const auto* place = std::get_if<scenario::PlaceRequest>(&request)) {
    scenario::PlacedGraph placed = scenario::place(*place);
    out = {outcome_of(placed), std::move(placed.inputs), std::move(placed.warnings)};
  } else {
    scenario::EstimatedChip chip = scenario::estimate_chip(std::get<scenario::DocumentRequest>(request));
    out = {outcome_of(chip), std::move(chip.inputs), std::move(chip.warnings)};
  }
  return out;
}

void RequestEngine::probe(const base::Overrides& point) {
  Answer first = answer(point);
  add_inputs(first.inputs, inputs_);
  if (warnings_.all().empty()) warnings_ = std::move(first.warnings);
}

std::vector<store::Figures> RequestEngine::bounds(const std::vector<base::Overrides>& points) {
  return std::vector<store::Figures>(points.size());
}

// Whether the files of an earlier answer say what they said then.
bool RequestEngine::unchanged(const std::string& inputs) {
  for (std::size_t at = 0; at < inputs.size();) {
    const std::size_t middle = inputs.find('\x1f', at), end = inputs.find('\x1e', middle);
    const std::string name = inputs.substr(at, middle - at), hash = inputs.substr(middle + 1, end - middle - 1);
    at = end + 1;
    if (name.starts_with("-")) continue;  // an option: part of the command
    auto [known, fresh] = hashes_.try_emplace(name);
    if (fresh) {
      try {
        known->second = base::file_input(*base::read_file(name)).hash;
      } catch (const base::InputError&) {
        known->second = "";
      }
    }
    if (known->second != hash) return false;
  }
  return true;
}

std::string RequestEngine::command(const base::Overrides& point) const {
  return command_line(verb_, arguments_, point);
}

Batch RequestEngine::evaluate(const std::vector<base::Overrides>& points, const Known& known) {
  Batch batch;
  batch.points.resize(points.size());
  std::vector<store::Result> results(points.size());
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string command = command_line(verb_, arguments_, points[i]);
    const std::string key = key_of_text(command);
    batch.points[i].parts.push_back({verb_, 1, key});
    const std::optional<store::Result> before = known(key);
    if (before && unchanged(before->inputs)) {
      batch.points[i].outcome = before->outcome;
      continue;
    }
    results[i] = {key, verb_, {}, {}};
    work.push_back(i);
  }
  base::parallel_for(work.size(), options_.threads, [&](std::size_t w) {
    const std::size_t i = work[w];
    Outcome& out = results[i].outcome;
    try {
      Answer answered = answer(points[i]);
      out = std::move(answered.outcome);
      results[i].inputs = inputs_text(answered.inputs);
    } catch (const base::InputError& error) {
      out.status = Status::kError;
      out.reason = fmt::format("{}: {}", error.diagnostics.front().code, error.diagnostics.front().message);
    } catch (const base::OverflowError& error) {
      out.status = Status::kError;
      out.reason = fmt::format("O1004: a count does not fit 64 bits: {}", error.what());
    }
  });
  const bool stopped = options_.stop && options_.stop->load();
  for (const std::size_t i : work) {
    batch.points[i].outcome = results[i].outcome;
    if (!(stopped && results[i].outcome.status != Status::kOptimal)) batch.fresh.push_back(std::move(results[i]));
  }
  return batch;
}

}  // namespace orrery::sweep
