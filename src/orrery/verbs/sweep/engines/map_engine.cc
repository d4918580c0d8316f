#include "orrery/verbs/sweep/engines/map_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/engines/least_product.h"
#include "orrery/verbs/sweep/engines/question_key.h"
#include "orrery/verbs/sweep/points/arguments.h"

namespace orrery::sweep {
namespace {

using store::Figure;
using store::Figures;
using store::Outcome;
using store::Status;

constexpr std::size_t kMostLeast = 2'000'000;
constexpr int kShares = 8;  // of the memory, whatever the number of threads: answers do not depend on it

// The silicon: the largest of the chips that stand for it (a chip and its variant for normalisations are the same one).
double area_of(const PointQuestions& point) {
  double most = store::kAbsent;
  const machine::Chip* last = nullptr;
  for (const auto& chip : point.chips) {
    if (chip.get() == last) continue;
    last = chip.get();
    const double area = verbs::area_um2(*chip).value_or(store::kAbsent);
    if (std::isnan(most) || area > most) most = area;
  }
  return most;
}

// Sums over layers, `blocks` times; `of` gives a layer's figures.
template <typename Of>
Figures sum(const PointQuestions& point, const Of& of) {
  Figures out;
  const double blocks = static_cast<double>(std::max<base::Count>(1, point.asked->blocks));
  double energy = 0, cycles = 0, edp = 0, seconds = 0, busy = 0;
  const std::vector<verbs::LayerQuestion>& questions = point.asked->questions;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const Figures& layer = of(q);
    const double times = blocks * static_cast<double>(questions[q].instances);
    energy += times * layer[Figure::kEnergy];
    cycles += times * layer[Figure::kCycles];
    edp += times * layer[Figure::kEdp];
    seconds += times * layer[Figure::kSeconds];
    busy += times * layer[Figure::kCycles] * layer[Figure::kUtilization];
  }
  out[Figure::kEnergy] = energy;
  out[Figure::kCycles] = cycles;
  out[Figure::kEdp] = energy * cycles / 1e12;
  out[Figure::kEdpSeed] = edp;
  out[Figure::kUtilization] = cycles > 0 ? busy / cycles : store::kAbsent;
  out[Figure::kSeconds] = seconds;
  out[Figure::kPower] = seconds > 0 ? energy * 1e-12 / seconds : store::kAbsent;
  out[Figure::kArea] = area_of(point);
  return out;
}

// Of a chip all that cycles depend on.
machine::Chip without_energies(machine::Chip chip) {
  for (machine::Storage& storage : chip.storages) storage.energy = {}, storage.area_um2.reset();
  for (machine::Network& network : chip.networks) {
    for (auto& [action, energies] : network.energy_pj)
      for (auto& [destinations, energy] : energies) energy = 0;
    network.area_um2.reset();
  }
  chip.compute.compute_pj = chip.compute.leak_pj_per_cycle = 0;
  chip.compute.area_um2.reset();
  return chip;
}

// The EDP of all layers, from the least energy, cycles and EDP of each.
double least_edp(const PointQuestions& point, const std::vector<Figures>& layers) {
  std::vector<BoundedPair> pairs;
  const double blocks = static_cast<double>(std::max<base::Count>(1, point.asked->blocks));
  for (std::size_t q = 0; q < layers.size(); ++q)
    pairs.push_back({blocks * static_cast<double>(point.asked->questions[q].instances),
                     layers[q][Figure::kEnergy] / 1e12, layers[q][Figure::kCycles], layers[q][Figure::kEdp]});
  return least_product(pairs);
}

std::string refusal(const base::InputError& error) {
  for (const base::Diagnostic& one : error.diagnostics)
    if (one.severity == base::Severity::kError) return fmt::format("{}: {}", one.code, one.message);
  return error.what();
}

// Options of the search are the same at every point: equal questions have one answer, whichever point asks.
constexpr std::array<const char*, 11> kSearchOptions{"attention-array", "certify",    "compat", "factors",
                                                     "memory",          "objective",  "pad",    "pareto",
                                                     "threads",         "time-limit", "why"};

void refuse_more(const verbs::MapRequest& request, const std::vector<std::string>& paths) {
  base::Diagnostics found;
  for (const std::string& path : paths)
    if (std::find(kSearchOptions.begin(), kSearchOptions.end(), path) != kSearchOptions.end())
      found.error("O2059", fmt::format("`{}` belongs to the search, which is the same at every point", path))
          .hint(fmt::format("run a study for each value: `orrery sweep map ... --{} VALUE`", path));
  const auto refuse = [&](bool asked, const char* option) {
    if (asked)
      found
          .error("O2059",
                 fmt::format("a sweep asks for the best mapping of each layer, `{}` for something else", option))
          .hint("leave it out, and ask it of the points that matter: `-o DIR` writes their commands");
  };
  refuse(request.search.front, "--pareto");
  refuse(!request.search.why.empty(), "--why");
  refuse(request.search.certify, "--certify");
  refuse(!request.search.pads.empty(), "--pad");
  refuse(!request.attention_array.empty(), "--attention-array");
  found.throw_if_errors();
}

verbs::LayerQuestion question_at(const PointQuestions& point, std::size_t q) {
  verbs::LayerQuestion out = point.asked->questions[q];
  out.chip = point.chips[q];
  return out;
}

}  // namespace

