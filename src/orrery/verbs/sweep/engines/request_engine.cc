#include "orrery/verbs/sweep/engines/request_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/base/text/text_file.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/energy/run.h"
#include "orrery/verbs/map/fuse/native_block.h"
#include "orrery/verbs/sweep/engines/question_key.h"
#include "orrery/verbs/sweep/engines/request_outcome.h"
#include "orrery/verbs/sweep/points/arguments.h"

namespace orrery::sweep {

using store::Outcome;
using store::Status;

std::string RequestEngine::inputs_text(const std::vector<base::Input>& inputs) {
  std::string out;
  for (const base::Input& input : inputs) out += input.name + '\x1f' + input.hash + '\x1e';
  return out;
}

RequestEngine::RequestEngine(std::string verb, std::vector<std::string> arguments, ReadRequest read,
                             const EngineOptions& options)
    : verb_(std::move(verb)), arguments_(std::move(arguments)), read_(std::move(read)), options_(options) {}

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
        if constexpr (requires { of.overrides; })
          of.overrides.insert(of.overrides.end(), parts.settings.begin(), parts.settings.end());
        else if constexpr (requires { of.native.overrides; })
          of.native.overrides.insert(of.native.overrides.end(), parts.settings.begin(), parts.settings.end());
        else if (!parts.settings.empty())
          base::fail("O2059",
                     fmt::format("`{}` has no field `{}`: it takes options only", verb_, parts.settings[0].path), {},
                     fmt::format("vary one of its options, as `orrery {} --help` lists them", verb_));
        if constexpr (requires { of.limits.stop; }) {
          of.limits.threads = 1;
          of.limits.stop = options_.stop;
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(of)>, verbs::ServeRequest>)
          if (of.system == verbs::kThisMachine)
            base::fail("O2070",
                       "points of a study are answered side by side, which `this-machine` cannot be measured in", {},
                       "ask `orrery serve` one after the other");
        if constexpr (requires { of.search.limits; }) of.search.limits.threads = 1;
        if constexpr (requires { of.interruptible; }) of.interruptible = [this] { return options_.stop; };
      },
      request);
  return request;
}

RequestEngine::Answer RequestEngine::answer(const base::Overrides& point) {
  const Request request = request_at(point);
  Answer out;
  if (const auto* train = std::get_if<verbs::TrainRequest>(&request)) {
    verbs::TrainedModel trained = verbs::train(*train);
    out = {outcome_of(trained, !trained.all_choices || !trained.unproven.empty()), std::move(trained.inputs),
           std::move(trained.warnings)};
  } else if (const auto* block = std::get_if<verbs::BlockRequest>(&request)) {
    verbs::BlockAnswer fused = verbs::map_native_block(*block);
    out = {outcome_of(fused), std::move(fused.inputs), std::move(fused.warnings)};
  } else if (const auto* place = std::get_if<verbs::PlaceRequest>(&request)) {
    verbs::PlacedGraph placed = verbs::place(*place);
    out = {outcome_of(placed), std::move(placed.inputs), std::move(placed.warnings)};
  } else if (const auto* serve = std::get_if<verbs::ServeRequest>(&request)) {
    verbs::ServedAnswer served = verbs::serve_or_refuse(*serve);
    out = {outcome_of(served), std::move(served.inputs), std::move(served.warnings)};
  } else if (const auto* simulate = std::get_if<verbs::SimulateRequest>(&request)) {
    verbs::SparseSimulate simulated = verbs::simulate_sparse(*simulate);
    out = {outcome_of(simulated), std::move(simulated.inputs), std::move(simulated.warnings)};
  } else if (const auto* select = std::get_if<verbs::TuneSelectRequest>(&request)) {
    verbs::TunedSelection selected = verbs::tune_select(*select);
    out = {outcome_of(selected), std::move(selected.inputs), std::move(selected.warnings)};
  } else {
    verbs::EstimatedChip chip = verbs::estimate_chip(std::get<verbs::DocumentRequest>(request));
    out = {outcome_of(chip), std::move(chip.inputs), std::move(chip.warnings)};
  }
  return out;
}

// Plans that are compared: ways to lay the accelerators out over the degrees that are open, and microbatches.
double RequestEngine::effort(const base::Overrides& point) {
  const Request request = request_at(point);
  const verbs::RunQuestion* run = nullptr;
  int open = 0;
  if (const auto* train = std::get_if<verbs::TrainRequest>(&request)) {
    run = train;
    for (const auto& degree : {train->tp, train->pp, train->dp, train->cp, train->ep}) open += !degree;
  } else if (const auto* place = std::get_if<verbs::PlaceRequest>(&request)) {
    run = &place->model;
    for (const auto& degree : {run->tp, run->pp, run->dp}) open += !degree;
  }
  if (run == nullptr || !run->gpus || *run->gpus < 1) return 1;
  double plans = 1;
  for (const auto& [prime, power] : base::prime_factors(*run->gpus))  // C(power + open - 1, power) each
    for (int i = 1; i <= power; ++i) plans *= static_cast<double>(open + i - 1) / i;
  if (run->global_batch && *run->global_batch >= 1 && !run->micro_batch)
    plans *= static_cast<double>(base::divisors(*run->global_batch).size());
  return std::max(1.0, plans);
}

void RequestEngine::probe(const base::Overrides& point) {
  Answer first = answer(point);
  add_inputs(first.inputs, inputs_);
  if (warnings_.all().empty()) warnings_ = std::move(first.warnings);
}

std::vector<store::Figures> RequestEngine::bounds(const std::vector<Choices>& boxes) {
  return std::vector<store::Figures>(boxes.size());
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
  answer_all(points, work, results);
  const bool stopped = options_.stop && options_.stop->load();
  for (const std::size_t i : work) {
    batch.points[i].outcome = results[i].outcome;
    if (!(stopped && results[i].outcome.status != Status::kOptimal)) batch.fresh.push_back(std::move(results[i]));
  }
  return batch;
}

void RequestEngine::answer_all(const std::vector<base::Overrides>& points, const std::vector<std::size_t>& places,
                               std::vector<store::Result>& results) {
  base::parallel_for(places.size(), options_.threads, [&](std::size_t p) {
    const std::size_t i = places[p];
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
}

}  // namespace orrery::sweep
