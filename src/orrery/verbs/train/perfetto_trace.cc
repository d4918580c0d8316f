#include "orrery/verbs/train/perfetto_trace.h"

#include <fmt/format.h>

#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/pipeline/schedule.h"
#include "orrery/present/json_value.h"
#include "orrery/verbs/train/table.h"

namespace orrery::verbs {
namespace {

// Names of tracks; the pipeline is process 1.
std::string track(const char* what, int thread, const std::string& name) {
  return fmt::format(R"({{"ph":"M","pid":1,"tid":{},"name":"{}","args":{{"name":{}}}}})", thread, what,
                     json_quoted(name));
}

const char* letter(cluster::Work work) {
  return work == cluster::Work::kForward ? "F" : work == cluster::Work::kBackward ? "B" : "W";
}

const char* colour(cluster::Work work) {
  return work == cluster::Work::kForward ? "good" : work == cluster::Work::kBackward ? "rail_load" : "rail_animation";
}

}  // namespace

base::Count trace_events(const cluster::Plan& plan) {
  const base::Count all = plan.pp * cluster::microbatches(plan) * cluster::chunks(plan);
  // Few weight gradients are put off: by an accelerator r from the nearer end of the pipeline p - r - 1.
  if (plan.schedule == cluster::Schedule::kDualPipe)
    return 2 * all + plan.pp * (plan.pp - 1) - plan.pp / 2 * (plan.pp / 2 - 1);
  return all * (cluster::defers_weights(plan.schedule) ? 3 : 2);
}

std::string perfetto_trace(const TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  const cluster::Iteration& iteration = trained.iteration;
  const std::vector<cluster::StageEvent> events = cluster::simulate(iteration, plan);
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out += track("process_name", 0,
               fmt::format("{} on {} x {}, {}", trained.model.name, plan.gpus, trained.system.name,
                           cluster::name_of(cluster::schedule_of(plan), cluster::schedules())));
  for (int stage = 0; stage < plan.pp; ++stage)
    out += ",\n" + track("thread_name", stage, fmt::format("stage {}", stage));
  for (const cluster::StageEvent& event : events) {
    out += fmt::format(",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":\"{} {}\",\"cname\":\"{}\",", event.stage,
                       letter(event.work), event.microbatch, colour(event.work));
    out += fmt::format("\"ts\":{:.3f},\"dur\":{:.3f}", event.start_s * 1e6, (event.end_s - event.start_s) * 1e6);
    if (cluster::chunks(plan) > 1 || plan.schedule == cluster::Schedule::kDualPipe)
      out += fmt::format(",\"args\":{{\"chunk\":{}}}", event.chunk);
    out += "}";
  }
  const double end = cluster::makespan(events);
  for (int stage = 0; stage < plan.pp; ++stage)
    out += fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":\"end of iteration\",\"ts\":{:.3f},\"dur\":{:.3f}}}", stage,
        end * 1e6, iteration.drain_s * 1e6);
  return out + "\n]}\n";
}

}  // namespace orrery::verbs
