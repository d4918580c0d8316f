// Events of a simulated accelerator for ui.perfetto.dev. O(events).
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/verbs/sparse/simulate/report.h"

namespace orrery::verbs {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string array_trace(const SparseSimulate& answer) {
  const double microsecond = answer.instance.frequency / 1e6;  // cycles
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  out += fmt::format(R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"{}x{}x{} at {:g} GHz"}}}})",
                     answer.instance.array.rows, answer.instance.array.pes, answer.instance.array.ports,
                     answer.instance.frequency / 1e9);
  for (int i = 0; i < accelerator::kUnits; ++i)
    out += fmt::format(
        ",\n"
        R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
        i, quoted(accelerator::name_of(static_cast<accelerator::Unit>(i))));
  const auto write = std::back_inserter(out);
  std::size_t one = 0;
  base::Count before = 0;  // cycles of the cases before
  for (const TraceEvent& event : answer.events) {
    for (; one < event.one; ++one) before += answer.cases[one].of.run.cycles;
    const accelerator::Interval& at = event.interval;
    fmt::format_to(write, ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{",
                   static_cast<int>(at.unit), quoted(at.what), static_cast<double>(before + at.begin) / microsecond,
                   static_cast<double>(at.end - at.begin) / microsecond);
    fmt::format_to(write, "\"matrix\":{}", at.matrix);
    if (at.tile >= 0) fmt::format_to(write, ",\"tile\":{}", at.tile);
    if (at.block >= 0) fmt::format_to(write, ",\"block\":{}", at.block);
    out += "}}";
  }
  return out + "\n]}\n";
}

}  // namespace orrery::verbs
