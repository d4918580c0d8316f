#include "orrery/verbs/tune/bench/report.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::optional<double> positive(double x) {
  return x > 0 ? std::optional(x) : std::nullopt;
}

Record<Benched> one_benchmark() {
  return {
      {"name", "Name of the kernel or contraction.", &Benched::name},
      {"contraction", "Whether it is a contraction; false: a fused kernel.", &Benched::contraction},
      {"configurations", "Number of configurations.", &Benched::configurations},
      {"measured", "Configurations that have a time.", &Benched::measured},
      {"runs", "Runs in this session: configurations that run alike are run once, measured ones not again.",
       &Benched::runs},
      {"best_ms", "Fastest time in milliseconds; null where none was measured.",
       [](const Benched& b) { return positive(b.best_ms); }},
      {"worst_ms", "Slowest time that was measured, in milliseconds; null where none was.",
       [](const Benched& b) { return positive(b.worst_ms); }},
      {"best", "Layouts and special dimensions of the fastest configuration.", &Benched::best},
      {"model_error", "Relative error of the kernel's cost model: nine of ten recent measurements stayed within it.",
       &Benched::model_error}};
}

Record<TunedBench> bench_result() {
  const auto sizes = [](const TunedBench& b) {
    std::vector<std::pair<std::string, base::Count>> out;
    for (const char letter : std::string("bjkhpiu")) out.emplace_back(std::string(1, letter), b.sizes[letter]);
    return out;
  };
  return {{"sizes", "Sizes of the layer, by Substation's letters.", sizes},
          {"processor", "Name of the processor.", &TunedBench::processor},
          {"isa", "Instruction set that the kernels used.", &TunedBench::isa},
          {"threads", "Threads that computed.", &TunedBench::threads},
          {"dtype", "Number format of all but biases and parameters of norms.", &TunedBench::dtype,
           OneOf{{"fp32", "bf16"}}},
          {"benchmarks", "Contractions and kernels, in the order in which they were measured.", &TunedBench::benchmarks,
           one_benchmark()},
          {"resumed", "Measurements that the folder had from earlier runs.",
           [](const TunedBench& b) { return static_cast<base::Count>(b.resumed); }},
          {"interval", "Half the confidence interval of a median, relative: the median over measurements.",
           &TunedBench::interval},
          {"frequency_spread", "Slowdown of a fixed piece of arithmetic at its slowest, relative.",
           &TunedBench::frequency_spread},
          {"layer_ms",
           "Time of the best choice of layouts for a layer by what was measured, in milliseconds; null where none was "
           "made.",
           [](const TunedBench& b) { return positive(b.best_ms); }},
          {"layer_bound_ms",
           "Time that no choice of layouts is below, as far as the models' errors hold, in milliseconds; null where no "
           "choice was made.",
           [](const TunedBench& b) { return positive(b.bound_ms); }},
          {"built_in_ms",
           "Time of the built-in layer, forward and backward, in milliseconds; null where no choice was made.",
           [](const TunedBench& b) { return positive(b.built_in_ms); }},
          {"rounds", "Choices that were made on the way.",
           [](const TunedBench& b) { return static_cast<base::Count>(b.rounds); }},
          {"complete", "Whether everything that may matter was measured.", &TunedBench::complete}};
}

}  // namespace

Document<TunedBench> tune_bench_document() {
  return {"tune_bench", "Measured times, and what cost models say of the rest.", bench_result()};
}

std::string bench_table(const TunedBench& bench) {
  std::string out =
      fmt::format("b {}, j = k {}, h {}, p {}, i {}, u {}; {}; {} on {} thread{}: {}\n\n", bench.sizes['b'],
                  bench.sizes['j'], bench.sizes['h'], bench.sizes['p'], bench.sizes['i'], bench.sizes['u'], bench.dtype,
                  bench.isa, bench.threads, base::plural(bench.threads), bench.processor);
  Table table;
  table.header = {"operator", "configurations", "measured", "best ms", "worst ms", "model's error %", "fastest"};
  table.left_columns = {6};
  bool contraction = true;
  for (const Benched& one : bench.benchmarks) {
    if (contraction && !one.contraction && !table.rows.empty()) table.rules_before.push_back(table.rows.size());
    contraction = one.contraction;
    const auto ms = [](double x) { return x > 0 ? fmt::format("{:.3f}", x) : std::string("-"); };
    table.rows.push_back({one.name, fmt::format("{}", one.configurations), fmt::format("{}", one.measured),
                          ms(one.best_ms), ms(one.worst_ms),
                          one.contraction ? "-" : fmt::format("{:.0f}", 100 * one.model_error),
                          one.best.size() > 60 ? one.best.substr(0, 57) + "..." : one.best});
  }
  out += text(table) + "\n";
  if (bench.best_ms > 0)
    out += fmt::format(
        "layer         {:.2f} ms in the best layouts that were measured; none below {:.2f} ms by the models' errors\n",
        bench.best_ms, bench.bound_ms);
  if (bench.built_in_ms > 0) out += fmt::format("              {:.2f} ms as it is built in\n", bench.built_in_ms);
  out += fmt::format("measurements  half intervals of medians {:.1f} %, frequency within {:.1f} %\n",
                     100 * bench.interval, 100 * bench.frequency_spread);
  constexpr double kSteady = 0.08;
  if (bench.frequency_spread > kSteady)
    out += "the processor's frequency changed meanwhile: what was measured early and late does not compare well\n";
  if (!bench.complete) out += "not complete: `--resume` goes on\n";
  return out + "times are measured\n";
}

}  // namespace orrery::verbs
