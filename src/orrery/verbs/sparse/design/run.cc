// Every combination, one after the other. Time and error follow from a simulation; energy and area from its operations.
// Combinations that differ in frequency or bandwidth alone are simulated again, since the DRAM's cycles change.
#include "orrery/verbs/sparse/design/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr const char* kHeader =
    "array,bits,packing,block_slots,frequency_hz,bandwidth_bytes_per_s,cycles,seconds,energy_pj,area_um2,utilization,"
    "waiting,error,pareto,best";

std::vector<DesignPoint> open_points(const DesignChoices& c) {
  std::vector<DesignPoint> out(1);
  multiply(out, c.arrays, &DesignPoint::array);
  multiply(out, c.bits, &DesignPoint::bits);
  multiply(out, c.packings, &DesignPoint::packing);
  multiply(out, c.block_slots, &DesignPoint::block_slots);
  multiply(out, c.bandwidths, &DesignPoint::bandwidth);
  multiply(out, c.frequencies, &DesignPoint::frequency);
  return out;
}

// What a point is, as its line begins.
std::string key_of(const DesignPoint& p) {
  return fmt::format("{}x{}x{},{},{},{},{},{}", p.array.rows, p.array.pes, p.array.ports, p.bits, p.packing,
                     p.block_slots, p.frequency, p.bandwidth);
}

ArrayChoice choice_of(const DesignRequest& request, const DesignPoint& point) {
  ArrayChoice out = request.choice;
  out.instance.array = point.array;
  out.instance.code_bits = static_cast<int>(point.bits);
  out.instance.frequency = point.frequency, out.instance.bandwidth = point.bandwidth;
  out.block_slots = point.block_slots;
  out.packing = point.packing;
  return out;
}

// Figures of points that were computed before, by what they are.
class Resumed {
 public:
  Resumed(const std::string& path, const std::string& question) {
    if (path.empty()) return;
    base::Diagnostics found;
    const auto document = formats::csv::parse(base::read_file(path), formats::csv::Comments::kNone, found);
    const std::vector<formats::csv::Row>& rows = document.rows;
    const auto refuse = [&](int line, const std::string& why) {
      base::fail("O1904", why, {document.file, line, 1, 1},
                 "resume with the same masks or arrays and the same options; only the lists of a design may differ");
    };
    if (rows.size() < 2 || beginning(rows[0], rows[0].cells.size()) != "# " + question)
      refuse(1, "these points are of another question");
    if (beginning(rows[1], rows[1].cells.size()) != kHeader) refuse(2, "this is no design.csv of this version");
    for (std::size_t i = 2; i < rows.size(); ++i) {
      const std::optional<DesignPoint> read = point_of(rows[i]);
      if (!read) refuse(rows[i].line, "this is no point of a design");
      known_.emplace(beginning(rows[i], kKeyCells), *read);
    }
    if (found.has_errors()) refuse(found.all().front().primary.where.line, "this is no point of a design");
  }

  // Fills in what is known. False: nothing.
  bool give(DesignPoint& point) const {
    const auto at = known_.find(key_of(point));
    if (at == known_.end()) return false;
    const DesignPoint open = point;
    point = at->second;
    point.array = open.array, point.bits = open.bits, point.packing = open.packing;
    point.block_slots = open.block_slots, point.frequency = open.frequency, point.bandwidth = open.bandwidth;
    return true;
  }

 private:
  static constexpr std::size_t kCells = 15, kKeyCells = 6;

  static std::string beginning(const formats::csv::Row& row, std::size_t cells) {
    std::string out;
    for (std::size_t i = 0; i < cells; ++i) out += (i > 0 ? "," : "") + row.cells[i].text;
    return out;
  }

