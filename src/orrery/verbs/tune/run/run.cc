// The layer runs in steady state: weights packed, memory touched, then iterations of a forward and, when training, a
// backward pass, each timed by the clock on the wall, operators by the layer's own profile. Medians are taken over
// iterations: what else runs on the machine makes some longer, none shorter. Cost: the iterations; the probe of the
// machine's peaks takes about half a second.
#include "orrery/verbs/tune/run/run.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/limits/out_of_time.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/inputs/systems/layer_data.h"
#include "orrery/runtime/kernels/isa.h"
#include "orrery/verbs/tune/run/layout_choice.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Type;
using layer::Index;

// Without --iters: at least so many, then until so many seconds have passed.
constexpr Count kFewestRuns = 5, kMostRuns = 1000;
constexpr double kSeconds = 3;
constexpr const char* kBuiltIn = "built-in";
constexpr std::size_t kMostEvents = 20'000;
constexpr double kReserve = 600e6;  // bytes for the program, its answer and the probe of the memory's rate

double elements(const layer::Shape& s) {
  const double tokens = static_cast<double>(s.batch) * static_cast<double>(s.length) * static_cast<double>(s.width);
  const double memory =
      s.cross ? static_cast<double>(s.batch) * static_cast<double>(s.memory_length) * static_cast<double>(s.memory())
              : 0;
  return 2 * (tokens + memory) + 2 * tokens;
}

double weight_elements(const layer::Shape& s) {
  const double width = static_cast<double>(s.width), hidden = static_cast<double>(s.hidden);
  const double queries = static_cast<double>(s.heads) * static_cast<double>(s.head());
  const double keys = static_cast<double>(s.kv_heads()) * static_cast<double>(s.head());
  const double attention = width * (2 * queries + 2 * keys);
  return (s.cross ? 2 : 1) * attention + (s.gated ? 3 : 2) * width * hidden;
}

void require_memory(const TuneRunRequest& request, const layer::Shape& shape) {
  const layer::Plan plan = layer::plan(shape, request.training);
  const double tensors = elements(shape) * kernels::bytes_of(shape.type);
  const double masters = 4 * weight_elements(shape) * (request.training ? 3 : 2);
  double run = static_cast<double>(plan.bytes()) + tensors + masters;
  if (!request.layout.empty()) run = tuning::GraphRun::bytes(graph_of_layer(shape), shape.type) + 2 * tensors + masters;
  double check = 0;
  if (request.test) {
    check = bytes_to_check(shape, request.test_type, request.training) + masters + 8 * elements(shape);
  }
  const double needed = std::max(run, check) + kReserve, free = free_memory();
  if (needed <= free) return;
  base::Diagnostics found;
  base::Diagnostic& no = found.error(
      "O1525", fmt::format("the layer needs {:.1f} GB of memory, and {:.1f} GB are free", needed / 1e9, free / 1e9));
  no.note(fmt::format("packed weights {:.2f} + saved for the backward pass {:.2f} + within a pass {:.2f} GB",
                      static_cast<double>(plan.weights) / 1e9, static_cast<double>(plan.saved) / 1e9,
                      static_cast<double>(plan.passing) / 1e9));
  no.note(fmt::format("input, output and their gradients {:.2f} + weights and their gradients {:.2f} GB", tensors / 1e9,
                      masters / 1e9));
  if (check > run) no.note(fmt::format("the check in {} takes {:.2f} GB", type_name(request.test_type), check / 1e9));
  no.hint("give a smaller `--batch` or `--seq`, or `--dtype bf16`");
  found.throw_if_errors();
}

double peak_of(const kernels::MachinePeaks& peaks, Type type) {
  return type == Type::kBf16 ? std::max(peaks.bf16, peaks.fp32) : type == Type::kF64 ? peaks.fp32 / 2 : peaks.fp32;
}

// Times of one operator over iterations. Operators are told apart by pass, name and how often the name came before.
struct Series {
  layer::Operator first;
  std::vector<double> seconds;
};
using SeriesList = std::vector<Series>;

