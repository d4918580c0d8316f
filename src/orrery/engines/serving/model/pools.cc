// The slower pool governs. With X requests a second,
//
//   prompts    a group reads B / I prompts in a step, which bounds X; a request alone takes t, and queues (waiting.h)
//   transfer   all keys and values of the prompt, after it has been read
//   decoding   R = X (O - 1) s(R / groups) sequences at once, s the step that decodes; R at most what blocks and
//              max_sequences allow
//
// The first token comes with the first step of the second pool. Users: R solves R + X(R) TTFT = users by bisection, X
// rising with R; where X or R is at its bound, the rest of the users wait, and the time to the first token is what
// Little's law leaves, (users - R) / X. At a rate, R solves X(R) = rate, and beyond either bound the queue grows.
//
// The pools may stand on different kinds of accelerators: each has its own memory, steps and limits, and what they cost
// is the sum of both.
//
// Cost: 40 bisections of one step each, some 10 us.
#include "orrery/engines/serving/model/pools.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/waiting.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr int kBisections = 40;

// The pool that reads prompts.
struct PromptPool {
  double alone = 0;    // seconds of a request by itself
  double each = 0;     // of one among as many as a step takes, on a stage
  Count together = 1;  // those
  double most = 0;     // requests a second
  double groups = 1;
};

PromptPool prompt_pool(const StepModel& steps, const Load& load) {
  const Deployment& d = steps.deployment();
  const Count prompt = base::saturated(load.prompt.average() + 0.5);
  const Count fresh = std::max<Count>(1, base::saturated(load.prompt.average() * (1 - load.prefix_hit) + 0.5));
  PromptPool out;
  for (Count left = fresh; left > 0;) {
    const Count now = std::min(left, d.max_batched_tokens);
    StepWork step;
    step.add_prompt(now, prompt - left, now == left);
    out.alone += steps.seconds(step);
    left -= now;
  }
  // As many in a step as its budget allows.
  const Count together = out.together = std::max<Count>(1, d.max_batched_tokens / fresh);
  StepWork full;
  for (Count i = 0; i < together; ++i) full.add_prompt(fresh, prompt - fresh, true);
  const double batch = together > 1 ? steps.seconds(full) / static_cast<double>(together) : out.alone;
  out.each = batch;
  out.groups = static_cast<double>(d.replicas * d.dp);
  out.most = out.groups / std::min(batch, out.alone);
  out.alone *= static_cast<double>(d.pp);
  return out;
}

class DecodingPool {
 public:
  DecodingPool(const StepModel& steps, const Load& load, const KvMemory& memory)
      : steps_(steps),
        groups_(static_cast<double>(steps.deployment().replicas * steps.deployment().dp)),
        stages_(static_cast<double>(steps.deployment().pp)),
        context_(load.prompt.average() + load.output.average() / 2),
        output_(load.output.average()) {
    const Count held = base::saturated(context_ + 0.5);
    blocks_ = static_cast<double>(memory.blocks_for(held, 1));
    const double admitted = static_cast<double>(steps.deployment().max_sequences);
    const double fit = blocks_ > 0 ? std::floor(static_cast<double>(memory.blocks) / blocks_) : admitted;
    most_ = groups_ * std::min(admitted, std::max(1.0, fit));
  }

  double most() const { return most_; }
  double groups() const { return groups_; }
  double blocks() const { return blocks_; }
  StepCost step(double running) const {
    StepWork work;
    work.decodes = std::max<Count>(1, base::saturated(running / groups_ / stages_ + 0.5));
    work.decode_context = static_cast<double>(work.decodes) * context_;
    return steps_.cost(work);
  }
  double tpot(double running) const { return stages_ * step(running).seconds / steps_.deployment().tokens_per_step(); }
  // Requests a second that keep so many running.
  double rate(double running) const { return running / (std::max(1.0, output_ - 1) * tpot(running)); }
  // The least that run at such a rate.
  double running(double rate_wanted) const {
    double low = 0, high = most_;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      (rate(middle) < rate_wanted ? low : high) = middle;
    }
    return high;
  }

 private:
  const StepModel& steps_;
  double groups_, stages_, context_, output_, blocks_ = 0, most_ = 0;
};

// The pools with what engines do on their kinds, and whether each holds the model and a request.
struct Fit {
  Fit(const ServedModel& model, const PoolKinds& on, const Pools& asked, const Load& load)
      : pools{completed(asked.prompts, on.prompts.system->accelerator),
              completed(asked.decoding, on.decoding.system->accelerator)},
        memory(kv_memory(model, *on.decoding.system, pools.decoding)) {
    const KvMemory read = kv_memory(model, *on.prompts.system, pools.prompts);
    const Count prompt = base::saturated(load.prompt.average() + 0.5);
    concurrency =
        max_concurrency(memory, pools.decoding, base::saturated(load.prompt.average() + load.output.average() + 0.5));
    fits = memory.groups.empty() ? memory.caches > 0 && read.caches > 0
                                 : concurrency >= 1 && max_concurrency(read, pools.prompts, prompt) >= 1;
  }

  Pools pools;
  KvMemory memory;         // of the decoding pool
  double concurrency = 0;  // requests that it holds
  bool fits = false;
};

}  // namespace