  static std::optional<DesignPoint> point_of(const formats::csv::Row& row) {
    if (row.cells.size() != kCells) return std::nullopt;
    const auto number = [&](std::size_t cell, auto& to) {
      const std::string& text = row.cells[cell].text;
      const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), to);
      return failure == std::errc() && rest == text.data() + text.size() && std::isfinite(static_cast<double>(to)) &&
             to >= 0;
    };
    DesignPoint p;
    if (!number(6, p.cycles) || !number(7, p.seconds) || !number(8, p.energy_pj) || !number(9, p.area_um2) ||
        !number(10, p.utilization) || !number(11, p.waiting))
      return std::nullopt;
    if (!row.cells[12].text.empty() && !number(12, p.error.emplace())) return std::nullopt;
    return p;
  }

  std::map<std::string, DesignPoint> known_;
};

// What points depend on beside their own choices.
std::string question_of(const DesignRequest& request, const ArrayCases& read) {
  const accelerator::Instance& x = request.choice.instance;
  const ArrayChoice& c = request.choice;
  std::string all;
  for (const base::Input& input : read.inputs) all += fmt::format("{} {}\n", input.name, input.hash);
  const auto optional = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string("-"); };
  for (const ArrayCase& one : read.cases)
    all += fmt::format("{} {} {} {} {} {} {} {} {}\n", one.name, one.depth, one.scale, one.causal, one.mask.has_value(),
                       one.prediction.threshold, one.prediction.normalise, optional(one.prediction.query_clip),
                       optional(one.prediction.key_clip));
  all += fmt::format("{} {} {} {} {} {} {} {}\n", optional(c.query_rows), optional(c.key_tokens),
                     optional(c.score_keys), optional(c.prediction_width), optional(c.quantiser_lanes),
                     optional(c.merge_lanes), optional(c.latency), c.one_after_another);
  all += fmt::format("{} {}\n", request.effort.swaps, request.effort.rounds);
  all += fmt::format("{}.{} {}.{} {} {}", x.numbers.query.bits, x.numbers.query.point, x.numbers.sum.bits,
                     x.numbers.sum.point, c.technology, c.dram);
  return base::content_hash(all);
}

double score(const DesignPoint& p, DesignObjective objective) {
  switch (objective) {
    case DesignObjective::kTime:
      return p.seconds;
    case DesignObjective::kEnergy:
      return p.energy_pj;
    case DesignObjective::kEnergyDelay:
      return p.energy_pj * p.seconds;
    case DesignObjective::kAreaDelay:
      return p.area_um2 * p.seconds;
  }
  return 0;
}

class Designer {
 public:
  Designer(const DesignRequest& request, const base::Budget& budget, std::vector<ArrayCase>& cases)
      : request_(request), budget_(budget), cases_(cases), estimators_({}) {}

  void compute(DesignPoint& point) {
    const ArrayChoice choice = choice_of(request_, point);
    ArrayRunOptions options;
    options.effort = request_.effort;
    options.threads = request_.limits.threads;
    for (ArrayCase& one : cases_) one.code_bits = point.bits;
    const accelerator::Instance instance = instance_for(choice, cases_);
    accelerator::Simulation sum;
    for (const ArrayCase& one : cases_) {
      const CaseRun done = run_case(one, instance, choice.packing, options, budget_);
      add(sum, done.run);
      if (done.relative_error) point.error = std::max(point.error.value_or(0), *done.relative_error);
    }
    const ArrayPrice price = price_of(instance, sum, choice, estimators_);
    point.cycles = sum.cycles;
    point.seconds = static_cast<double>(sum.cycles) / instance.frequency;
    point.energy_pj = price.energy_pj, point.area_um2 = price.area_um2;
    point.utilization = sum.utilization;
    point.waiting = sum.cycles > 0 ? static_cast<double>(sum.phases.waiting) / static_cast<double>(sum.cycles) : 0;
  }

 private:
  const DesignRequest& request_;
  const base::Budget& budget_;
  std::vector<ArrayCase>& cases_;
  Estimators estimators_;
};