void add(const layer::Profile& profile, SeriesList& all) {
  const std::vector<layer::Operator>& ran = profile.operators();
  if (all.empty())
    for (const layer::Operator& one : ran) all.push_back({one, {}});
  for (std::size_t i = 0; i < ran.size() && i < all.size(); ++i) all[i].seconds.push_back(ran[i].seconds);
}

// One row for each name of a pass, in the order in which they first ran.
std::vector<MeasuredOperator> rows_of(const SeriesList& all, const TunedRun& run) {
  std::vector<MeasuredOperator> out;
  for (const Series& series : all) {
    const std::string name(series.first.name);
    auto row = std::find_if(out.begin(), out.end(), [&](const MeasuredOperator& one) {
      return one.name == name && one.backward == series.first.backward;
    });
    if (row == out.end()) {
      out.push_back({name, series.first.backward});
      row = out.end() - 1;
    }
    row->seconds += base::sample(series.seconds).median;
    row->operations += series.first.operations;
    row->bytes += series.first.bytes;
  }
  for (MeasuredOperator& row : out) {
    const double compute = run.peak > 0 ? row.operations / run.peak : 0;
    const double memory = run.peaks.memory > 0 ? row.bytes / run.peaks.memory : 0;
    row.bound = compute >= memory ? "compute" : "memory";
    row.of_bound = row.seconds > 0 ? std::max(compute, memory) / row.seconds : 0;
  }
  return out;
}

class Measurement {
 public:
  Measurement(const TuneRunRequest& request, TunedRun& run, kernels::Context& context, const base::Budget& budget)
      : request_(request),
        run_(run),
        budget_(budget),
        weights_(drawn_weights(run.layer.shape, request.seed, budget)),
        x_(tokens()),
        y_(tokens()),
        dy_(tokens(request.training)),
        dx_(tokens(request.training)),
        memory_(memory()),
        dmemory_(memory(request.training)) {
    draw(x_, request.seed, 1, budget);
    draw(dy_, request.seed, 2, budget);
    draw(memory_, request.seed, 3, budget);
    if (budget.spent()) return;  // nothing is measured
    if (request.training) gradients_ = layer::Weights(run.layer.shape);
    if (!request.layout.empty()) {
      by_layout(context);
      return;
    }
    layer_.emplace(context, run.layer.shape, weights_, request.training);
    run.saved_bytes = request.training ? static_cast<double>(layer_->saved_bytes()) : 0;
  }

  void measure() {
    const Count warmup =
        request_.warmup.value_or(request_.iterations ? std::max<Count>(1, *request_.iterations / 10) : 2);
    for (Count i = 0; i < warmup && !budget_.spent(); ++i) iterate();
    layer::Profile profile;
    attach(&profile);
    const base::Stopwatch clock;
    const ProcessorClock processors(run_.threads);
    const Count most = request_.iterations.value_or(kMostRuns);
    SeriesList series;
    bool spent = false;
    for (Count i = 0; i < most && !(spent = budget_.spent()); ++i) {
      if (!request_.iterations && i >= kFewestRuns && clock.seconds() >= kSeconds) break;
      profile.clear();
      const double begin = clock.seconds();
      const auto [forward, backward] = iterate();
      if ((spent = budget_.spent())) break;  // parts of it may have been left out
      run_.forward_s.push_back(forward);
      if (request_.training) run_.backward_s.push_back(backward);
      add(profile, series);
      trace(profile, begin);
      if (request_.measuring) request_.measuring(static_cast<std::size_t>(i + 1));
    }
    run_.got = processors.since();
    attach(nullptr);
    run_.ended_early = run_.ended_early || spent;
    run_.forward = base::sample(run_.forward_s);
    run_.backward = base::sample(run_.backward_s);
    for (const Series& one : series) run_.operations += one.first.operations;
    run_.operators = rows_of(series, run_);
  }

