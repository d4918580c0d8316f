#include "orrery/verbs/tune/select/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/substation/folder.h"
#include "orrery/formats/substation/layout_file.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/runtime/tuning/selection/consistency.h"

namespace orrery::verbs {
namespace {

using tuning::Problem;

constexpr std::size_t kMostStates = 100'000;  // that split tensors may multiply

std::vector<std::string> variables(const tuning::Graph& graph) {
  std::vector<std::string> out;
  for (const tuning::Variable& one : graph.variables) out.push_back(one.name);
  return out;
}

int class_of(const Problem& problem, const std::string& name, const std::string& option) {
  const int found = problem.class_named(base::upper(name));
  if (found < 0)
    base::fail("O1720", fmt::format("`{}` of `{}` is no tensor of the layer", name, option), {},
               base::did_you_mean(base::upper(name), variables(*problem.graph),
                                  "tensors are those of Substation: X, KK, SB1, LN1, LINW1, ..."));
  return found;
}

struct Pinned {
  int class_id, layout;
};
Pinned pinned(const Problem& problem, const std::string& asked) {
  const std::size_t equals = asked.find('=');
  if (equals == std::string::npos)
    base::fail("O1720", fmt::format("`--why {}` should be VARIABLE=LAYOUT", asked), {}, "for example: --why X=bji");
  const int class_id = class_of(problem, asked.substr(0, equals), "--why " + asked);
  std::string layout = asked.substr(equals + 1);
  for (char& c : layout) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (c == 'n') c = 'i';
  }
  const int number = problem.layout_number(class_id, layout);
  if (number < 0)
    base::fail(
        "O1720", fmt::format("nothing was measured with `{}` for {}", layout, problem.name(class_id)), {},
        fmt::format("its layouts are {}", base::joined(problem.layouts[static_cast<std::size_t>(class_id)], ", ")));
  return {class_id, number};
}

tuning::Factor pin(const Pinned& one) {
  return {"the choice", {one.class_id}, {static_cast<std::uint16_t>(one.layout)}, {0}};
}

Alternative why(const Problem& problem, const std::string& asked, const base::Budget& budget) {
  Alternative out{asked, std::nullopt, false, {}};
  tuning::FactorGraph with = problem.factors;
  with.factors.push_back(pin(pinned(problem, asked)));
  const tuning::Minimum found = tuning::minimize(with, budget);
  out.proven = found.proven();
  if (found.found) out.selection = tuning::evaluate(problem, found.values);
  if (found.infeasible)
    for (const int f : tuning::smallest_conflict(with, budget).factors)
      if (f < static_cast<int>(problem.factors.factors.size()))
        out.missing.push_back(problem.factors.factors[static_cast<std::size_t>(f)].name);
  return out;
}

// The best choice with the layouts that a file pins; what it does not name is free.
Alternative evaluate_file(const Problem& problem, const std::string& path, const base::Budget& budget) {
  const auto file = formats::substation::read_layout_file(path);
  base::Diagnostics found;
  std::vector<int> chosen(problem.layouts.size(), -1);
  Alternative out{path, std::nullopt, false, {}};
  for (const auto& [name, layout, where] : formats::substation::layouts_of(file)) {
    const int class_id = problem.class_named(name);
    if (class_id < 0) {
      found.error("O1719", fmt::format("`{}` is no tensor of the layer", name), where)
          .hint(base::did_you_mean(name, variables(*problem.graph)));
      continue;
    }
    const int number = problem.layout_number(class_id, layout);
    int& known = chosen[static_cast<std::size_t>(class_id)];
    if (number < 0)
      out.missing.push_back(fmt::format("{} in {}", name, layout));
    else if (known >= 0 && known != number)
      found.error(
          "O1719",
          fmt::format("{} is {} here and {} elsewhere: they are one tensor's layouts", problem.name(class_id), layout,
                      problem.layouts[static_cast<std::size_t>(class_id)][static_cast<std::size_t>(known)]),
          where);
    else
      known = number;
  }
  found.throw_if_errors();
  if (!out.missing.empty()) {
    out.proven = true;
    return out;
  }
  tuning::FactorGraph with = problem.factors;
  for (std::size_t c = 0; c < chosen.size(); ++c)
    if (chosen[c] >= 0) with.factors.push_back(pin({static_cast<int>(c), chosen[c]}));
  const tuning::Minimum best = tuning::minimize(with, budget);
  out.proven = best.proven();
  if (best.found) out.selection = tuning::evaluate(problem, best.values);
  if (best.infeasible)
    for (const int f : tuning::smallest_conflict(with, budget).factors)
      if (f < static_cast<int>(problem.factors.factors.size()))
        out.missing.push_back(problem.factors.factors[static_cast<std::size_t>(f)].name);
  return out;
}

// What re-layouts cost is known before anything takes long, or refused.
double relayout_bandwidth(const TuneSelectRequest& request, TunedSelection& out) {
  if (const std::string untold = tuning::sizes_untold(out.problem); !untold.empty())
    base::fail("O1726",
               fmt::format("re-layouts need the sizes of all dimensions; no file tells that of {}",
                           base::joined(untold, ", ")),
               {}, "kernels' lines begin with sizes: `B = 8 J = 512 N = 1024 ...`");
  if (request.relayout_bytes_per_s > 0) return request.relayout_bytes_per_s;
  if (out.modelled && out.modelled->bytes_per_s > 0) return out.modelled->bytes_per_s;
  if (request.system.empty())
    base::fail("O1726", "`--relayout` needs to know how fast a tensor is read and written", {},
               "give `--bandwidth GB/s`, or the machine with `--system NAME`");
  const SystemReading reading = read_system(catalogue_directory(), request.system, {});
  out.inputs.insert(out.inputs.end(), reading.inputs.begin(), reading.inputs.end());
  out.warnings.append(reading.warnings);
  const double rate = reading.system.accelerator.memory_bytes_per_s;
  if (rate > 0) return rate;
  base::fail("O1726", fmt::format("the memory of `{}` has no bandwidth", request.system), {},
             "give one with `--bandwidth GB/s`");
}

Conversions with_conversions(const TunedSelection& of, double bytes_per_s, const base::Budget& budget) {
  const Problem& problem = of.problem;
  Conversions out{bytes_per_s, std::nullopt, 0, false};
  const tuning::ConversionProblem with = tuning::with_conversions(
      problem, bytes_per_s,
      of.modelled ? machine::bytes_per_element(of.modelled->precision) : tuning::kMeasuredBytesPerWord);
  if (!with.factors.sums_fit())
    base::fail("O1726", fmt::format("re-layouts at {:.5g} GB/s take more than 2^60 femtoseconds", bytes_per_s / 1e9),
               {}, "give a larger `--bandwidth`");
  const tuning::Minimum found = tuning::minimize(with.factors, budget);
  out.proven = found.proven();
  out.bound = found.bound;
  if (found.found) out.selection = tuning::evaluate(problem, with, found.values);
  return out;
}

void run_modes(const TuneSelectRequest& request, TunedSelection& out, const base::Budget& budget) {
  tuning::FactorGraph consistent = out.problem.factors;
  const auto made = tuning::make_consistent(consistent, budget);
  if (made == tuning::Consistency::kConsistent)
    for (const tuning::Factor& factor : consistent.factors)
      out.arc_consistent += *std::min_element(factor.costs.begin(), factor.costs.end());
  std::vector<int> split;
  std::string split_name = "combined";
  double states = 1;
  for (const std::string& one : request.split_vars) {
    split.push_back(class_of(out.problem, one, "--split_vars"));
    split_name += (split.size() == 1 ? "_split_" : "_") + base::upper(one);
    states *= out.problem.factors.domains[static_cast<std::size_t>(split.back())];
  }
  if (states > kMostStates)
    base::fail(
        "O1720",
        fmt::format("the tensors of `--split_vars` have {:.0f} layouts together, more than {}", states, kMostStates),
        {}, "split fewer");
  const auto wanted = [&](const char* name) {
    return request.modes.empty() || std::find(request.modes.begin(), request.modes.end(), name) != request.modes.end();
  };
  const auto run = [&](const std::string& name, tuning::Mode mode, const std::vector<int>& with) {
    if (made == tuning::Consistency::kEmpty)
      return out.modes.push_back({name, {std::nullopt, "no choice is allowed", false}});
    if (made == tuning::Consistency::kStopped)
      return out.modes.push_back({name, {std::nullopt, "a limit ended it", true}});
    out.modes.push_back({name, tuning::run_mode(out.problem, consistent, mode, with, budget)});
  };
  if (wanted("fp_first")) run("fp_first", tuning::Mode::kForwardFirst, {});
  if (wanted("bp_first")) run("bp_first", tuning::Mode::kBackwardFirst, {});
  if (wanted("combined")) run("combined", tuning::Mode::kCombined, {});
  if (!split.empty()) run(split_name, tuning::Mode::kCombined, split);
}

}  // namespace