MapEngine::MapEngine(std::vector<std::string> arguments, const ReadRequest& read, const EngineOptions& options)
    : arguments_(arguments),
      readings_(std::move(arguments), read, options.paths, options.pins, options.values),
      options_(options) {
  const verbs::MapRequest& request = readings_.base_request();
  refuse_more(request, options_.paths);
  search_.model = request.compat.defects;
  search_.objective = request.search.objective;
  search_.factors = request.search.factors;
  search_.limits = request.search.limits;
  search_.limits.threads = 1;
  search_.limits.searches = kShares;
  search_.limits.stop = options.stop;
  for (const nest::Metric metric : search_.objective) how_ += fmt::format("{} ", static_cast<int>(metric));
  for (const std::string& name : request.compat.names) how_ += name + " ";
  if (search_.factors != nest::Factors::kPerfect) how_ += fmt::format("factors {} ", static_cast<int>(search_.factors));
  how_ += fmt::format("{} {}", search_.limits.seconds, search_.limits.memory);
}

void MapEngine::probe(const base::Overrides& point) {
  const PointQuestions read = readings_.read_whole(point);
  add_inputs(read.asked->inputs, inputs_);
  for (const verbs::LayerQuestion& question : read.asked->questions)
    if (question.sparse && search_.factors != nest::Factors::kPerfect)
      base::fail("O2039", fmt::format("--factors is not answered for sparse tensors, which `{}` has", question.name),
                 {}, "leave it out, or take the dense problem with `--ignore-density`");
  refuse_idle_normalisations(read);
  if (!warnings_.all().empty()) return;
  warnings_ = read.asked->warnings;
  for (const auto& [chip, why] : readings_.unestimated())
    warnings_
        .warning("O2062", fmt::format("{} varies, but energies and areas stay as its tables say",
                                      chip.empty() ? "the chip" : fmt::format("`{}`", chip)))
        .note("they cannot be estimated: " + why)
        .hint("give what the estimate lacks, such as `--tables DIR`; cycles follow what varies in any case");
  const std::vector<std::string> leaving = readings_.leaving_tables();
  if (leaving.empty()) return;
  base::Diagnostic& note = warnings_.warning(
      "O2065", leaving.front().empty()
                   ? std::string("the chip's ERT and ART are left aside: what varies changes the chip")
                   : fmt::format("ERT and ART of `{}` are left aside: what varies changes the chip{}",
                                 base::joined(leaving, "`, `"), base::plural(leaving.size())));
  note.severity = base::Severity::kNote;
  note.note("energies and areas are estimated at every point, as `orrery energy` does it")
      .hint("`orrery energy` shows how far the estimates are from the tables");
}

