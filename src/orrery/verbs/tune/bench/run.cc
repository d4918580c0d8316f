// Contractions are few enough to be all measured. Of the 2.8 million configurations of fused kernels those are measured
// that the whole layer's choice asks for:
//
//   1. of every kernel some configurations of unlike kinds are measured, and its cost model is fitted (access_model.h);
//   2. the exact choice of layouts for the whole layer is made (runtime/tuning/selection/layout_selection.h), where
//   what was not measured costs
//      the least that its model thinks possible;
//   3. what that choice takes and was not measured is measured, models are fitted again, and 2. follows,
//
// until the choice's measured time is within kWorth of what 2. found and no measurement came out below what 2. had
// assumed of it. What 2. found is then below every choice of what was measured, and below every other as far as the
// models' stated errors hold. Configurations that cannot be in a choice better than the best so far (their least
// cost plus every other operator's least is more) are left out of 2., which loses nothing.
//
// The same loop with one kernel alone looks for its fastest configuration.
#include "orrery/verbs/tune/bench/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/substation/columns.h"
#include "orrery/runtime/kernels/machine_peaks.h"
#include "orrery/runtime/kernels/probe.h"
#include "orrery/runtime/tuning/access_model.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/runtime/tuning/selection/possible_layouts.h"
#include "orrery/verbs/tune/bench/bench_sizes.h"
#include "orrery/verbs/tune/bench/pinned.h"
#include "orrery/verbs/tune/bench/workbench.h"
#include "orrery/verbs/tune/run/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
using tuning::Graph;
using tuning::KernelConfiguration;
using tuning::KernelSpace;
using tuning::Operator;

constexpr std::size_t kSeeds = 12, kRounds = 200, kSamples = 3;
constexpr std::size_t kFirstRows = 4000;  // of a kernel's table, as long as no choice is known
constexpr double kFemto = 1e15;

Count femtoseconds(double seconds) {
  return std::max<Count>(1, base::whole_number(std::round(seconds * kFemto)).value_or(1));
}

// A kernel's configurations that may be chosen, by kind.
struct Candidates {
  const KernelSpace* space = nullptr;
  std::vector<std::vector<std::string>> layouts;  // of each column
  struct Point {
    std::vector<std::uint16_t> layouts, specials;
    std::uint32_t kind = 0;
    double seconds = 0;  // 0: not measured
  };
  std::vector<Point> points;
  std::vector<std::string> kinds;

  KernelConfiguration configuration(const Point& point) const {
    KernelConfiguration out;
    for (std::size_t i = 0; i < point.specials.size(); ++i)
      out.specials.push_back(space->specials[i].letters[point.specials[i]]);
    for (std::size_t i = 0; i < point.layouts.size(); ++i) out.layouts.push_back(layouts[i][point.layouts[i]]);
    return out;
  }
};

class Bench {
 public:
  Bench(const TuneBenchRequest& request, TunedBench& out, kernels::Context& context, const base::Budget& budget,
        TuneStore& store)
      : request_(request),
        out_(out),
        budget_(budget),
        graph_(tuning::encoder_graph(out.sizes)),
        bench_(context, out.sizes, request.type, store) {
    const kernels::MachinePeaks peaks = kernels::machine_peaks(context, std::size_t{32} << 20);
    bytes_per_second_ = peaks.memory;
  }

  void contraction(const std::string& name, const std::string& einsum) {
    const tuning::ContractionSpace space = tuning::contraction_space(einsum, out_.sizes);
    Benched row{.name = name, .contraction = true, .configurations = static_cast<Count>(space.layouts.size())};
    const std::size_t before = bench_.runs();
    std::map<tuning::BlasCall, MeasuredCall> known;
    for (const tuning::BlasCall& call : space.calls) {
      if (budget_.spent()) break;
      say(fmt::format("{}: {} of {} calls", name, known.size(), space.calls.size()));
      known[call] = bench_.contraction(name, call);
    }
    row.runs = bench_.runs() - before;
    for (const tuning::ContractionLayout& one : space.layouts) {
      const auto at = known.find(one.call);
      if (at == known.end()) continue;
      ++row.measured;
      const auto& [seconds, implementation] = at->second;
      note(row, seconds,
           fmt::format("{},{}->{}{}", one.a, one.b, one.c,
                       implementation == kImplementation ? "" : " by " + implementation));
      contractions_[name].push_back({one.a, one.b, one.c, implementation, seconds});
    }
    bench_.write_contraction(name, space);
    out_.benchmarks.push_back(row);
    complete_ = complete_ && row.measured == space.layouts.size();
  }