const std::string& TunedSelection::layout(const tuning::Selection& of, const std::string& variable) const {
  const auto c = static_cast<std::size_t>(problem.class_named(variable));
  return problem.layouts[c][static_cast<std::size_t>(of.classes[c])];
}

double without_layouts_ms(const TunedSelection& answer) {
  return tuning::ms(answer.without_layouts);
}

TunedSelection tune_select(const TuneSelectRequest& request) {
  TunedSelection out;
  base::Limits limits = request.limits;
  if (request.interruptible) limits.stop = request.interruptible();
  if (request.modelled) {
    out.modelled = modelled_layer(*request.modelled);
    out.graph = out.modelled->graph;
    out.measurements = out.modelled->times;
    out.warnings = out.modelled->warnings;
  } else {
    // Layouts do not depend on sizes; those of the measurements are told by the files.
    out.graph =
        std::make_shared<const tuning::Graph>(tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096)));
    auto measurements = formats::substation::read_folder(
        request.folder, *out.graph, {.threads = limits.threads, .stop = limits.stop}, out.warnings);
    out.read = measurements.has_value();
    if (!out.read) return out;
    out.measurements = std::make_shared<const tuning::Measurements>(std::move(*measurements));
  }
  out.inputs = out.measurements->inputs;
  out.problem = tuning::make_problem(*out.graph, *out.measurements);
  if (!out.problem.factors.sums_fit())
    base::fail(
        "O1717",
        fmt::format("the operators' slowest rows add up to more than {:.5g} s, 2^60 femtoseconds",
                    tuning::ms(tuning::kMostCost) / 1e3),
        {}, out.modelled ? "fewer or shorter sequences take less" : "leave the slowest rows out: no choice takes them");
  for (const std::string& asked : request.why) pinned(out.problem, asked);  // before anything takes long
  const double relayout_rate = request.relayout ? relayout_bandwidth(request, out) : 0;
  const base::Budget budget(limits);
  const base::Stopwatch clock;
  out.without_layouts = tuning::without_layouts(out.problem);
  out.minimum = tuning::minimize(out.problem.factors, budget);
  out.solved_s = clock.seconds();
  if (out.minimum.found) out.selection = tuning::evaluate(out.problem, out.minimum.values);
  if (out.minimum.infeasible) out.conflict = tuning::smallest_conflict(out.problem.factors, budget);
  base::Certificate& proof = out.certificate;
  proof.optimal = out.minimum.proven();
  proof.space = out.minimum.choices;
  proof.evaluated = out.minimum.nodes;
  proof.seconds = out.solved_s;
  if (out.minimum.found)
    proof.close(tuning::ms(out.minimum.cost), tuning::ms(out.minimum.bound));
  else if (out.minimum.infeasible)
    proof.close_empty();
  else
    proof.lower_bound = tuning::ms(out.minimum.bound);
  if (request.relayout) out.conversions = with_conversions(out, relayout_rate, budget);
  run_modes(request, out, budget);
  for (const std::string& asked : request.why) out.why.push_back(why(out.problem, asked, budget));
  if (!request.evaluate.empty()) out.evaluated = evaluate_file(out.problem, request.evaluate, budget);
  if (out.selection && proof.optimal && !out.modelled) {
    base::Diagnostics lost;  // a choice that a file cannot say is no plan
    const std::string file = layout_file(out, *out.selection, lost);
    if (lost.all().empty()) out.plan = keep_plan(request.folder, tuning::ms(out.selection->time), file, out.warnings);
  }
  return out;
}