 private:
  void by_layout(kernels::Context& context) {
    graph_ = graph_of_layer(run_.layer.shape);
    base::Diagnostics told;  // before
    const tuning::LayoutChoice choice = read_layout_choice(request_.layout, graph_, told);
    by_layout_.emplace(context, graph_, choice, run_.layer.shape.type, request_.dropout);
    by_layout_->set_weights(weights_);
    by_layout_->set_tokens("X",
                           [&](std::size_t n) { return static_cast<float>(x_.get(static_cast<layer::Index>(n))); });
    if (request_.training)
      by_layout_->set_tokens("DSB2",
                             [&](std::size_t n) { return static_cast<float>(dy_.get(static_cast<layer::Index>(n))); });
    for (const tuning::Variable& variable : graph_.variables)
      if (request_.training && variable.role == tuning::Role::kSaved)
        run_.saved_bytes +=
            static_cast<double>(graph_.sizes.words(variable.dims)) * kernels::bytes_of(run_.layer.shape.type);
  }
  void attach(layer::Profile* profile) {
    if (layer_) layer_->attach(profile);
    if (by_layout_) by_layout_->attach(profile);
  }

  LayerTensor tokens(bool wanted = true) const {
    const layer::Shape& s = run_.layer.shape;
    return {s.type, wanted ? s.batch * s.length * s.width : 0};
  }
  LayerTensor memory(bool wanted = true) const {
    const layer::Shape& s = run_.layer.shape;
    return {s.type, wanted && s.cross ? s.batch * s.memory_length * s.memory() : 0};
  }

  std::pair<double, double> iterate() {
    layer::Input input;
    input.x = x_.data();
    if (run_.layer.shape.cross) input.memory = memory_.data();
    const base::Stopwatch clock;
    if (by_layout_) {
      by_layout_->forward(request_.seed + ++step_);
      const double forward = clock.seconds();
      if (request_.training) by_layout_->backward();
      return {forward, clock.seconds() - forward};
    }
    if (!request_.training) {
      layer_->infer(input, y_.data());
      return {clock.seconds(), 0};
    }
    layer_->forward(input, y_.data(), request_.dropout, request_.seed + ++step_);
    const double forward = clock.seconds();
    layer::InputGradients back;
    back.x = dx_.data();
    if (run_.layer.shape.cross) back.memory = dmemory_.data();
    layer_->backward(dy_.data(), back, gradients_);
    return {forward, clock.seconds() - forward};
  }

  void trace(const layer::Profile& profile, double begin) {
    if (run_.trace.size() + profile.operators().size() > kMostEvents) return;
    for (const layer::Operator& one : profile.operators())
      run_.trace.push_back({std::string(one.name), one.backward, begin + one.start, one.seconds});
  }

  const TuneRunRequest& request_;
  TunedRun& run_;
  const base::Budget& budget_;
  layer::Weights weights_, gradients_;
  LayerTensor x_, y_, dy_, dx_, memory_, dmemory_;
  std::optional<layer::Encoder> layer_;
  tuning::Graph graph_;
  std::optional<tuning::GraphRun> by_layout_;  // instead of layer_
  std::uint64_t step_ = 0;
};

void warn_of_unused(const TuneRunRequest& request, base::Diagnostics& warnings) {
  const layer::Dropout& d = request.dropout;
  if (!request.training && (d.attention > 0 || d.first > 0 || d.hidden > 0 || d.second > 0))
    warnings.warning("O1527", "rates of dropout are given, but nothing is dropped without training")
        .hint("add `--train`, or leave them out");
}

std::string lost(const ProcessorShare& got) {
  return fmt::format(
      "threads were ready to run for {:.3g} s and ran for {:.3g} s: they waited 1 - {:.3g} / {:.3g} = {:.0f} %",
      got.ready(), got.ran, got.ran, got.ready(), 100 * got.lost());
}

