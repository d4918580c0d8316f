#include "orrery/verbs/sparse/simulate/run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using base::Count;

double real_of_simulate_run(Count x) {
  return static_cast<double>(x);
}

constexpr int kTurns = 5;  // of what is measured here

void simulate_case(const SimulateRequest& request, const ArrayCase& one, const base::Budget& budget,
                   SparseSimulate& out) {
  ArrayRunOptions options;
  options.effort = request.effort;
  options.threads = request.limits.threads;
  options.keep_mask = request.cpu && out.cases.empty();
  const std::size_t number = out.cases.size();
  if (request.most_events > 0)
    options.trace = [&](const accelerator::Interval& interval) {
      if (out.events.size() < request.most_events)
        out.events.push_back({interval, number});
      else
        ++out.events_left_out;
    };
  SimulatedCase done{one.name, one.shape, one.depth, !one.mask.has_value() && request.choice.packing != "orrery", {}};
  done.of = run_case(one, out.instance, request.choice.packing, options, budget);
  add(out.sum, done.of.run);
  out.kept += done.of.kept, out.pairs += done.of.pairs, out.matrices += one.shape.matrices();
  const auto worse = [](std::optional<double>& to, const std::optional<double>& from) {
    if (from) to = std::max(to.value_or(0), *from);
  };
  worse(out.relative_error, done.of.relative_error);
  worse(out.pruning_error, done.of.pruning_error);
  out.cases.push_back(std::move(done));
}

// What the models say, part by part, beside the array's phases and waits.
std::vector<LatencyLine> lines_of(const SparseSimulate& answer, const LatencyShape& shape) {
  const accelerator::Simulation& s = answer.sum;
  const auto ms = [&](Count cycles) { return real_of_simulate_run(cycles) / answer.instance.frequency * 1e3; };
  const double v1 = v1_core_ms(shape), v2 = v2_core_ms(shape);
  // v2's row of tiles: heads x size deep for scores, columns for values.
  const double n = shape.load_balance > 0 ? shape.density / shape.load_balance /
                                                (real_of_simulate_run(shape.pes) / real_of_simulate_run(shape.ports)) *
                                                real_of_simulate_run(shape.keys)
                                          : 0;
  const double features = real_of_simulate_run(shape.heads * shape.size), ports = real_of_simulate_run(shape.ports);
  const double scores_of_v2 = v2 > 0 ? v2 * (features + ports) / (features + ports + n + ports) : 0;
  const auto busy = [&](accelerator::Unit unit) { return ms(s.busy[static_cast<std::size_t>(unit)]); };
  const double prediction = busy(accelerator::Unit::kQuantiser) + busy(accelerator::Unit::kPredictor);
  std::vector<LatencyLine> out;
  out.push_back({"prediction",
                 {},
                 {},
                 ms(s.stalls.prediction),
                 prediction > 0 ? fmt::format("takes {:.4f} ms; this is what the array waits for it", prediction)
                                : "masks are given: none is simulated"});
  out.push_back({"packing and decoding",
                 {},
                 {},
                 ms(s.stalls.packing + s.stalls.preparing),
                 fmt::format("takes {:.4f} ms, likewise",
                             busy(accelerator::Unit::kPacker) + busy(accelerator::Unit::kPreparer))});
  out.push_back({"scores", v1 / 2, scores_of_v2, ms(s.phases.clear + s.phases.scores),
                 "fill and drain of every block; v1 has the operations at peak"});
  out.push_back({"maximum and exponentials", {}, {}, ms(s.phases.maximum + s.phases.exponentials), ""});
  out.push_back(
      {"values", v1 / 2, v2 - scores_of_v2, ms(s.phases.values), "v2 has the columns where the values' width belongs"});
  out.push_back({"sums of rows drained", {}, {}, ms(s.phases.drain), "a cycle a PE of a row"});
  out.push_back({"merging and normalising",
                 {},
                 {},
                 ms(s.stalls.merging),
                 fmt::format("takes {:.4f} ms; what the array waits for it", busy(accelerator::Unit::kMerger))});
  out.push_back({"memory",
                 {},
                 v2 > 0 ? std::optional(0.0) : std::nullopt,
                 ms(s.stalls.memory),
                 "v2's factor is 1 at 128 GB/s whatever is read"});
  return out;
}

