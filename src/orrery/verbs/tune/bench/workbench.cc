// A configuration is run once to warm up, then at least three times and for a tenth of a second, nine times at most;
// what takes long, fewer. The median counts; half the interval that holds it with 95 % (by ranks; of few runs, all of
// them) is kept beside. Between measurements a fixed loop of multiply-adds is timed: where its rate changes, the
// processor's frequency did. Where a layer's tensors are more than the last cache holds, the caches are emptied before
// each run: a tensor has left them before its next reader comes. A library that took more than half as long again as
// Orrery for each of a contraction's first calls is not asked for the others.
#include "orrery/verbs/tune/bench/workbench.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include <fmt/format.h>

#include "orrery/base/numbers/sample.h"
#include "orrery/base/text/text.h"
#include "orrery/inputs/systems/layer_data.h"
#include "orrery/runtime/kernels/probe.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/tuning/contractions/contraction_run.h"
#include "orrery/runtime/tuning/graph_run.h"

namespace orrery::verbs {
namespace {

using kernels::Index;
using tuning::BlasCall;

constexpr double kEnough = 0.1, kLongRun = 0.4;  // seconds
constexpr std::size_t kFewest = 3, kMost = 9;
constexpr double kProbeEvery = 2, kProbe = 2e-4;
constexpr double kDrop = 0.1;
constexpr std::size_t kTries = 4;
constexpr double kHopeless = 1.5;

std::string upper(std::string text, bool file_letters) {
  if (file_letters) std::replace(text.begin(), text.end(), 'i', 'n');
  return base::upper(text);
}

std::string call_text(const BlasCall& c, bool pruned) {
  std::string out = c.batched() ? "BMM," : "GEMM,";
  const char a = c.transposed_a ? 'T' : 'N', b = c.transposed_b ? 'T' : 'N';
  out += pruned ? fmt::format("{},{},{},{},{},", c.m, c.n, c.k, a, b)
                : fmt::format("{},{},{},{},{},", a, b, c.m, c.n, c.k);
  out += fmt::format("{},{},{}", c.lda, c.ldb, c.ldc);
  if (pruned || c.batched()) out += fmt::format(",{},{},{},{}", c.stride_a, c.stride_b, c.stride_c, c.batch);
  return out;
}

std::string call_key(const std::string& implementation, const BlasCall& call) {
  return fmt::format("{},{},", implementation, call_text(call, true));
}

std::vector<std::string> implementations() {
  std::vector<std::string> out = {kImplementation};
  for (const tuning::BlasLibrary& one : tuning::BlasLibrary::installed()) out.push_back(one.name());
  return out;
}

std::string rank_file(const std::string& name, bool contraction) {
  return name + (contraction ? "-pruned-bm0.csv" : "-bm0.csv");
}

// Of times with commas between them.
double median_of(const std::string& times) {
  std::vector<double> all;
  for (const std::string_view one : base::split(times, ','))
    if (!one.empty()) all.push_back(std::strtod(std::string(one).c_str(), nullptr));
  return base::sample(all).median;
}

std::string digits(double seconds) {
  return fmt::format("{:.9g}", seconds);
}

}  // namespace

std::string line_key(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration,
                     const tuning::Sizes& sizes) {
  std::string out;
  for (const char letter : space.sizes) out += fmt::format("{} = {} ", upper({letter}, true), sizes[letter]);
  for (std::size_t i = 0; i < space.specials.size(); ++i)
    out += fmt::format("{} = {} ", space.specials[i].name, upper({configuration.specials[i]}, true));
  for (std::size_t i = 0; i < space.columns.size(); ++i)
    out += fmt::format("{} = {} ", space.columns[i].name, upper(configuration.layouts[i], true));
  out.pop_back();
  return out;
}

tuning::FusedChoice choice_of(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration) {
  tuning::FusedChoice out;
  for (std::size_t i = 0; i < space.specials.size(); ++i) {
    const std::string& name = space.specials[i].name;
    out.specials[name.size() == 2 ? name : std::string{'d', name[0]}] = configuration.specials[i];
  }
  for (std::size_t i = 0; i < space.columns.size(); ++i)
    out.layouts[base::lower(space.columns[i].name)] = configuration.layouts[i];
  return out;
}

Workbench::Workbench(kernels::Context& context, const tuning::Sizes& sizes, kernels::Type type, TuneStore& store)
    : context_(context), store_(store) {
  run_.sizes = sizes, run_.type = type, run_.drop = kDrop;
  constexpr double kSmallCache = 16e6, kLargeCache = 5e8;  // bytes of a last cache, where the system says less or more
  const double cache = std::clamp(static_cast<double>(sysconf(_SC_LEVEL3_CACHE_SIZE)), kSmallCache, kLargeCache);
  if (tuning::GraphRun::bytes(tuning::encoder_graph(sizes), type) > cache) {
    other_ = kernels::Buffer(static_cast<std::size_t>(2 * cache));
    std::memset(other_.data(), 0, other_.bytes());
  }
  probe_frequency();
}

void Workbench::probe_frequency() {
  const double rate = kernels::operations_per_second(context_.table(), kernels::Arithmetic::kF32, kProbe);
  slowest_ = slowest_ == 0 ? rate : std::min(slowest_, rate);
  fastest_ = std::max(fastest_, rate);
  since_probe_ = {};
}

double Workbench::frequency_spread() const {
  return fastest_ > 0 ? 1 - slowest_ / fastest_ : 0;
}

double Workbench::interval() const {
  return base::sample(intervals_).median;
}

// Reads twice what the last cache holds.
void Workbench::empty_caches() {
  constexpr Index kPart = Index{1} << 20, kLine = 64;
  const auto* data = static_cast<const volatile unsigned char*>(other_.data());
  const auto bytes = static_cast<Index>(other_.bytes());
  context_.pool().run((bytes + kPart - 1) / kPart, [&](Index part, int) {
    for (Index i = part * kPart; i < std::min(bytes, (part + 1) * kPart); i += kLine) static_cast<void>(data[i]);
  });
}

double Workbench::built_in() {
  constexpr std::size_t kRuns = 5;
  if (const auto known = store_.find(kBuiltInFile, "layer")) return std::strtod(known->c_str() + 8, nullptr);
  const tuning::Sizes& sizes = run_.sizes;
  layer::Shape shape;
  shape.batch = sizes['b'], shape.length = sizes['j'], shape.width = sizes['i'], shape.heads = sizes['h'];
  shape.hidden = sizes['u'], shape.activation = kernels::Activation::kRelu, shape.type = run_.type;
  const layer::Weights weights = drawn_weights(shape, 1);
  layer::Weights gradients(shape);
  layer::Encoder encoder(context_, shape, weights, true);
  const layer::Dropout drop{kDrop, kDrop, kDrop, kDrop, 0, 0};
  const Index numbers = shape.batch * shape.length * shape.width;
  LayerTensor x(shape.type, numbers), y(shape.type, numbers), dy(shape.type, numbers), dx(shape.type, numbers);
  draw(x, 1, 1);
  draw(dy, 1, 2);
  std::vector<double> times;
  for (std::size_t i = 0; i <= kRuns; ++i) {
    const base::Stopwatch clock;
    encoder.forward(x.data(), y.data(), drop, i);
    encoder.backward(dy.data(), dx.data(), gradients);
    if (i > 0) times.push_back(clock.seconds());
  }
  const double seconds = base::sample(times).median;
  store_.add(kBuiltInFile, "layer", fmt::format(" time = {} s", digits(seconds)));
  return seconds;
}

template <class Run>
double Workbench::timed(Run run) {
  if (since_probe_.seconds() > kProbeEvery) probe_frequency();
  const base::Stopwatch whole;
  run();
  const bool slow = whole.seconds() > kLongRun;
  std::vector<double> times;
  const base::Stopwatch counted;
  while (times.empty() || (!slow && times.size() < kMost && (times.size() < kFewest || counted.seconds() < kEnough))) {
    empty_caches();
    const base::Stopwatch clock;
    run();
    times.push_back(clock.seconds());
  }
  ++runs_;
  std::sort(times.begin(), times.end());
  const auto n = static_cast<double>(times.size());
  const auto first = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1.96 * std::sqrt(n)) / 2)));
  const double median = base::sample(times).median;
  if (times.size() > 1) intervals_.push_back((times[times.size() - 1 - first] - times[first]) / 2 / median);
  return median;
}