void warn_of_others(TunedRun& run) {
  if (run.got.disturbed())
    run.warnings
        .warning("O1530",
                 fmt::format("the layer's threads waited {:.0f} % of their time for a processor", 100 * run.got.lost()))
        .note(lost(run.got))
        .note("times are by the clock on the wall, so they are too long, and rates and shares of peaks too low")
        .hint("measure when nothing else runs, or with fewer `--threads`");
  if (run.got_by_peaks.disturbed())
    run.warnings
        .warning("O1530", fmt::format("the probe of the machine's peaks waited {:.0f} % of its time for a processor",
                                      100 * run.got_by_peaks.lost()))
        .note(lost(run.got_by_peaks))
        .note(
            "peaks are by the threads' own time; but what others do to caches and memory makes them too low, and "
            "shares "
            "of them too high")
        .hint("measure when nothing else runs, or with fewer `--threads`");
}

// The layout file of the machine's plan, or "".
std::string planned(const kernels::Context& context, TunedRun& run) {
  const layer::Shape& s = run.layer.shape;
  run.plan =
      find_plan(machine_key(std::string(kernels::name_of(context.table().level)), context.threads(), type_name(s.type),
                            tuning::Sizes::encoder(s.batch, s.length, s.heads, s.width, s.hidden)),
                run.warnings);
  return run.plan ? run.plan->layouts : std::string();
}

}  // namespace

double free_memory() {
  double out = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/meminfo");  // free pages alone leave out what the system keeps of files
  for (std::string key, unit, value; file >> key >> value && std::getline(file, unit);)
    if (key == "MemAvailable:") out = std::strtod(value.c_str(), nullptr) * 1024;
  if (const std::optional<std::size_t> most = base::memory_allowed()) out = std::min(out, static_cast<double>(*most));
  return out;
}

TunedRun tune_run(const TuneRunRequest& asked) {
  TuneRunRequest request = asked;
  TunedRun run;
  run.layer = runnable_layer(request.layer);
  run.warnings = run.layer.warnings;
  run.training = request.training;
  run.dropout = request.dropout;
  kernels::Context context(request.limits.threads);
  if (request.layout == kBuiltIn)
    request.layout.clear();
  else if (request.layout.empty() && request.training && is_of_graph(run.layer.shape))
    request.layout = planned(context, run);
  run.layout = request.layout;
  if (!request.layout.empty())  // all that is wrong with it, before anything runs
    read_layout_choice(request.layout, graph_of_layer(run.layer.shape), run.warnings);
  layer::checked(request.dropout).throw_if_errors();
  warn_of_unused(request, run.warnings);
  require_memory(request, run.layer.shape);

  base::Limits limits = request.limits;
  if (request.interruptible) limits.stop = request.interruptible();
  const base::Budget budget(limits);
  run.threads = context.threads();
  run.isa = std::string(kernels::name_of(context.table().level));
  context.pool().limit(&budget);
  const ProcessorClock processors(run.threads);
  run.peaks = kernels::machine_peaks(context);
  run.got_by_peaks = processors.since();
  run.peak = peak_of(run.peaks, run.layer.shape.type);
  {
    Measurement measurement(request, run, context, budget);
    measurement.measure();
  }
  context.pool().limit(nullptr);
  if (run.forward_s.empty()) {
    double operations = 0;
    for (const layer::Operator& one : layer::plan(run.layer.shape, request.training).operators)
      operations += one.operations;
    base::Diagnostics found;
    found
        .error("O1526", budget.interrupted() ? "stopped before one iteration was measured"
                                             : "time ended before one iteration was measured")
        .note(fmt::format("an iteration takes {:.4g} GFLOP", operations / 1e9))
        .hint("raise `--time-limit`, or lower `--warmup`, `--batch` or `--seq`");
    throw base::OutOfTime(found.all());
  }
  warn_of_others(run);
  if (!request.test) return run;
  if (run.ended_early || budget.spent()) {
    run.ended_early = true;
    return run;
  }
  run.check = check_layer(context, run.layer.shape, request.test_type, request.training, request.seed, request.tensors,
                          request.layout);
  return run;
}

}  // namespace orrery::verbs