  // One kernel's fastest configuration, over its whole space.
  void kernel_alone(const KernelSpace& space) {
    gather(space, [](const tuning::KernelColumn& column) { return tuning::layouts_of(column.dims); });
    seeds(space.kernel);
    Candidates& all = candidates_.find(space.kernel)->second;
    tuning::AccessModel& model = models_.find(space.kernel)->second;
    while (!budget_.spent()) {
      const double best = fastest(all);
      std::size_t least = all.points.size();
      double lower = best * (1 - kWorth);
      for (std::size_t i = 0; i < all.points.size(); ++i) {
        if (all.points[i].seconds > 0) continue;
        const double l = model.lower(all.kinds[all.points[i].kind]);
        if (l < lower && taken_[space.kernel][all.points[i].kind] < kSamples) lower = l, least = i;
      }
      if (least == all.points.size()) break;
      measure(space.kernel, all.points[least]);
    }
    complete_ = !budget_.spent();
    finish(space.kernel);
  }

  void layer() {
    for (const Operator& op : graph_.operators)
      if (op.kind == tuning::Kind::kContraction) contraction(op.name, op.einsum);
    const auto possible = tuning::possible_layouts(graph_);
    for (const KernelSpace& space : tuning::kernel_spaces()) {
      if (budget_.spent()) break;
      say(fmt::format("{}: which configurations there are", space.kernel));
      gather(space, [&](const tuning::KernelColumn& column) { return layouts_of(space, column, possible); });
      seeds(space.kernel);
    }
    if (candidates_.size() == tuning::kernel_spaces().size() && complete_) choose();
    if (complete_ && !budget_.spent()) {
      say("the built-in layer");
      out_.built_in_ms = bench_.built_in() * 1e3;
    }
    complete_ = complete_ && out_.complete;
    for (const KernelSpace& space : tuning::kernel_spaces())
      if (candidates_.count(space.kernel) != 0) finish(space.kernel);
  }

  void end() {
    out_.interval = bench_.interval();
    out_.frequency_spread = bench_.frequency_spread();
    out_.complete = complete_;
    out_.ended_early = budget_.spent();
  }

 private:
  void say(const std::string& text) const {
    if (request_.progress) request_.progress(text);
  }

  static void note(Benched& row, double seconds, const std::string& what) {
    if (row.best_ms == 0 || seconds * 1e3 < row.best_ms) row.best_ms = seconds * 1e3, row.best = what;
    row.worst_ms = std::max(row.worst_ms, seconds * 1e3);
  }

  // Layouts that the column's variables may have, in the operators that the kernel serves.
  std::vector<std::string> layouts_of(const KernelSpace& space, const tuning::KernelColumn& column,
                                      const std::map<std::string, std::set<std::string>>& possible) const {
    std::string name = column.name;
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    std::set<std::string> out;
    for (const Operator& op : graph_.operators) {
      if (op.kind != tuning::Kind::kKernel || op.benchmark() != space.kernel) continue;
      for (const auto* uses : {&op.inputs, &op.outputs})
        for (const tuning::Use& use : *uses) {
          if (use.column != name) continue;
          const std::string& dims = graph_.variable(use.variable)->dims;
          for (std::string layout : possible.find(use.variable)->second) {
            for (char& c : layout) c = use.dims[dims.find(c)];
            out.insert(layout);
          }
        }
    }
    return {out.begin(), out.end()};
  }

