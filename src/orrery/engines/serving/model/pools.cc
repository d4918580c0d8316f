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
    blocks_ = static_cast<double>(memory.blocks_for(held, std::min(steps.deployment().max_batched_tokens, held)));
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

}  // namespace

double transfer_seconds(const ServedModel& model, const cluster::System& system, const Pools& pools, Count prompt) {
  const Deployment& from = pools.prompts;
  double bytes = 0;
  const double width = machine::bytes_per_element(from.cache_precision);
  for (const ServedLayers& kind : model.kinds)
    bytes +=
        static_cast<double>(kind.layers) * (kind.cached(static_cast<double>(prompt), 1, width) + kind.state * width);
  const Count ranks = std::min(from.tp * from.pp, pools.decoding.tp * pools.decoding.pp);
  const collective::Fabric fabric = served_fabric(system.fabric);
  if (fabric.count == 0) return 0;
  const int level = collective::level_between(fabric, static_cast<int>(pools.accelerators()) - 1);
  return collective::message_seconds(fabric, level, bytes / static_cast<double>(ranks));
}

Service evaluate(const ServedModel& model, const cluster::System& system, const Pools& pools, const Load& load,
                 const machine::OperatorModel& operators) {
  const Pools p{completed(pools.prompts), completed(pools.decoding)};
  Service out;
  out.memory = kv_memory(model, system, p.decoding);
  const Count prompt = base::saturated(load.prompt.average() + 0.5);
  const Count longest = base::saturated(load.prompt.average() + load.output.average() + 0.5);
  out.max_concurrency = max_concurrency(out.memory, p.decoding, longest);
  const bool caches = !out.memory.groups.empty();
  const KvMemory read = kv_memory(model, system, p.prompts);
  out.fits = caches ? out.max_concurrency >= 1 && max_concurrency(read, p.prompts, prompt) >= 1
                    : out.memory.caches > 0 && read.caches > 0;
  if (!out.fits) return out;
  const StepModel reading(model, system, p.prompts, operators), going_on(model, system, p.decoding, operators);
  const PromptPool prompts = prompt_pool(reading, load);
  const DecodingPool decoding(going_on, load, out.memory);
  out.capacity = std::min(prompts.most, decoding.rate(decoding.most()));
  const double transfer = transfer_seconds(model, system, p, prompt);
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
  out.occupancy = caches ? std::min(1.0, out.running * decoding.blocks() / static_cast<double>(out.memory.blocks)) : 0;
  add_prices(system, static_cast<double>(p.accelerators()), out);
  return out;
}

}  // namespace orrery::serving
