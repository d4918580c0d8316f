#include "orrery/verbs/sweep/engines/place_family.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/verbs/place/place_operators.h"
#include "orrery/verbs/sweep/engines/request_outcome.h"

namespace orrery::sweep {
namespace {

using dataflow::Setup;
using store::Figure;
using store::Figures;
using store::Outcome;
using store::Status;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1e-12;      // of times, as in the searches
constexpr double kAbove = 1 + 1e-9;   // a time that is surely found
constexpr double kBelow = 1 - 1e-11;  // more than equal times and rounding differ
constexpr std::size_t kMostKnown = 16384;

struct Field {
  const char* path;
  void (*set)(Setup& setup, double value);
};
// Setup files have reals of 32 bits.
double narrow(double value) {
  return static_cast<double>(static_cast<float>(value));
}
constexpr Field kFields[] = {
    {"system.memory.dram_bw",
     [](Setup& setup, double value) { setup.system.accelerator.memory_bytes_per_s = narrow(value) * 1e9; }},
    {"system.memory.dram_cap",
     [](Setup& setup, double value) { setup.system.accelerator.memory_bytes = narrow(value); }},
    {"system.accelerator.sram_cap",
     [](Setup& setup, double value) { setup.system.accelerator.on_chip_bytes = narrow(value); }},
    {"system.accelerator.freq", [](Setup& setup, double value) { setup.system.cores.frequency_ghz = narrow(value); }},
    {"system.accelerator.core", [](Setup& setup, double value) { setup.system.cores.cores = base::saturated(value); }},
};

bool whole(const std::string& path) {
  return path == "system.accelerator.core";
}

const Field& field(const std::string& path) {
  return *std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& each) { return path == each.path; });
}

bool covers(const PlaceFamily::Values& more, const PlaceFamily::Values& less) {
  for (std::size_t i = 0; i < more.size(); ++i)
    if (more[i] < less[i]) return false;
  return true;
}

// A question of which only the open fields differ, so that nothing else of it has to be looked at.
bool plain(const verbs::PlaceRequest& request, const verbs::PlaceQuestion& question) {
  if (request.joint || request.defects != dataflow::Defects{} || !request.measurements.empty()) return false;
  if (request.limits.gap > 0 || question.setup.solver.gap > 0) return false;
  if (question.model && question.model->chip) return false;
  // Layers that are spread over stages are cut by their times.
  const auto* model = std::get_if<dataflow::LanguageModelRun>(&question.setup.execution.workload);
  return model == nullptr || model->layers_in_graph <= 1;
}

}  // namespace

bool rises(const std::string& path) {
  return std::any_of(std::begin(kFields), std::end(kFields), [&](const Field& each) { return path == each.path; });
}

PlaceFamily::PlaceFamily(std::vector<std::string> open, const verbs::PlaceRequest& least,
                         const verbs::PlaceRequest& most)
    : open_(std::move(open)) {
  try {
    question_ = verbs::read_place(most);
    const verbs::PlaceQuestion other = verbs::read_place(least);
    if (!plain(most, question_)) return;
    // Both, put together, are what their documents say.
    const auto same = [&](const verbs::PlaceRequest& request, const verbs::PlaceQuestion& read) {
      Values at;
      for (const std::string& path : open_) {
        const auto set = std::find_if(request.overrides.rbegin(), request.overrides.rend(),
                                      [&](const base::Override& each) { return each.path == path; });
        double value = 0;
        if (set == request.overrides.rend() || !value_of(path, set->value, value)) return false;
        at.push_back(value);
      }
      return formats::dfmodel::write_setup(setup(at)) == formats::dfmodel::write_setup(read.setup);
    };
    composes_ = same(most, question_) && same(least, other);
  } catch (const base::InputError&) {  // its points will say so
  }
}

Setup PlaceFamily::setup(const Values& at) const {
  Setup out = question_.setup;
  for (std::size_t i = 0; i < open_.size(); ++i) field(open_[i]).set(out, at[i]);
  return out;
}

bool PlaceFamily::value_of(const std::string& path, const std::string& text, double& value) {
  value = base::parse_finite(text).value_or(0);
  if (!(value > 0)) return false;
  return !whole(path) ||
         (value == std::floor(value) && value < 0x1p31 && text.find_first_of(".eE") == std::string::npos);
}

namespace {

// Evaluates a mapping on a system that it was not made for.
dataflow::Evaluation evaluated(const Setup& setup, const dataflow::Placement& placement,
                               const verbs::PlaceQuestion& question) {
  const verbs::PlaceOperators operators(question.model.get(), setup, {}, {});
  return dataflow::evaluate(dataflow::placed(setup, placement), *placement.mapping, {}, operators.model());
}

}  // namespace

double PlaceFamily::time_under(const Solved& solved, const Values& at) const {
  if (!solved.placement->mapping) return kNever;
  const dataflow::Evaluation found = evaluated(setup(at), *solved.placement, question_);
  return found.partition.feasible ? found.final_ns : kNever;
}

bool PlaceFamily::settles(const Solved& solved, double ns) const {
  if (solved.placement->infeasible) return true;
  return solved.proven() && money_is_fixed() && ns <= solved.bound_ns * (1 + kEqual);
}