  template <class Layouts>
  void gather(const KernelSpace& space, Layouts layouts) {
    Candidates all{.space = &space};
    for (const tuning::KernelColumn& column : space.columns) all.layouts.push_back(layouts(column));
    // Columns that share a layout have those that all of them may have.
    for (std::size_t i = 0; i < space.columns.size(); ++i) {
      if (space.columns[i].same_as < 0) continue;
      auto& first = all.layouts[static_cast<std::size_t>(space.columns[i].same_as)];
      std::erase_if(first, [&](const std::string& one) {
        return std::find(all.layouts[i].begin(), all.layouts[i].end(), one) == all.layouts[i].end();
      });
    }
    for (std::size_t i = 0; i < space.columns.size(); ++i)
      if (space.columns[i].same_as >= 0)
        all.layouts[i] = all.layouts[static_cast<std::size_t>(space.columns[i].same_as)];
    std::map<std::string, std::uint32_t> numbers;
    Candidates::Point point;
    point.layouts.resize(space.columns.size());
    point.specials.resize(space.specials.size());
    const tuning::FusedKernel& kernel = *tuning::fused_kernel(space.kernel);
    base::Ticker ticker(budget_);
    fill(all, point, 0, [&] {
      if (ticker.spent()) return;
      const std::string kind = tuning::kind_of(kernel, choice_of(space, all.configuration(point)), bench_.fused_run());
      const auto [at, added] = numbers.try_emplace(kind, static_cast<std::uint32_t>(all.kinds.size()));
      if (added) all.kinds.push_back(kind);
      point.kind = at->second;
      all.points.push_back(point);
    });
    taken_[space.kernel].assign(all.kinds.size(), 0);
    models_.emplace(space.kernel, tuning::AccessModel(kernel, bench_.fused_run(), bytes_per_second_));
    rows_[space.kernel] = {.name = space.kernel, .configurations = tuning::configurations(space)};
    candidates_.emplace(space.kernel, std::move(all));
  }

  template <class Visit>
  void fill(const Candidates& all, Candidates::Point& point, std::size_t place, const Visit& visit) {
    const std::size_t columns = point.layouts.size();
    if (place == columns + point.specials.size()) return visit();
    if (place >= columns) {
      const std::size_t special = place - columns;
      for (std::size_t i = 0; i < all.space->specials[special].letters.size(); ++i) {
        point.specials[special] = static_cast<std::uint16_t>(i);
        fill(all, point, place + 1, visit);
      }
    } else if (const int same = all.space->columns[place].same_as; same >= 0) {
      point.layouts[place] = point.layouts[static_cast<std::size_t>(same)];
      fill(all, point, place + 1, visit);
    } else {
      for (std::size_t i = 0; i < all.layouts[place].size(); ++i) {
        point.layouts[place] = static_cast<std::uint16_t>(i);
        fill(all, point, place + 1, visit);
      }
    }
  }

  double fastest(const Candidates& all) const {
    double best = std::numeric_limits<double>::infinity();
    for (const Candidates::Point& point : all.points)
      if (point.seconds > 0) best = std::min(best, point.seconds);
    return best;
  }

  void measure(const std::string& kernel, Candidates::Point& point) {
    Candidates& all = candidates_.find(kernel)->second;
    const KernelConfiguration configuration = all.configuration(point);
    const std::size_t before = bench_.runs();
    point.seconds = bench_.kernel(*all.space, configuration);
    rows_[kernel].runs += bench_.runs() - before;
    ++taken_[kernel][point.kind];
    models_.find(kernel)->second.learn(all.kinds[point.kind], point.seconds);
    std::string what;
    for (std::size_t i = 0; i < configuration.specials.size(); ++i)
      what += fmt::format("{}={} ", all.space->specials[i].name, configuration.specials[i]);
    for (std::size_t i = 0; i < configuration.layouts.size(); ++i)
      if (configuration.layouts[i].size() > 1)
        what += fmt::format("{}={} ", all.space->columns[i].name, configuration.layouts[i]);
    what.pop_back();
    note(rows_[kernel], point.seconds, what);
    say(fmt::format("{}: {} kinds measured, best {:.3g} ms", kernel, rows_[kernel].runs, rows_[kernel].best_ms));
  }

