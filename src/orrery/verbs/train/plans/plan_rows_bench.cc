// Rows a second of `train --plans`: read, checked, evaluated and written. An argument is the number of threads; the
// processor time of all of them is in `cpu_us_a_row`.
#include "orrery/verbs/train/plans/plan_rows.h"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace orrery::verbs {
namespace {

constexpr int kRows = 500'000;

// Plans of a model of 96 layers and heads, of which one in 50,000 is none.
std::string written(bool json) {
  const std::string path = (std::filesystem::temp_directory_path() / (json ? "rows.jsonl" : "rows.csv")).string();
  std::ofstream out(path);
  if (!json) out << "tp,pp,dp,micro_batch,recompute,zero,sequence_parallel\n";
  const char* again[] = {"none", "selective", "full"};
  for (int i = 0; i < kRows; ++i) {
    const int tp = 1 << i % 4, pp = 1 << i / 4 % 5, dp = 1 << i / 20 % 4, micro = 1 << i / 80 % 3;
    const int zero = i % 50'000 == 7 ? 9 : i / 240 % 3;
    const char* recompute = again[i / 720 % 3];
    if (json)
      out << "{\"tp\": " << tp << ", \"pp\": " << pp << ", \"dp\": " << dp << ", \"micro_batch\": " << micro
          << ", \"recompute\": \"" << recompute << "\", \"zero\": " << zero << ", \"sequence_parallel\": true}\n";
    else
      out << tp << ',' << pp << ',' << dp << ',' << micro << ',' << recompute << ',' << zero << ",true\n";
  }
  return path;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void plan_rows(benchmark::State& state, bool json) {
  const std::string path = written(json);
  TrainRequest request;
  request.model = "gpt3-175b";
  request.system = "a100-selene";
  request.global_batch = 1536;
  request.limits.threads = static_cast<int>(state.range(0));
  std::uint64_t rows = 0;
  const double before = cpu_seconds();
  for (auto _ : state) {
    std::size_t bytes = 0;
    rows +=
        evaluate_plan_rows(request, {path, path, json}, [&](const std::string& text) { bytes += text.size(); }).rows;
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(rows));
  state.counters["cpu_us_a_row"] = 1e6 * (cpu_seconds() - before) / static_cast<double>(rows);
  std::remove(path.c_str());
}
BENCHMARK_CAPTURE(plan_rows, csv, false)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(plan_rows, json, true)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery::verbs