// Memory that stays for an operator: numbers of about 1, so that nothing is subnormal.
void* Workbench::column(const std::string& name, double bytes) {
  kernels::Buffer& buffer = columns_[name];
  const auto wanted = static_cast<std::size_t>(bytes);
  if (buffer.bytes() < wanted) {
    buffer = kernels::Buffer(wanted);
    std::uint32_t state = 1;
    // Either type's numbers in [1/2, 1): the exponent is that of 1/2, whatever the mantissa.
    if (run_.type == kernels::Type::kBf16) {
      auto* data = static_cast<kernels::Bf16*>(buffer.data());
      for (std::size_t i = 0; i < wanted / 2; ++i)
        data[i] = static_cast<kernels::Bf16>(0x3f00U | ((state = state * 1664525U + 1013904223U) >> 25));
    } else {
      auto* data = static_cast<std::uint32_t*>(buffer.data());
      for (std::size_t i = 0; i < wanted / 4; ++i)
        data[i] = 0x3f000000U | ((state = state * 1664525U + 1013904223U) >> 9);
    }
  }
  return buffer.data();
}

// The fastest implementation that was measured.
std::optional<MeasuredCall> Workbench::known(const std::string& name, const BlasCall& call) {
  std::optional<MeasuredCall> out;
  for (const std::string& implementation : implementations())
    if (const auto times = store_.find(rank_file(name, true), call_key(implementation, call)))
      if (const double seconds = median_of(*times) / 1e3; !out || seconds < out->seconds)
        out = MeasuredCall{seconds, implementation};
  return out;
}