double transfer_seconds(const ServedModel& model, const PoolKinds& on, const Pools& pools, Count prompt) {
  const Deployment& from = pools.prompts;
  double bytes = 0;
  const double width = machine::bytes_per_element(from.cache_precision);
  for (const ServedLayers& kind : model.kinds)
    bytes +=
        static_cast<double>(kind.layers) * (kind.cached(static_cast<double>(prompt), 1, width) + kind.state * width);
  const Count ranks = std::min(from.tp * from.pp, pools.decoding.tp * pools.decoding.pp);
  const bool one = on.prompts.system == on.decoding.system;
  const auto over = [&](const cluster::System& system) {
    const collective::Fabric fabric = served_fabric(system.fabric);
    if (fabric.count == 0) return 0.0;
    const int level =
        one ? collective::level_between(fabric, static_cast<int>(pools.accelerators()) - 1) : fabric.count - 1;
    return collective::message_seconds(fabric, level, bytes / static_cast<double>(ranks));
  };
  return std::max(over(*on.prompts.system), over(*on.decoding.system));
}

PoolCapacities capacities(const ServedModel& model, const PoolKinds& on, const Pools& pools, const Load& load) {
  const Fit fit(model, on, pools, load);
  if (!fit.fits) return {};
  const StepModel reading(model, *on.prompts.system, fit.pools.prompts, *on.prompts.operators);
  const StepModel going_on(model, *on.decoding.system, fit.pools.decoding, *on.decoding.operators);
  const DecodingPool decoding(going_on, load, fit.memory);
  return {prompt_pool(reading, load).most, decoding.rate(decoding.most())};
}

Service evaluate(const ServedModel& model, const PoolKinds& on, const Pools& pools, const Load& load) {
  const Fit fit(model, on, pools, load);
  const Pools& p = fit.pools;
  Service out;
  out.memory = fit.memory;
  out.max_concurrency = fit.concurrency;
  out.fits = fit.fits;
  if (!out.fits) return out;
  const StepModel reading(model, *on.prompts.system, p.prompts, *on.prompts.operators);
  const StepModel going_on(model, *on.decoding.system, p.decoding, *on.decoding.operators);
  const PromptPool prompts = prompt_pool(reading, load);
  const DecodingPool decoding(going_on, load, out.memory);
  out.capacity = std::min(prompts.most, decoding.rate(decoding.most()));
  const double transfer = transfer_seconds(model, on, p, base::saturated(load.prompt.average() + 0.5));
  const auto base = [&](double running) { return prompts.alone + transfer + decoding.tpot(running); };
  // A pool of prompts has no other steps; a group's share of the rate queues for a step after the other.
  const auto first = [&](double rate) {
    PromptQueue queue;
    queue.rate = rate / prompts.groups;
    queue.variation = load.variation(prompts.groups);
    queue.batch = prompts.together > 1 ? static_cast<double>(prompts.together) : 0.5;
    queue.first = prompts.alone;
    queue.full = prompts.together > 1 ? prompts.each * queue.batch : prompts.each;
    if (prompts.together > 1)
      for (const double n : PromptQueue::kPrompts)  // from one alone to a full step, and steps of those
        queue.begun[queue.known++] =
            n < queue.batch ? std::lerp(prompts.alone, queue.full, (n - 1) / (queue.batch - 1)) : prompts.each * n;
    Spread out = first_token(queue);
    // The step behind that in which it comes, where prompts that came before wait for it.
    if (p.prompts.pp == 1) {
      const double step = prompts.alone, busy = std::min(1.0, queue.rate * step);
      const double behind =
          static_cast<double>(p.prompts.steps_ahead()) * busy * -std::expm1(-queue.rate * step) * step;
      out.add(behind, behind * (step - behind));
    }
    return out;
  };
  const auto wait = [&](double rate) { return first(rate).mean; };
  double rate = 0;
  if (load.concurrency) {
    out.stable = true;
    double low = 0, high = decoding.most();
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2, x = decoding.rate(middle);
      const bool below = x < prompts.most && middle + x * (base(middle) + wait(x)) < *load.concurrency;
      (below ? low : high) = middle;
    }
    out.running = high;
    rate = std::min(decoding.rate(high), prompts.most);
    out.ttft.mean = std::max(base(high), (*load.concurrency - high) / rate);
  } else {
    rate = *load.rate;
    out.stable = rate < out.capacity;
    if (!out.stable) return out;
    out.running = decoding.running(rate);
    Spread spread = first(rate);
    spread.least += transfer + decoding.tpot(out.running);
    out.ttft = percentiles(spread);
  }
  out.step = decoding.step(out.running);
  out.tpot = load.output.average() > 1 ? decoding.tpot(out.running) : 0;
  out.e2e = out.ttft.mean + (load.output.average() - 1) * out.tpot;
  out.output_tokens_per_s = rate * load.output.average();
  out.per_user = load.output.average() / out.e2e;
  out.running /= decoding.groups();
  out.occupancy = !out.memory.groups.empty()
                      ? std::min(1.0, out.running * decoding.blocks() / static_cast<double>(out.memory.blocks))
                      : 0;
  const auto sum = [&](double of_prompts, double of_decoding) {
    return of_prompts > 0 && of_decoding > 0 ? static_cast<double>(p.prompts.accelerators()) * of_prompts +
                                                   static_cast<double>(p.decoding.accelerators()) * of_decoding
                                             : 0;
  };
  const cluster::System &first_system = *on.prompts.system, &second_system = *on.decoding.system;
  add_prices(static_cast<double>(p.accelerators()),
             sum(first_system.price_per_gpu_hour, second_system.price_per_gpu_hour),
             sum(first_system.watts_per_gpu * first_system.pue, second_system.watts_per_gpu * second_system.pue), out);
  return out;
}

}  // namespace orrery::serving