// O2059, where no point has a chip for normalisations.
void MapEngine::refuse_idle_normalisations(const PointQuestions& read) const {
  const std::vector<bool>& have = read.asked->normalisation;
  const auto chooses_layers = [](const std::string& path) {
    return path == "chip" || path == "model" || path == "layer" || path.starts_with(kConfig);
  };
  if (std::find(have.begin(), have.end(), true) != have.end() ||
      std::any_of(options_.paths.begin(), options_.paths.end(), chooses_layers))
    return;
  for (const std::string& path : options_.paths)
    if (path.starts_with("norm."))
      base::fail("O2059", fmt::format("no point depends on `{}`", path), {},
                 "take a model and a chip that has another one for normalisations, or leave it out");
}

std::string MapEngine::command(const base::Overrides& point) const {
  for (const base::Override& set : point)
    if (set.path.starts_with(kConfig) || set.path.starts_with("norm.")) return "";
  if (readings_.leaves_tables(point)) return "";
  return command_line("map", arguments_, point);
}

bool MapEngine::wants(std::initializer_list<Figure> figures) const {
  return std::any_of(options_.wanted.begin(), options_.wanted.end(),
                     [&](Figure figure) { return std::find(figures.begin(), figures.end(), figure) != figures.end(); });
}

// A layer's least figures on the best chip of a box. Of cycles, energies decide nothing: many chips share them.
Figures MapEngine::least(const verbs::LayerQuestion& question, const std::string& key,
                         std::map<std::string, double>& fresh) {
  const auto search = [&](nest::Metric metric, const std::string& name) {
    const auto known = least_.find(name);
    if (known != least_.end()) return known->second;
    const auto [made, is_new] = fresh.try_emplace(name);
    if (is_new) made->second = layer_least(question, search_, metric);
    return made->second;
  };
  Figures out = layer_floor(question, search_);
  if (question.sparse) return out;
  // A search over factors that leave a rest takes seconds, more than the points that its bound might save.
  if (search_.factors == nest::Factors::kImperfect) return out;
  const auto raise = [&](Figure figure, double value) {
    if (!(out[figure] >= value)) out[figure] = value;
  };
  if (wants({Figure::kEnergy, Figure::kEdp})) raise(Figure::kEnergy, search(nest::Metric::kEnergy, "energy " + key));
  if (wants({Figure::kCycles, Figure::kSeconds, Figure::kEdp})) {
    const std::string name = joined(key_of(without_energies(*question.chip)), key_of(question, ""));
    raise(Figure::kCycles, search(nest::Metric::kDelay, "cycles " + name));
    out[Figure::kSeconds] = out[Figure::kCycles] * question.chip->cycle_seconds;
  }
  if (wants({Figure::kEdp, Figure::kEdpSeed})) {
    raise(Figure::kEdp, search(nest::Metric::kEdp, "edp " + key));
    out[Figure::kEdpSeed] = out[Figure::kEdp];
  }
  return out;
}

std::vector<Figures> MapEngine::bounds(const std::vector<Choices>& boxes) {
  std::vector<Figures> out(boxes.size());
  std::vector<std::map<std::string, double>> fresh(boxes.size());
  base::parallel_for(boxes.size(), options_.threads, [&](std::size_t i) {
    try {
      const std::optional<PointQuestions> best = readings_.best_of(boxes[i]);
      if (!best) return;
      // One point is bounded without a search; it has its own to come.
      const bool one = std::all_of(boxes[i].begin(), boxes[i].end(), [](const auto& of) { return of.size() == 1; });
      std::vector<Figures> layers(best->keys.size());
      for (std::size_t q = 0; q < layers.size(); ++q) {
        const verbs::LayerQuestion question = question_at(*best, q);
        layers[q] = one ? layer_floor(question, search_) : least(question, best->keys[q], fresh[i]);
        layers[q][Figure::kUtilization] = 1;
      }
      out[i] = sum(*best, [&](std::size_t q) -> const Figures& { return layers[q]; });
      const double edp = least_edp(*best, layers);
      if (edp > out[i][Figure::kEdp]) out[i][Figure::kEdp] = edp;
      out[i][Figure::kUtilization] = 1;  // of figures of which more is better: what none is above
      out[i][Figure::kPower] = store::kAbsent;
    } catch (const base::InputError&) {  // the answer will say so
    }
  });
  if (least_.size() > kMostLeast) least_.clear();
  for (auto& each : fresh) least_.merge(each);
  return out;
}