  // Some of the kinds that the model thinks fastest, then some drawn from those that are not hopeless.
  void seeds(const std::string& kernel) {
    Candidates& all = candidates_.find(kernel)->second;
    tuning::AccessModel& model = models_.find(kernel)->second;
    std::vector<std::size_t> first(all.kinds.size(), all.points.size());
    for (std::size_t i = all.points.size(); i-- > 0;) first[all.points[i].kind] = i;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t k = 0; k < all.kinds.size(); ++k) order.emplace_back(model.predict(all.kinds[k]), k);
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < std::min(kSeeds / 2, order.size()); ++i) chosen.push_back(order[i].second);
    std::size_t hopeful = 0;
    while (hopeful < order.size() && order[hopeful].first < 3 * order[0].first) ++hopeful;
    std::mt19937 random(1);
    for (std::size_t i = 0; i < kSeeds / 2 && hopeful > 0; ++i) chosen.push_back(order[random() % hopeful].second);
    for (const std::size_t kind : chosen)
      if (!budget_.spent() && all.points[first[kind]].seconds == 0) measure(kernel, all.points[first[kind]]);
  }

  void finish(const std::string& kernel) {
    Candidates& all = candidates_.find(kernel)->second;
    Benched row = rows_[kernel];
    for (const Candidates::Point& point : all.points) row.measured += point.seconds > 0 ? 1 : 0;
    row.model_error = models_.find(kernel)->second.error();
    bench_.write_kernel(*all.space);
    out_.benchmarks.push_back(row);
  }

  double least_of(const std::string& kernel, const Candidates::Point& point) const {
    return point.seconds > 0 ? point.seconds
                             : models_.find(kernel)->second.lower(candidates_.find(kernel)->second.kinds[point.kind]);
  }

  // Rows for the choice, and for each which point it is (contractions: none).
  struct Tables {
    tuning::Measurements measurements;
    std::map<std::string, std::vector<std::size_t>> points;
  };

  Tables tables(double slack) {
    Tables out;
    out.measurements.sizes = out_.sizes;
    for (const auto& expected : formats::substation::expected_files(graph_)) {
      tuning::Measured table = formats::substation::empty_table(expected);
      if (expected.contraction) {
        for (const Contraction& one : contractions_[expected.benchmark]) {
          if (expected.stacked && !stack_outermost(one)) continue;
          const std::string* layouts[] = {&one.a, &one.b, &one.c};
          for (std::size_t i = 0; i < 3; ++i) table.layouts.push_back(table.columns[i].number(*layouts[i]));
          table.chosen.push_back(table.specials[0].number(one.implementation));
          table.times.push_back(femtoseconds(one.seconds));
        }
      } else {
        add_kernel(expected.benchmark, slack, table, out.points[expected.benchmark]);
      }
      out.measurements.tables.emplace(expected.benchmark, std::move(table));
    }
    return out;
  }

  void add_kernel(const std::string& kernel, double slack, tuning::Measured& table, std::vector<std::size_t>& points) {
    const Candidates& all = candidates_.find(kernel)->second;
    std::vector<double> by_kind;
    for (const std::string& kind : all.kinds) by_kind.push_back(models_.find(kernel)->second.lower(kind));
    std::vector<std::pair<double, std::size_t>> order;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.points.size(); ++i) {
      const Candidates::Point& point = all.points[i];
      order.emplace_back(point.seconds > 0 ? point.seconds : by_kind[point.kind], i);
      least = std::min(least, order.back().first);
    }
    if (std::isfinite(slack)) {
      std::erase_if(order, [&](const auto& one) { return one.first > least + slack; });
    } else if (order.size() > rows_at_most_) {
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rows_at_most_), order.end());
      order.resize(rows_at_most_);
    }
    // Of configurations that differ in specials only, the cheapest counts.
    std::map<std::vector<std::uint16_t>, std::pair<double, std::size_t>> by_layouts;
    for (const auto& one : order) {
      const auto [at, added] = by_layouts.try_emplace(all.points[one.second].layouts, one);
      if (!added && one < at->second) at->second = one;
    }
    std::vector<std::size_t> place;  // of each of the table's columns in the space
    for (const tuning::Named& column : table.columns)
      for (std::size_t i = 0; i < all.space->columns.size(); ++i) {
        std::string name = all.space->columns[i].name;
        for (char& c : name)
          if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (name == column.name) place.push_back(i);
      }
    ORRERY_CHECK(place.size() == table.columns.size(), "a kernel's space has the columns of its operators");
    for (const auto& [layouts, one] : by_layouts) {
      const Candidates::Point& point = all.points[one.second];
      for (std::size_t c = 0; c < place.size(); ++c)
        table.layouts.push_back(table.columns[c].number(all.layouts[place[c]][point.layouts[place[c]]]));
      for (std::size_t s = 0; s < table.specials.size(); ++s)
        for (std::size_t i = 0; i < all.space->specials.size(); ++i)
          if (all.space->specials[i].name == table.specials[s].name)
            table.chosen.push_back(
                table.specials[s].number(std::string(1, all.space->specials[i].letters[point.specials[i]])));
      table.times.push_back(femtoseconds(one.first));
      points.push_back(one.second);
    }
  }

  void choose() {
    double best = std::numeric_limits<double>::infinity(), slack = best;
    for (out_.rounds = 0; out_.rounds < kRounds && !budget_.spent(); ++out_.rounds) {
      const Tables now = tables(slack);
      const tuning::Problem problem = tuning::make_problem(graph_, now.measurements);
      const tuning::Minimum found = tuning::minimize(problem.factors, budget_);
      if (!found.found) {
        if (budget_.spent() || rows_at_most_ > (std::size_t{1} << 22)) return;
        rows_at_most_ *= 4;
        slack = std::numeric_limits<double>::infinity();
        continue;
      }
      const auto [seconds, as_thought] = take(problem, now, found.values);
      best = std::min(best, seconds);
      const double bound = static_cast<double>(found.bound) / kFemto;
      // What was left out could win nothing only while no operator's least cost has sunk since.
      const double needed = slack_above(static_cast<double>(tuning::without_layouts(problem)) / kFemto, best);
      const bool sound = std::isfinite(slack) && needed <= slack;
      slack = needed;
      out_.best_ms = best * 1e3, out_.bound_ms = std::min(best, bound) * 1e3;
      say(fmt::format("round {}: best {:.4g} ms, bound {:.4g} ms", out_.rounds + 1, best * 1e3, bound * 1e3));
      if (sound && as_thought && best - bound <= kWorth * best) {
        out_.complete = true;
        return;
      }
    }
  }

  // Measures what a choice takes; its time by measurements alone, and whether none of them came out below what its
  // table said: else that table's bound holds no longer.
  std::pair<double, bool> take(const tuning::Problem& problem, const Tables& now, const std::vector<int>& values) {
    double seconds = 0;
    bool as_thought = true;
    for (std::size_t f = 0; f < graph_.operators.size(); ++f) {
      const tuning::Factor& factor = problem.factors.factors[f];
      const Operator& op = graph_.operators[f];
      if (problem.measured_row[f].empty()) continue;
      for (std::size_t r = 0; r < factor.rows(); ++r) {
        bool match = true;
        for (std::size_t v = 0; v < factor.variables.size() && match; ++v)
          match = factor.row(r)[v] == values[static_cast<std::size_t>(factor.variables[v])];
        if (!match) continue;
        if (op.kind == tuning::Kind::kContraction) {
          seconds += static_cast<double>(factor.costs[r]) / kFemto;
        } else {
          const std::size_t point = now.points.find(op.benchmark())->second[problem.measured_row[f][r]];
          Candidates::Point& one = candidates_.find(op.benchmark())->second.points[point];
          if (one.seconds == 0) measure(op.benchmark(), one);
          as_thought = as_thought && femtoseconds(one.seconds) >= factor.costs[r];
          seconds += one.seconds;
        }
        break;
      }
    }
    return {seconds, as_thought};
  }

  struct Contraction {
    std::string a, b, c, implementation;
    double seconds = 0;
  };
  static bool stack_outermost(const Contraction& one) {
    for (const std::string* layout : {&one.a, &one.b, &one.c})
      if (layout->find('q') != std::string::npos && (*layout)[0] != 'q') return false;
    return true;
  }

  const TuneBenchRequest& request_;
  TunedBench& out_;
  const base::Budget& budget_;
  Graph graph_;
  Workbench bench_;
  double bytes_per_second_ = 0;
  bool complete_ = true;
  std::size_t rows_at_most_ = kFirstRows;
  std::map<std::string, std::vector<Contraction>> contractions_;
  std::map<std::string, Candidates> candidates_;
  std::map<std::string, std::vector<std::size_t>> taken_;  // measurements of each kind
  std::map<std::string, tuning::AccessModel> models_;
  std::map<std::string, Benched> rows_;
};

