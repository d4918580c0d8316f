#include "orrery/verbs/serve/simulated_trace.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/json_value.h"

namespace orrery::verbs {
namespace {

using serving::SimulatedStep;

constexpr std::size_t kIntervals = 1000;
constexpr std::size_t kMostSteps = 500'000;

}  // namespace

std::string series_csv(const ServedAnswer& answer) {
  if (!answer.simulation || answer.simulation->timeline.empty()) return "";
  const std::vector<SimulatedStep>& steps = answer.simulation->timeline;
  std::int64_t begin = steps.front().begin, end = begin;
  for (const SimulatedStep& step : steps) end = std::max(end, step.end);
  const std::size_t rows = std::min(kIntervals, steps.size());
  const double width = static_cast<double>(end - begin) / static_cast<double>(rows);
  // Running, waiting, blocks times nanoseconds; tokens of prompts and of outputs.
  std::vector<std::array<double, 5>> sums(rows);
  const auto place = [&](std::int64_t time) {
    return std::min(rows - 1, static_cast<std::size_t>(base::saturated(static_cast<double>(time - begin) / width)));
  };
  for (const SimulatedStep& step : steps) {
    for (std::size_t row = place(step.begin); row <= place(step.end); ++row) {
      const double from = static_cast<double>(begin) + width * static_cast<double>(row);
      const double inside =
          std::min(from + width, static_cast<double>(step.end)) - std::max(from, static_cast<double>(step.begin));
      sums[row][0] += std::max(0.0, inside) * step.running;
      sums[row][1] += std::max(0.0, inside) * step.waiting;
      sums[row][2] += std::max(0.0, inside) * static_cast<double>(step.blocks);
    }
    sums[place(step.end)][3] += step.prompt_tokens;
    sums[place(step.end)][4] += step.decodes + step.accepted;
  }
  std::string out = "time_s,running,waiting,kv_blocks,prompt_tokens_per_s,decoded_tokens_per_s\n";
  for (std::size_t row = 0; row < rows; ++row)
    out += fmt::format("{:.6f},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", width * static_cast<double>(row) * 1e-9,
                       sums[row][0] / width, sums[row][1] / width, sums[row][2] / width, sums[row][3] / width * 1e9,
                       sums[row][4] / width * 1e9);
  return out;
}

std::string simulated_trace(const ServedAnswer& answer) {
  if (!answer.simulation) return "";
  const std::vector<SimulatedStep>& steps = answer.simulation->timeline;
  if (steps.size() > kMostSteps)
    base::fail("O2075", fmt::format("the trace would have {} steps, more than {}", steps.size(), kMostSteps), {},
               "simulate fewer: `--requests 1000`");
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out += fmt::format(R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}})",
                     json_quoted(answer.model + " on " + answer.system));
  const base::Count readers = answer.prompts() ? answer.prompts()->replicas : 0;
  for (base::Count r = 0; r < readers + answer.first().deployment.replicas; ++r)
    out += fmt::format(
        ",\n"
        R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{} {}"}}}})",
        r, r < readers ? "prompts" : "replica", r < readers ? r : r - readers);
  for (const SimulatedStep& step : steps) {
    const double at = static_cast<double>(step.begin) * 1e-3;
    out += fmt::format(
        ",\n"
        R"({{"ph":"X","pid":1,"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{"prompt_tokens":{},)"
        R"("decodes":{},"waiting":{}}}}})",
        step.engine, step.prompt_tokens > 0 ? "prompts" : "decode", at,
        static_cast<double>(step.end - step.begin) * 1e-3, step.prompt_tokens, step.decodes, step.waiting);
    out += fmt::format(
        ",\n"
        R"({{"ph":"C","pid":1,"tid":{0},"name":"blocks {0}","ts":{1:.3f},"args":{{"held":{2}}}}})",
        step.engine, at, step.blocks);
  }
  return out + "\n]}\n";
}

}  // namespace orrery::verbs