// Faults of every point before the first is computed, each once.
void check_points(const DesignRequest& request, const std::vector<DesignPoint>& points,
                  const std::vector<ArrayCase>& cases) {
  std::vector<base::Diagnostic> found;
  for (const DesignPoint& point : points) try {
      instance_for(choice_of(request, point), cases);
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& one : error.diagnostics)
        if (std::none_of(found.begin(), found.end(), [&](const base::Diagnostic& other) {
              return other.code == one.code && other.message == one.message;
            }))
          found.push_back(one);
    }
  if (!found.empty()) throw base::InputError(found);
  Estimators estimators({});
  for (const DesignPoint& point : points) {
    const ArrayChoice choice = choice_of(request, point);
    check_price(instance_for(choice, cases), choice, estimators);
  }
}

}  // namespace

double DesignChoices::points() const {
  double out = 1;
  for (const std::size_t each :
       {arrays.size(), bits.size(), packings.size(), frequencies.size(), bandwidths.size(), block_slots.size()})
    out *= static_cast<double>(std::max<std::size_t>(each, 1));
  return out;
}

const std::vector<std::pair<std::string, DesignObjective>>& design_objectives() {
  static const std::vector<std::pair<std::string, DesignObjective>> names = {
      {"time", DesignObjective::kTime},
      {"energy", DesignObjective::kEnergy},
      {"energy-delay", DesignObjective::kEnergyDelay},
      {"area-delay", DesignObjective::kAreaDelay}};
  return names;
}

base::Costs design_costs(const DesignPoint& point) {
  return {point.seconds, point.energy_pj, point.area_um2, point.error.value_or(0)};
}

void mark_best(std::vector<DesignPoint>& points, DesignObjective objective, const std::optional<double>& most_error) {
  DesignPoint* best = nullptr;
  for (DesignPoint& point : points) {
    point.best = false;
    const bool allowed = !most_error || point.error.value_or(0) <= *most_error;
    if (allowed && (best == nullptr || score(point, objective) < score(*best, objective))) best = &point;
  }
  if (best != nullptr) best->best = true;
}

SparseDesign design_sparse(const DesignRequest& request) {
  SparseDesign out;
  const base::Budget budget(request.limits);
  ArrayCases read = read_array_cases(request.input, request.limits);
  out.inputs = read.inputs;
  out.warnings.append(read.warnings);
  if (request.choices.bits.size() < 2) out.rule = read.rule;  // which names the codes' bits
  out.technology = request.choice.technology;
  out.most_error = request.most_error;
  for (const auto& [name, objective] : design_objectives())
    if (objective == request.objective) out.objective = name;
  out.interrupted = budget.interrupted();
  if (!read.unfinished.empty() || read.cases.empty()) {  // points of a part of what is asked for would mislead
    out.out_of_time = !out.interrupted;
    out.warnings.append(limits_reached(read.unfinished, true, request.limits));
    return out;
  }
  DesignChoices choices = request.choices;
  if (choices.bits.empty()) choices.bits = {read.cases.front().code_bits};
  const std::vector<DesignPoint> open = open_points(choices);
  out.all = open.size();
  out.question = question_of(request, read);
  check_points(request, open, read.cases);
  const Resumed resumed(request.resume, out.question);
  Designer designer(request, budget, read.cases);
  LimitedSteps steps(budget);
  for (DesignPoint point : open) {
    if (resumed.give(point))
      ++out.resumed;
    else if (!steps.run("a point", [&] { designer.compute(point); }))
      break;
    out.add(point, request);
  }
  out.end(budget, design_costs);
  mark_best(out.points, request.objective, request.most_error);
  return out;
}

std::string design_csv(const SparseDesign& design) {
  std::string out = fmt::format("# {}\n{}\n", design.question, kHeader);
  for (const DesignPoint& p : design.points)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", key_of(p), p.cycles, p.seconds, p.energy_pj, p.area_um2,
                       p.utilization, p.waiting, p.error ? fmt::format("{}", *p.error) : "", p.pareto ? 1 : 0,
                       p.best ? 1 : 0);
  return out;
}

}  // namespace orrery::verbs
