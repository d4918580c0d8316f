#include "orrery/verbs/tune/bench/report.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::optional<double> positive(double x) {
  return x > 0 ? std::optional(x) : std::nullopt;
}

Record<Benched> one_benchmark() {
  return {
      {"name", "Of the kernel or contraction.", &Benched::name},
      {"contraction", "Else a fused kernel.", &Benched::contraction},
      {"configurations", "That there are.", &Benched::configurations},
      {"measured", "Of them, those with a time.", &Benched::measured},
      {"runs", "That this took now: what runs alike is run once, what was there is not run.", &Benched::runs},
      {"best_ms", "The fastest; null where none was measured.", [](const Benched& b) { return positive(b.best_ms); }},
      {"worst_ms", "The slowest that was measured; null where none was.",
       [](const Benched& b) { return positive(b.worst_ms); }},
      {"best", "The fastest's layouts and special dimensions.", &Benched::best},
      {"model_error", "Of a kernel's cost model, relative: nine of ten recent measurements stayed within.",
       &Benched::model_error}};
}

Record<TunedBench> result() {
  const auto sizes = [](const TunedBench& b) {
    std::vector<std::pair<std::string, base::Count>> out;
    for (const char letter : std::string("bjkhpiu")) out.emplace_back(std::string(1, letter), b.sizes[letter]);
    return out;
  };
  return {
      {"sizes", "By Substation's letters.", sizes},
      {"processor", "Its name.", &TunedBench::processor},
      {"isa", "Instruction set.", &TunedBench::isa},
      {"threads", "That ran it.", &TunedBench::threads},
      {"dtype", "Of all but biases and norms' parameters.", &TunedBench::dtype, OneOf{{"fp32", "bf16"}}},
      {"benchmarks", "In the order in which they were measured.", &TunedBench::benchmarks, one_benchmark()},
      {"resumed", "Measurements that the folder had.",
       [](const TunedBench& b) { return static_cast<base::Count>(b.resumed); }},
      {"interval", "Median over measurements: half the interval that holds a median, relative.", &TunedBench::interval},
      {"frequency_spread", "How much slower a fixed piece of arithmetic was at worst, relative.",
       &TunedBench::frequency_spread},
      {"layer_ms", "The best choice of layouts for a layer by what was measured; null where none was made.",
       [](const TunedBench& b) { return positive(b.best_ms); }},
      {"layer_bound_ms", "What no choice is below, as far as the models' errors hold; null as above.",
       [](const TunedBench& b) { return positive(b.bound_ms); }},
      {"built_in_ms", "The layer as it is built in, forward and backward; null as above.",
       [](const TunedBench& b) { return positive(b.built_in_ms); }},
      {"rounds", "Choices that were made on the way.",
       [](const TunedBench& b) { return static_cast<base::Count>(b.rounds); }},
      {"complete", "Whether all that may matter was measured.", &TunedBench::complete}};
}

}  // namespace

Document<TunedBench> tune_bench_document() {
  return {"tune_bench", "The figures: measured, but for what models say.", result()};
}

std::string bench_table(const TunedBench& bench) {
  std::string out =
      fmt::format("b {}, j = k {}, h {}, p {}, i {}, u {}; {}; {} on {} thread{}: {}\n\n", bench.sizes['b'],
                  bench.sizes['j'], bench.sizes['h'], bench.sizes['p'], bench.sizes['i'], bench.sizes['u'], bench.dtype,
                  bench.isa, bench.threads, bench.threads == 1 ? "" : "s", bench.processor);
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