void require_memory(const tuning::Sizes& sizes, kernels::Type type) {
  // The largest operators: the norm's eleven tensors, the softmax's four, or the network's product with what it packs.
  const double tokens = static_cast<double>(sizes.words("bj"));
  const double norm = 8 * tokens * static_cast<double>(sizes['i']),
               scores = 4 * static_cast<double>(sizes.words("hbjk"));
  const double network = 5 * tokens * static_cast<double>(sizes['u']) + static_cast<double>(sizes.words("ui"));
  const double needed = 4 * std::max({norm, scores, network}) + 1e9, free = free_memory();
  static_cast<void>(type);
  if (needed <= free) return;
  base::Diagnostics found;
  found
      .error("O1525",
             fmt::format("the operators need {:.1f} GB of memory, and {:.1f} GB are free", needed / 1e9, free / 1e9))
      .note(fmt::format("4 bytes x the larger of {:.3g} (norm), {:.3g} (softmax), {:.3g} (network) words + 1 GB", norm,
                        scores, network))
      .hint("give a smaller `--batch` or `--seq`");
  found.throw_if_errors();
}

}  // namespace

TunedBench tune_bench(const TuneBenchRequest& request) {
  TunedBench out;
  const BenchSizes sizes = bench_sizes(request);
  out.sizes = sizes.sizes;
  out.warnings = sizes.warnings;
  const KernelSpace* only_kernel = tuning::kernel_space(request.only);
  const tuning::NamedContraction* only_contraction = contraction_named(request.only);
  require_memory(out.sizes, request.type);
  base::Limits limits = request.limits;
  if (request.interruptible) limits.stop = request.interruptible();
  const base::Budget budget(limits);
  kernels::Context context(limits.threads);
  out.threads = context.threads();
  const PinnedThread pinned(out.threads == 1);
  out.isa = std::string(kernels::name_of(context.table().level));
  out.dtype = type_name(request.type);
  out.processor = processor_name();
  TuneStore store(request.folder, machine_key(out.isa, out.threads, out.dtype, out.sizes), request.resume);
  const ProcessorClock processors(out.threads);
  Bench bench(request, out, context, budget, store);
  if (only_kernel != nullptr) {
    bench.kernel_alone(*only_kernel);
  } else if (only_contraction != nullptr) {
    bench.contraction(only_contraction->name, only_contraction->einsum);
  } else {
    bench.layer();
  }
  bench.end();
  out.resumed = store.found();
  out.got = processors.since();
  if (out.got.disturbed())
    out.warnings
        .warning("O1530",
                 fmt::format("the threads waited {:.0f} % of their time for a processor", 100 * out.got.lost()))
        .note("times are by the clock on the wall, so they are too long")
        .hint("measure when nothing else runs, or with fewer `--threads`");
  return out;
}

}  // namespace orrery::verbs