void hold_against(const SimulateRequest& request, const base::Budget& budget, SparseSimulate& out) {
  const SimulatedCase& first = out.cases.front();
  const bool alike = std::all_of(out.cases.begin(), out.cases.end(), [&](const SimulatedCase& one) {
    return one.shape.rows == first.shape.rows && one.shape.columns == first.shape.columns &&
           one.shape.heads == first.shape.heads && one.depth == first.depth;
  });
  if (alike) {
    LatencyShape shape;
    shape.matrices = out.matrices, shape.heads = first.shape.heads;
    shape.queries = first.shape.rows, shape.keys = first.shape.columns, shape.size = first.depth;
    shape.rows = out.instance.array.rows, shape.pes = out.instance.array.pes, shape.ports = out.instance.array.ports;
    shape.hertz = out.instance.frequency;
    shape.density = out.density;
    double slots = 0;
    for (const SimulatedCase& one : out.cases)
      slots += one.of.load_balance > 0 ? real_of_simulate_run(one.of.kept) / one.of.load_balance : 0;
    shape.load_balance = slots > 0 ? real_of_simulate_run(out.kept) / slots : 0;
    out.shape = shape;
    out.lines = lines_of(out, shape);
    out.whole = whole_layer(shape);
  }
  if (!request.cpu) return;
  // Of the first case: attention of random numbers over its mask, which is what its time depends on.
  std::optional<masks::Mask>& mask = out.cases.front().of.mask;
  out.cpu = cpu_times(*mask, first.depth, request.limits.threads, kTurns, budget);
  mask.reset();
}

void warn_of_saturation(const accelerator::Saturated& of, const accelerator::Numbers& numbers,
                        base::Diagnostics& warnings) {
  std::vector<std::pair<const char*, Count>> list = {{"queries", of.queries},
                                                     {"keys", of.keys},
                                                     {"values", of.values},
                                                     {"predicted scores", of.scores},
                                                     {"outputs", of.outputs}};
  std::erase_if(list, [](const auto& one) { return one.second == 0; });
  if (list.empty()) return;
  auto& warning = warnings.warning("O1903", "numbers do not fit the array's formats and were clipped");
  for (const auto& [what, count] : list) warning.note(fmt::format("{} {}", count, what));
  const double most = std::exp2(numbers.query.bits - 1 - numbers.query.point);
  warning.note(fmt::format("{} bits with {} behind the point reach from {:g} to just below {:g}", numbers.query.bits,
                           numbers.query.point, -most, most));
  warning.hint("take fewer bits behind the point, such as `--format 16.8`, or more bits");
}

}  // namespace

SparseSimulate simulate_sparse(const SimulateRequest& request) {
  SparseSimulate out;
  out.choice = request.choice;
  const base::Budget budget(request.limits);
  ArrayCases read = read_array_cases(request.input, request.limits);
  out.rule = read.rule;
  out.inputs = read.inputs;
  out.warnings.append(read.warnings);
  out.unfinished = read.unfinished;
  out.choice.instance.code_bits = static_cast<int>(read.cases.empty() ? 4 : read.cases.front().code_bits);
  out.instance = instance_for(out.choice, read.cases);
  Estimators estimators({});
  check_price(out.instance, out.choice, estimators);
  LimitedSteps steps(budget);
  for (std::size_t i = 0; i < read.cases.size(); ++i) {
    const std::string name = read.cases[i].name.empty() ? "the arrays" : fmt::format("`{}`", read.cases[i].name);
    if (!steps.run(fmt::format("{}{}", name, i + 1 < read.cases.size() ? " and what follows it" : ""),
                   [&] { simulate_case(request, read.cases[i], budget, out); }))
      break;
    if (request.progress) request.progress(i + 1, read.cases.size());
  }
  out.unfinished.insert(out.unfinished.end(), steps.unfinished().begin(), steps.unfinished().end());
  out.interrupted = budget.interrupted();
  out.warnings.append(limits_reached(out.unfinished, out.cases.empty(), request.limits));
  if (out.cases.empty()) return out;
  out.density = out.pairs > 0 ? real_of_simulate_run(out.kept) / real_of_simulate_run(out.pairs) : 0;
  out.seconds = real_of_simulate_run(out.sum.cycles) / out.instance.frequency;
  out.price = price_of(out.instance, out.sum, out.choice, estimators);
  hold_against(request, budget, out);
  warn_of_saturation(out.sum.saturated, out.instance.numbers, out.warnings);
  return out;
}

}  // namespace orrery::verbs