std::vector<base::Diagnostic> explain_no_selection(const TunedSelection& answer) {
  base::Diagnostics out;
  if (!answer.read) {
    out.error("O1725", "an interrupt ended the reading of the measurements: nothing was chosen");
  } else if (answer.minimum.infeasible) {
    const auto& factors = answer.problem.factors.factors;
    std::vector<std::string> names;
    for (const int f : answer.conflict.factors) names.push_back(factors[static_cast<std::size_t>(f)].name);
    auto& told = out.error("O1716", "no choice of layouts was measured for every operator");
    if (names.empty()) {
      told.note("a limit ended the search for the operators that cannot agree")
          .hint("allow more with `--time-limit` or `--memory`");
      return out.all();
    }
    told.note(names.size() == 1 ? fmt::format("{} alone allows nothing", names[0])
                                : fmt::format("these operators cannot agree: {}", base::joined(names, ", ")));
    // What each of them would take of the tensors that they share.
    for (const int f : answer.conflict.factors) {
      const tuning::Factor& factor = factors[static_cast<std::size_t>(f)];
      for (std::size_t i = 0; i < factor.variables.size(); ++i) {
        const int v = factor.variables[i];
        const bool shared = std::any_of(answer.conflict.factors.begin(), answer.conflict.factors.end(), [&](int g) {
          const auto& other = factors[static_cast<std::size_t>(g)].variables;
          return g != f && std::find(other.begin(), other.end(), v) != other.end();
        });
        if (!shared || answer.problem.layouts[static_cast<std::size_t>(v)].size() < 2) continue;
        std::vector<std::string> taken;
        for (std::size_t r = 0; r < factor.rows(); ++r) {
          const std::string& layout = answer.problem.layouts[static_cast<std::size_t>(v)][factor.row(r)[i]];
          if (std::find(taken.begin(), taken.end(), layout) == taken.end()) taken.push_back(layout);
        }
        told.note(fmt::format("{} takes {} in {}", factor.name, answer.problem.name(v), base::joined(taken, ", ")));
      }
    }
    told.note(answer.conflict.smallest ? "no smaller set of operators disagrees"
                                       : "each of them is needed for that; a smaller set may exist");
    told.hint("measure more layouts of one of them");
  } else if (answer.evaluated && !answer.evaluated->selection && answer.evaluated->proven) {
    out.error("O1721", fmt::format("the layouts of `{}` were not all measured", answer.evaluated->asked))
        .note(fmt::format("no row for: {}", base::joined(answer.evaluated->missing, ", ")))
        .hint("measure them, or evaluate a choice of what was measured");
  } else {
    out.error("O1725", "the limits ended the search before a choice was found")
        .hint("allow more with `--time-limit` or `--memory`");
  }
  return out.all();
}

std::string layout_file(const TunedSelection& answer, const tuning::Selection& selection, base::Diagnostics& warnings) {
  const auto pair = [&](const std::string& name) {
    return formats::substation::LayoutPair{name, base::upper(answer.layout(selection, name)), {}};
  };
  const auto file = formats::substation::make_layout_file(*answer.graph, selection, pair);
  std::vector<std::string> lost;
  for (const auto& one : formats::substation::layouts_of(file))
    if (const std::string& chosen = answer.layout(selection, one.name); chosen != one.layout)
      lost.push_back(fmt::format("{} {} (the file says {})", one.name, chosen, one.layout));
  if (!lost.empty())
    warnings.warning("O1753", fmt::format("a layout file cannot say {}", base::joined(lost, ", ")))
        .note("it has one layout for BK, BV and BQ, and one for KK, VV and QQ")
        .hint("`--json` has every tensor's layout");
  return formats::substation::layout_text(file);
}

}  // namespace orrery::verbs