double MapEngine::effort(const base::Overrides& point) {
  const PointQuestions asked = readings_.questions(point);
  std::set<std::string> met;
  double out = 0;
  for (std::size_t q = 0; q < asked.keys.size(); ++q)
    if (met.insert(asked.keys[q]).second) out += search_effort(question_at(asked, q));
  return out;
}

void MapEngine::verify(const std::vector<base::Overrides>& points) {
  readings_.verify(points);
}

Batch MapEngine::evaluate(const std::vector<base::Overrides>& points, const Known& known) {
  Batch batch;
  batch.points.resize(points.size());
  std::vector<PointQuestions> asked(points.size());
  base::parallel_for(points.size(), options_.threads, [&](std::size_t i) {
    try {
      asked[i] = readings_.questions(points[i]);
    } catch (const base::InputError& error) {
      batch.points[i].outcome.status = Status::kError;
      batch.points[i].outcome.reason = refusal(error);
    }
  });

  // Each question once: where it was first asked.
  struct Asked {
    std::size_t point, question, place;
  };
  std::unordered_map<std::string, std::size_t> place_of;
  std::vector<store::Result> results;
  std::vector<Asked> work;
  std::vector<bool> is_new;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t q = 0; q < asked[i].keys.size(); ++q) {
      const std::string key = joined(asked[i].keys[q], how_);
      asked[i].keys[q] = key;
      if (!place_of.try_emplace(key, results.size()).second) continue;
      std::optional<store::Result> before = known(key);
      is_new.push_back(!before);
      if (!before) {
        work.push_back({i, q, results.size()});
        before = store::Result{key, asked[i].asked->questions[q].name, {}, {}};
      }
      results.push_back(*std::move(before));
    }
  base::parallel_for(work.size(), options_.threads, [&](std::size_t w) {
    const Asked& one = work[w];
    results[one.place].outcome = answer_layer(question_at(asked[one.point], one.question), search_);
  });
  const bool stopped = options_.stop && options_.stop->load();

  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!asked[i].asked) continue;
    Answered& answer = batch.points[i];
    const std::vector<verbs::LayerQuestion>& questions = asked[i].asked->questions;
    Outcome& out = answer.outcome;
    out.status = Status::kOptimal;
    out.gap = 0;
    for (std::size_t q = 0; q < questions.size(); ++q) {
      const Outcome& layer = results[place_of[asked[i].keys[q]]].outcome;
      answer.parts.push_back({questions[q].name, questions[q].instances, asked[i].keys[q]});
      const auto worse = [](Status status) {
        return status == Status::kError        ? 4
               : status == Status::kInfeasible ? 3
               : status == Status::kTimeout    ? 2
               : status == Status::kGap        ? 1
                                               : 0;
      };
      if (worse(layer.status) > worse(out.status)) {
        out.status = layer.status;
        out.reason = layer.reason.empty() ? "" : fmt::format("{}: {}", questions[q].name, layer.reason);
      }
      if (!std::isnan(layer.gap)) out.gap = std::max(out.gap, layer.gap);
    }
    if (out.status == Status::kOptimal || out.status == Status::kGap)
      out.figures = sum(asked[i], [&](std::size_t q) -> const Figures& {
        return results[place_of[asked[i].keys[q]]].outcome.figures;
      });
    else
      out.gap = store::kAbsent;
  }
  // What an interrupt cut short is no answer.
  for (std::size_t r = 0; r < results.size(); ++r)
    if (is_new[r] && !(stopped && results[r].outcome.status != Status::kOptimal))
      batch.fresh.push_back(std::move(results[r]));
  return batch;
}

}  // namespace orrery::sweep
