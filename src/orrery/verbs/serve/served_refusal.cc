#include "orrery/verbs/serve/served_refusal.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/verbs/serve/answer.h"
#include "orrery/verbs/serve/served_question.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;

std::string gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

bool pruned(const serving::Optimum& optimum, std::string_view why) {
  const std::vector<base::Pruned>& all = optimum.certificate.pruned;
  return std::any_of(all.begin(), all.end(), [&](const base::Pruned& by) { return by.argument == why; });
}

}  // namespace

std::string memory_note(const serving::KvMemory& m, const Deployment& d) {
  const char* of = d.engine == serving::Engine::kTensorRtLlm ? "what is left" : "the memory";
  return fmt::format(
      "weights {} + activations {} + graphs and libraries {} of {}, with {:g} % of {} to be filled, leave "
      "{} for keys and values",
      gigabytes(m.weights), gigabytes(m.activations), gigabytes(m.graphs), gigabytes(m.total), d.memory_share * 100, of,
      gigabytes(m.caches));
}

std::string blocks_note(const serving::KvMemory& m, const Deployment& d, double tokens) {
  const Count length = base::saturated(tokens + 0.5);
  return fmt::format("a request of {} tokens needs {} blocks, of which there are {}", length,
                     m.blocks_for(length, std::min(d.max_batched_tokens, length)), m.blocks);
}

bool comes_too_fast(const serving::Optimum& optimum) {
  return !(optimum.least_tpot > 0) && (pruned(optimum, "rate") || optimum.certificate.evaluated > 0);
}

void refuse(const ServeRequest& r, const serving::ServedModel& model, const serving::Space& space,
            const serving::Optimum& optimum, const serving::Load& load, const serving::ServiceLimits& limits) {
  const serving::Machine& machine = space.machines.front();
  base::Diagnostics found;
  if (optimum.least_tpot > 0) {
    base::Diagnostic& d =
        found.error("O2077", fmt::format("no deployment of `{}` on `{}` is within the limits", r.model, r.system));
    if (r.ttft_limit)
      d.note(fmt::format("time to the first token: at most {:g} s, the least is {:.4g} s", *r.ttft_limit,
                         optimum.least_ttft));
    if (r.tpot_limit)
      d.note(
          fmt::format("time between tokens: at most {:g} s, the least is {:.4g} s", *r.tpot_limit, optimum.least_tpot));
    if (optimum.nearest)
      d.note(fmt::format("the nearest deployment, {}, has {:.4g} s and {:.4g} s, {:.3g} times a limit",
                         plan_text(optimum.nearest->deployment), optimum.nearest->service.ttft.mean,
                         optimum.nearest->service.tpot, limits.used(optimum.nearest->service)));
    d.hint("raise a limit, or allow more accelerators");
  } else if (comes_too_fast(optimum) && optimum.most_capacity > *load.rate) {
    found
        .error("O2078", fmt::format("requests come at more than {:.3g} % of what `{}` can be served", limits.load * 100,
                                    r.model))
        .note(fmt::format("{:.4g} requests a second come, at most {:.4g} can be served: {:.3g} % of that", *load.rate,
                          optimum.most_capacity, *load.rate / optimum.most_capacity * 100))
        .hint("allow more accelerators (`--gpus`, `--replicas`), or `--load-limit 1`, which leaves bursts no room");
  } else if (comes_too_fast(optimum)) {
    base::Diagnostic& d = found.error("O2078", fmt::format("requests come faster than `{}` can be served: the queue "
                                                           "would grow without end",
                                                           r.model));
    if (is_one(space)) {
      const serving::Service s = evaluate(model, *machine.system, only(space), load, *machine.operators);
      d.note(fmt::format("{:.4g} requests a second come, {:.4g} can be served, {:.3g} % of them", *load.rate,
                         s.capacity, s.capacity / *load.rate * 100));
    } else if (optimum.most_capacity > 0) {
      d.note(fmt::format("{:.4g} requests a second come, at most {:.4g} can be served, {:.3g} % of them", *load.rate,
                         optimum.most_capacity, optimum.most_capacity / *load.rate * 100));
    }
    d.hint(r.trace.empty() ? "allow more accelerators (`--gpus`, `--replicas`) or a lower rate"
                           : "allow more accelerators (`--gpus`, `--replicas`), or `--simulate`: the trace ends");
  } else if (pruned(optimum, "capacity")) {
    base::Diagnostic& d = found.error("O2076", fmt::format("no deployment of `{}` fits on `{}`", r.model, r.system));
    if (is_one(space)) {
      const Deployment one = completed(only(space), machine.system->accelerator);
      const serving::KvMemory m = kv_memory(model, *machine.system, one);
      d.note(memory_note(m, one));
      d.note(blocks_note(m, one, load.prompt.average() + load.output.average()));
    }
    if (optimum.least_lacking > 0)
      d.note(fmt::format("the nearest one lacks {} on each accelerator", gigabytes(optimum.least_lacking)));
    d.hint("take more accelerators (`--gpus`, `--tp`), fewer bits (`--precision fp8`), or shorter requests");
  } else {
    found
        .error("O2072", fmt::format("no deployment of `{}` on {} accelerators divides it", r.model,
                                    machine.most > 0 ? std::to_string(machine.most) : "as many"))
        .hint("leave degrees open, or take others");
  }
  found.throw_if_errors();
  throw std::logic_error("refuse: nothing to say");
}

}  // namespace orrery::verbs