// Where sizes of the network are searched, equally fast placements may cost different sums.
bool PlaceFamily::money_is_fixed() const {
  const dataflow::System& system = question_.setup.system;
  return std::all_of(system.network.begin(), system.network.end(), [](const auto& each) { return each.size > 0; });
}

// The one whose bound says most of what has no more of anything.
const PlaceFamily::Solved* PlaceFamily::known_above(const Values& at) const {
  const Solved* best = nullptr;
  for (const Solved& each : known_)
    if (covers(each.at, at) && (best == nullptr || each.bound_ns >= best->bound_ns)) best = &each;
  return best;
}

// The fastest whose mapping surely fits.
const PlaceFamily::Solved* PlaceFamily::known_below(const Values& at) const {
  const Solved* best = nullptr;
  for (const Solved& each : known_)
    if (each.placement->mapping && covers(at, each.at) && (best == nullptr || each.final_ns <= best->final_ns))
      best = &each;
  return best;
}

PlaceFamily::Solved PlaceFamily::solve(const Values& at, const dataflow::PlaceLimits& limits) const {
  const Solved* const above = known_above(at);
  double known = kNever;
  if (above != nullptr) {
    if (above->at == at && above->proven()) return *above;
    Solved out = *above;
    out.at = at;
    out.searched = false;
    out.final_ns = time_under(*above, at);
    if (settles(*above, out.final_ns)) return out;
    known = out.final_ns;
  }
  if (const Solved* const below = known_below(at)) known = std::min(known, time_under(*below, at));

  const Setup asked = setup(at);
  const verbs::PlaceOperators operators(question_.model.get(), asked, {}, {});
  dataflow::PlaceLimits how = limits;
  how.known_ns = std::isfinite(known) ? known * kAbove : 0;
  auto found = std::make_shared<dataflow::Placement>(dataflow::optimize(asked, {}, how, operators.model()));
  if (!found->mapping && !found->infeasible && how.known_ns > 0 && !(how.stop && how.stop->load())) {
    how.known_ns = 0;
    *found = dataflow::optimize(asked, {}, how, operators.model());
  }
  Solved out;
  out.at = at;
  out.searched = true;
  out.final_ns = found->mapping ? found->evaluation.final_ns : kNever;
  out.bound_ns = found->infeasible ? kNever : found->certificate.lower_bound;
  // All that is asked of it later.
  found->evaluation.partition = {};
  found->sharding = {};
  if (above != nullptr) out.bound_ns = std::max(out.bound_ns, above->bound_ns);
  out.placement = std::move(found);
  return out;
}

bool PlaceFamily::learn(const Solved& solved) {
  if (!solved.searched || known_.size() >= kMostKnown) return false;
  known_.push_back(solved);
  return true;
}

Outcome PlaceFamily::outcome(const Solved& solved, const Values& at) const {
  Outcome out;
  const dataflow::Placement& placement = *solved.placement;
  if (!placement.mapping) {
    out.status = placement.infeasible ? Status::kInfeasible : Status::kTimeout;
    out.reason =
        placement.reasons.empty() ? "the search ended before it found a placement" : placement.reasons.front().message;
    if (placement.infeasible && solved.at != at) {
      std::string even;
      for (std::size_t i = 0; i < open_.size(); ++i)
        even += fmt::format("{}{}={:.12g}", even.empty() ? "" : ", ", open_[i], solved.at[i]);
      out.reason = fmt::format("even with {}: {}", even, out.reason);
    }
    return out;
  }
  const Setup here = setup(at);
  out.status = placement.certificate.optimal ? Status::kOptimal : Status::kGap;
  out.gap = placement.certificate.gap;
  set_placed_figures(solved.final_ns, placement.evaluation.flop, here.system,
                     dataflow::money(dataflow::placed(here, placement), placement.mapping->degrees, {}), out);
  return out;
}

Figures PlaceFamily::bounds(const Solved& most, const Values& least) const {
  Figures out;
  if (!std::isfinite(most.bound_ns)) {
    out.values.fill(kNever);
    out[Figure::kUtilization] = -kNever;
    return out;
  }
  const Setup cheapest = setup(least);
  out[Figure::kSeconds] = most.bound_ns * kBelow / 1e9;
  const double peak = static_cast<double>(cheapest.system.chips) * cheapest.system.cores.gflops();
  if (most.bound_ns > 0 && peak > 0 && most.placement->mapping)
    out[Figure::kUtilization] = most.placement->evaluation.flop / (most.bound_ns * kBelow * peak);
  if (!most.placement->mapping || !money_is_fixed()) return out;
  const dataflow::PlacementMoney money =
      dataflow::money(dataflow::placed(cheapest, *most.placement), most.placement->mapping->degrees, {});
  if (money.total_cost() > 0) out[Figure::kDollars] = money.total_cost() * kBelow;
  if (money.total_power() > 0) {
    out[Figure::kPower] = money.total_power() * kBelow;
    out[Figure::kEnergy] = money.total_power() * kBelow * most.bound_ns * kBelow * 1e3;
  }
  return out;
}

}  // namespace orrery::sweep
