// Events of a simulated accelerator for ui.perfetto.dev. O(events).
#include <fmt/format.h>

#include "orrery/present/json_value.h"
#include "orrery/verbs/sparse/simulate/report.h"

namespace orrery::verbs {

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
        i, json_quoted(accelerator::name_of(static_cast<accelerator::Unit>(i))));
  std::size_t one = 0;
  base::Count before = 0;  // cycles of the cases before
  for (const TraceEvent& event : answer.events) {
    for (; one < event.one; ++one) before += answer.cases[one].of.run.cycles;
    const accelerator::Interval& at = event.interval;
    out += fmt::format(",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{",
                       static_cast<int>(at.unit), json_quoted(at.what),
                       static_cast<double>(before + at.begin) / microsecond,
                       static_cast<double>(at.end - at.begin) / microsecond);
    out += fmt::format("\"matrix\":{}", at.matrix);
    if (at.tile >= 0) out += fmt::format(",\"tile\":{}", at.tile);
    if (at.block >= 0) out += fmt::format(",\"block\":{}", at.block);
    out += "}}";
  }
  return out + "\n]}\n";
}

}  // namespace orrery::verbs