MeasuredCall Workbench::contraction(const std::string& name, const BlasCall& call) {
  const auto words = [&](base::Count rows, base::Count columns) {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(call.batch) *
           kernels::bytes_of(run_.type);
  };
  double ours = 0;
  for (const std::string& implementation : implementations()) {
    const std::string key = call_key(implementation, call), file = rank_file(name, true);
    const tuning::BlasLibrary* const library = tuning::BlasLibrary::find(implementation);
    Compared& compared = compared_[{name, implementation}];
    if (library != nullptr && compared.calls >= kTries && compared.least > kHopeless) continue;
    double seconds = 0;
    if (const auto times = store_.find(file, key)) {
      seconds = median_of(*times) / 1e3;
    } else {
      if (columns_of_ != name) columns_.clear(), columns_of_ = name;
      const kernels::Product product =
          tuning::product_of(call, false, column("a", words(call.m, call.k)), column("b", words(call.k, call.n)),
                             column("c", words(call.m, call.n)), run_.type);
      if (library != nullptr && !tuning::BlasLibrary::takes(product)) continue;
      seconds = timed(
          [&] { library != nullptr ? library->multiply(context_, product) : kernels::multiply(context_, product); });
      store_.add(file, key, digits(seconds * 1e3) + ",");  // in ms, as times of results are
    }
    if (library == nullptr) ours = seconds;
    const double ratio = seconds / ours;
    compared.least = compared.calls++ == 0 ? ratio : std::min(compared.least, ratio);
  }
  return known(name, call).value();
}

bool Workbench::has_run_alike(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration) {
  return by_signature_.count(
             tuning::signature(*tuning::fused_kernel(space.kernel), choice_of(space, configuration), run_)) != 0;
}

double Workbench::kernel(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration) {
  const tuning::FusedKernel& kernel = *tuning::fused_kernel(space.kernel);
  const tuning::FusedChoice choice = choice_of(space, configuration);
  const std::string key = line_key(space, configuration, run_.sizes), file = rank_file(space.kernel, false);
  const std::string signature = tuning::signature(kernel, choice, run_);
  if (const auto known = store_.find(file, key)) {
    const double seconds = std::strtod(known->c_str() + 8, nullptr);  // behind " time = "
    by_signature_[signature] = seconds;
    return seconds;
  }
  const auto alike = by_signature_.find(signature);
  double seconds = alike == by_signature_.end() ? 0 : alike->second;
  if (alike == by_signature_.end()) {
    if (columns_of_ != space.kernel) columns_.clear(), columns_of_ = space.kernel;
    tuning::FusedRun run = run_;
    run.data = [&](std::string_view name) {
      double words = 0;
      for (const tuning::FusedColumn& one : kernel.columns)
        if (one.name == name) words = static_cast<double>(run_.sizes.words(one.dims));
      return column(std::string(name), 4 * words);
    };
    const std::vector<kernels::Strided> runs = tuning::runs_of(kernel, choice, run);
    seconds = timed([&] {
      for (const kernels::Strided& one : runs) kernels::run(context_, one);
    });
    by_signature_[signature] = seconds;
  }
  store_.add(file, key, fmt::format(" time = {} s", digits(seconds)));
  return seconds;
}

void Workbench::write_contraction(const std::string& name, const tuning::ContractionSpace& space) {
  const std::string header = "A,B,C,optype,trans_a,trans_b,M,N,K,lda,ldb,ldc,stride_a,stride_b,stride_c,batch";
  std::string layouts = header + "\n", result = header + ",Time,Implementation\n";
  for (const tuning::ContractionLayout& one : space.layouts) {
    const std::string own = fmt::format("{},{},{},", one.a, one.b, one.c);
    layouts += own + call_text(one.call, false) + "\n";
    const std::optional<MeasuredCall> best = known(name, one.call);
    if (!best) continue;
    result += own + call_text(one.call, false) + (one.call.batched() ? "" : ",0.0,0.0,0.0,1.0") +
              fmt::format(",{},{}\n", digits(best->seconds * 1e3), best->implementation);
  }
  store_.write(name + ".csv", layouts);
  store_.write(name + "-result.csv", result);
}

void Workbench::write_kernel(const tuning::KernelSpace& space) {
  store_.write(space.kernel + "-combined.csv", store_.text(rank_file(space.kernel, false)));
}

}  // namespace orrery::verbs
