// The closed form: what a schedule repeats, step by step, is summed up instead.
//
// Let u requests share a group of attention (a microbatch of it, where stages are filled with pp of them), prompts have
// I tokens that no cache has, outputs O, and a step at most B tokens. A request takes P steps until its first token,
// P = max(1, I / (B - D)) beside D decoding ones, then O - 1 steps of one token each: a cycle of N = O - 1 + P steps.
// Some share f of the steps have prompts in them, of g requests each, so that a request's prompt is read once in its
// cycle: f g = u / N. With s(prompts, decodes) the step's time (step.cc),
//
//   mean step  s = f s(g, u - g) + (1 - f) s(0, u),   throughput  u O / (N s),   TTFT  P s(g, u - g) + waiting
//
// g follows from how requests come. Users whose requests are equally long finish together as they began together, so
// that steps with prompts are as full as they can be: g = min(u, (B - u) / (I - 1)). Where lengths differ or requests
// come at random, as many begin in a step as a Poisson distribution says: f = 1 - exp(-u/N). Where prompts need more
// than all steps have (f g cannot be u / N with f <= 1) every step is full: g = B / (I + O), and requests wait for
// their turn. Engines that do not mix (SGLang) stop decoding for the steps with prompts: users whose requests are
// equally long all have theirs read, one step after the other, before the first of them goes on, and so they stay
// together: u / g steps read prompts beside the O - 1 that decode, be that none.
//
// Where outputs differ little, users who began together drift apart. With a deviation of v steps a request, those who
// began within u / most steps (most: requests that a step can begin) have theirs k requests later within
//
//   L = min(N, sqrt((u / most)^2 + 12 v^2 k))
//
// of each other, so that u / L begin in a step there, by a Poisson distribution as above, as many as it can at most. k
// is that of the waves that count: of 20 but for the first five, as in simulation, where none are given.
//
// Whole prompts share a step in the end, as those that are cut move their users a step back. A user's next request
// comes `late_steps` after its last token (deployment.cc); groups that ended one step apart so wait for each other's
// prompts. A request that comes at random finds the next step scheduled already, where the engine does so while one
// runs, and waits for that as well.
//
// A measured run begins with all users at once, whose prompts queue: where each sends `waves` requests, one of them has
// waited for half of those prompts.
//
// It ends with its last request, and counts all tokens over all of that time: waves of R, the last one of fewer.
//
//   users      at most R run, R = min(max_sequences, those that have room in the blocks: KvMemory::users); the others
//              wait, and what they wait is R's throughput on them. A request holds its longest where all are at one
//              point of their lives, its prompt and half of its output where they are spread
//   arrivals   u solves u = rate x (N s), from below, where a request finds u others; waiting: waiting.h. Beyond the
//              rate that R users reach the queue grows: not stable
//
// Cost: some 7 evaluations of a step for users, 30 for arrivals.
#include "orrery/engines/serving/model/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/serving/model/host_copies.h"
#include "orrery/engines/serving/model/waiting.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr double kWaves = 20;  // requests of a user that are simulated, of which the first quarter does not count

// What a group does again and again.
struct Cycle {
  double users = 0;
  double seconds = 0;     // of a request that does not wait to be admitted
  double ttft = 0;        // of it
  double first_ttft = 0;  // where all users begin at once
  double early_ttft = 0;  // while steps that all begin in are filled by prompts that are cut
  double groups = 1;      // of users whose prompts share a step
  double tpot = 0;
  double mixed_seconds = 0, mean_seconds = 0;  // of a step
  double share = 0;                            // of the steps: those with prompts
  double last_less = 0;                        // of tpot, where no further prompts come
};

class Cycles {
 public:
  // `copies`: seconds in which the host's copies come that a prompt's step waits for.
  Cycles(const StepModel& steps, const Load& load, double copies)
      : steps_(steps),
        d_(steps.deployment()),
        prompt_(load.prompt.average()),
        fresh_(std::max(1.0, prompt_ * (1 - load.prefix_hit - load.host_hit))),
        copies_(copies),
        output_(load.output.average()),
        further_(d_.steps_for(output_ - 1)),
        queries_(static_cast<double>(d_.queries())),
        together_(load.concurrency && !load.output.varies() && !d_.guesses_vary()),
        drift_(load.concurrency ? drift(load) : std::numeric_limits<double>::infinity()) {}

  double prompt() const { return prompt_; }
  double output() const { return output_; }
  bool together() const { return together_; }

  // Of `users` that run at once in a group; where none waits for another's place, each is late with its next request.
  Cycle of(double users, bool late = false) const {
    const double stages = static_cast<double>(d_.pp), slots = microbatches(users);
    Cycle out = microbatch(std::max(1.0, users / slots), late ? static_cast<double>(d_.late_steps()) : 0);
    out.users = users;
    // Where microbatches begin to have prompts, one behind the other, those behind wait for a stage, on average half as
    // long as the last one, and so does, of their requests, the group that is first; stages wait for what is shorter.
    if (together_ && slots > 1 && out.share < 1 && rules(d_.engine).mixes) {
      const double longer = out.mixed_seconds - steps_.seconds(work(0, users / slots));
      out.ttft += (slots - 1) / 2 * longer / stages / std::max(1.0, out.groups);
      out.seconds += (slots - 1) * longer / stages;
      if (output_ > 1)
        out.tpot = (out.seconds - out.ttft) / (output_ - 1);
      else
        out.ttft = out.seconds;
    }
    out.seconds *= stages, out.ttft *= stages, out.tpot *= stages, out.first_ttft *= stages;
    out.mixed_seconds *= stages, out.mean_seconds *= stages;
    return out;
  }

  // Of a pipeline, those that its users fill: of users who begin and end together, as many as their prompts take steps.
  double microbatches(double users) const {
    const double steps = users * fresh_ / static_cast<double>(d_.max_batched_tokens);
    return together_ ? std::clamp(steps, 1.0, static_cast<double>(d_.pp)) : static_cast<double>(d_.pp);
  }

  // How prompts queue where requests come at `rate` and `users` run, of each microbatch.
  PromptQueue queue(double rate, double users, double variation) const {
    const double stages = static_cast<double>(d_.pp), u = users / stages;
    const bool mixes = rules(d_.engine).mixes;
    const double room = std::max(1.0, static_cast<double>(d_.max_batched_tokens) - (mixes ? u * queries_ : 0));
    const double beside = mixes ? u : 0;
    PromptQueue out;
    out.rate = rate / stages;
    out.variation = variation;
    out.batch = room / fresh_;
    const double pure = steps_.seconds(work(0, std::max(1.0, u)));
    out.pure = stages * pure * std::min(1.0, u);
    if (out.batch < 1) {
      out.first = out.full = u < 1 ? stages * alone() : stages * steps_.seconds(work(out.batch, beside)) / out.batch;
      return out;
    }
    const auto seconds = [&](double prompts) { return stages * steps_.seconds(work(prompts, beside)); };
    out.first = u < 1 ? stages * alone() : seconds(1);
    // Beyond a step's budget prompts take as many steps as they fill.
    out.full = seconds(out.batch);
    for (const double prompts : PromptQueue::kPrompts) {
      const double took = prompts <= out.batch ? seconds(prompts) : out.full * prompts / out.batch;
      out.begun[out.known++] = took;
      if (prompts >= 8 && out.rate * took < prompts / 4) break;
    }
    return out;
  }

  StepCost decoding(double users) const { return steps_.cost(work(0, std::max(1.0, users / microbatches(users)))); }

 private:
  // The prompts of g requests and d decoding sequences.
  StepWork work(double g, double d) const {
    StepWork out;
    out.prompt_tokens = count(g * fresh_);
    out.prompt_pairs = g * fresh_ * (prompt_ - fresh_ + (fresh_ + 1) / 2);
    out.prompts = g > 0 ? std::max<Count>(1, count(g)) : 0;
    out.prompt_keys = g * prompt_;
    out.prompts_ended = out.prompts;
    out.load_seconds = g * copies_;
    out.decodes = count(d);
    out.decode_context = static_cast<double>(out.decodes) * (prompt_ + output_ / 2);
    return out;
  }
  static Count count(double value) { return base::saturated(value + 0.5); }

  // 12 v^2 k of users: the mean of k^(-1/2) over the waves that count stands for k.
  double drift(const Load& load) const {
    const double per_step = d_.tokens_per_step(), tokens = output_ * output_ * load.output.variation();
    const double steps = tokens / (per_step * per_step) +
                         (output_ - 1) * d_.tokens_per_step_variance() / (per_step * per_step * per_step);
    const double before = load.waves > 0 ? 0.5 : kWaves / 4 - 0.5, last = (load.waves > 0 ? load.waves : kWaves) - 0.5;
    const double root = last > before ? (std::sqrt(last) + std::sqrt(before)) / 2 : std::sqrt(0.5);
    return 12 * steps * root * root;
  }
  // Requests that come in a step, on average, while the users come that began together; `mean`: in all steps.
  double come_together(double u, double mean, double most) const {
    if (together_) return u;
    const double first = rules(d_.engine).mixes ? u / most : 1;  // who stays together ends together
    return std::max(mean, u / std::sqrt(first * first + drift_));
  }

  // A prompt of its own, in steps of the most tokens. Exact up to a thousand steps; of more, those between two of some
  // five hundred are taken to lie on a straight line.
  double alone() const {
    const Count all = count(fresh_), before = count(prompt_) - all, budget = d_.max_batched_tokens;
    const Count whole = (all - 1) / budget, stride = std::max<Count>(1, whole / 512);
    const auto seconds = [&](Count step, double copies = 0) {
      StepWork one;
      one.add_prompt(std::min(budget, all - step * budget), before + step * budget, step == whole);
      one.load_seconds = copies;
      return steps_.seconds(one);
    };
    double sum = seconds(whole);
    if (copies_ > 0) sum += seconds(0, copies_) - seconds(0);
    for (Count step = 0; step < whole; step += stride) {
      const Count count = std::min(stride, whole - step);
      sum += count == 1 ? seconds(step) : static_cast<double>(count) * (seconds(step) + seconds(step + count - 1)) / 2;
    }
    return sum;
  }

  Cycle microbatch(double u, double late) const {
    Cycle out;
    if (u <= 1) {
      out.ttft = out.first_ttft = out.early_ttft = alone();
      out.tpot = output_ > 1 ? steps_.seconds(work(0, 1)) * further_ / (output_ - 1) : 0;
      out.seconds = out.ttft + (output_ - 1) * out.tpot;
      out.mixed_seconds = out.ttft, out.mean_seconds = std::max(out.tpot, 0.0);
      return out;
    }
    const double budget = static_cast<double>(d_.max_batched_tokens);
    const bool mixes = rules(d_.engine).mixes;
    const double spare = std::max(1.0, budget - (mixes ? u * queries_ : 0));
    if (together_ && u * fresh_ <= spare) late = 0;  // all end at once: nothing runs that they could be late for
    double most = mixes ? spare / std::max(1.0, fresh_ - 1) : spare / fresh_;  // requests that a step can begin
    const double full = most;
    if (mixes && most >= 1 && (together_ || d_.engine == Engine::kTensorRtLlm)) most = std::floor(most);
    const double first = std::max(1.0, 1 / most);  // steps until the first token
    double steps = further_ + (mixes ? first + late : 0);
    const double begun = u / std::max(1.0, steps);  // in a step, on average
    const double dense = come_together(u, begun, most);
    double g = std::min({u, most, dense / -std::expm1(-dense)});
    double share = begun / g;  // of the steps: those with prompts
    if (mixes && share > 1) {
      g = budget / (fresh_ + (further_ + 1) * queries_);
      steps = u / g, share = 1;
    }
    const double runs = u * (1 - late / std::max(1.0, steps));
    const double decoding = share >= 1 && mixes ? g * (further_ + 1) : std::max(0.0, runs - std::min(g, u));
    out.mixed_seconds = steps_.seconds(work(g, mixes ? decoding : 0));
    const double pure = share < 1 || !mixes ? steps_.seconds(work(0, runs)) : 0;
    const double reading = mixes ? steps * share : u / g;  // steps with prompts
    const double rest = mixes ? steps * (1 - share) : steps;
    out.seconds = reading * out.mixed_seconds + rest * pure;
    out.mean_seconds = out.seconds / (reading + rest);
    // What decodes passes through steps with prompts as often as they come, its own apart.
    out.ttft = (share >= 1 && mixes ? std::max(first + late, steps - further_) : first) * out.mixed_seconds;
    const double cut = d_.engine == Engine::kTensorRtLlm ? most : full;  // where prompts fill steps to the brim
    const double filled = std::min(u, cut);
    const double brim = filled > g ? steps_.seconds(work(filled, mixes ? u - filled : 0)) : out.mixed_seconds;
    out.groups = u / g;
    if (mixes && together_ && share < 1 && most >= 1) {
      const double whole = std::floor(u / g), left = u - whole * g;  // requests that the last step of them begins
      const double last = left > 0 ? steps_.seconds(work(left, std::max(0.0, runs - left))) : 0;
      out.ttft = (whole * g * out.mixed_seconds + left * last) / u;
      out.seconds += (whole - reading) * out.mixed_seconds + last + (reading - whole - (left > 0 ? 1 : 0)) * pure;
    }
    // While a request is late, others' prompts are read, which it does not meet once it decodes.
    const double read = share >= 1 || !mixes ? late
                        : together_          ? late_reading(u / g, std::ceil(first), late)
                                             : late * std::min(1.0, dense / g);
    if (mixes && share < 1) out.ttft += read * out.mixed_seconds + (late - read) * pure;
    if (mixes && share < 1 && output_ > 1)
      out.last_less = ((reading - first) / 2 - read) * (out.mixed_seconds - pure) / (output_ - 1);
    out.first_ttft = brim * (first + std::max(1.0, u * fresh_ / budget)) / 2;
    if (!mixes && !together_) out.ttft *= std::max(1.0, (1 + dense / most) / 2);  // prompts that came beside
    out.ttft = std::min(out.ttft, out.seconds - further_ * pure);
    out.tpot = output_ > 1 ? (out.seconds - out.ttft) / (output_ - 1) : 0;
    if (!mixes && together_) {
      out.ttft = out.first_ttft;
      out.tpot = output_ > 1 ? (out.seconds - out.ttft) / (output_ - 1) : 0;
    }
    if (!(output_ > 1)) out.ttft = out.seconds;  // nothing follows
    out.early_ttft = out.ttft + (together_ ? std::max(0.0, brim - out.mixed_seconds) : 0);
    out.share = std::min(1.0, share);
    return out;
  }

  // Of the steps that a request is late, those with prompts, on average: groups that ended one step apart have read
  // theirs since, of the first one none.
  static double late_reading(double groups, double first, double late) {
    double sum = 0, count = 0, read = 0;
    for (double j = 0; count < groups && read < late; ++j) {
      read = std::min(late, j * first);
      // Behind those that find as many as can be, all are alike.
      const double alike = read < late ? std::min(1.0, groups - j) : groups - j;
      sum += alike * read, count += alike;
    }
    return sum / std::max(1.0, count);
  }

  const StepModel& steps_;
  const Deployment& d_;
  double prompt_, fresh_, copies_, output_;
  double further_;  // steps after the first token
  double queries_;  // of a decoding sequence in a step
  bool together_;
  double drift_;  // 12 v^2 k, squared steps
};

// Requests come at `rate` to a group in which at most `most` run. Each finds as many others as run on average, and they
// go on as if they were one more.
Cycle arrivals(const Cycles& cycles, double rate, double most) {
  double users = 0;
  Cycle cycle = cycles.of(1);
  for (int i = 0; i < 60; ++i) {
    const double next = std::min(most, rate * cycle.seconds);
    if (std::abs(next - users) <= 1e-6 * next) break;
    users = next;
    cycle = cycles.of(std::min(most, users + 1));
  }
  cycle.users = users;
  return cycle;
}

// The step that was scheduled while the one in which a request comes runs: it is one of those that go by, with the
// prompts of the others or without, and there where any other goes on or came before: with a probability of 1 - e^-u.
void add_step_ahead(const Cycle& cycle, const Deployment& d, Spread& out) {
  const double u = cycle.users, there = static_cast<double>(d.steps_ahead()) * -std::expm1(-u);
  const double pure = cycle.share < 1 ? (cycle.mean_seconds - cycle.share * cycle.mixed_seconds) / (1 - cycle.share)
                                      : cycle.mean_seconds;
  const double step = std::lerp(pure, cycle.mean_seconds, u / (u + 1)), mean = there * step;
  out.add(mean, mean * (step - mean));
}

// What the time to the first token is beyond a steady run's without waiting. Users beyond those that run wait for them:
// where R run for T seconds each, request n is admitted at n / R times T, in whole times where all begin and end
// together, and comes when the request of its user before it, n - users, has ended; of the first wave, at 0. Where
// requests are spread over their lives (cycle.share of it), they are admitted one by one. A prompt that a step has no
// place for to its end has its first token a step later, and so have its user's next ones: in every wave one more of
// the groups that begin together is as small as a step can begin whole.
double beyond_steady(const Cycle& cycle, double users, double waves) {
  const double most = cycle.users, beyond = std::max(0.0, users - most);
  if (!(waves > 0)) return beyond / most * cycle.seconds;
  const double groups = std::max(1.0, cycle.groups);
  const double settled = waves <= groups + 1 ? (waves - 1) / (2 * groups) : 1 - (groups + 1) / (2 * waves);
  const double early = (1 - settled) * (cycle.early_ttft - cycle.ttft);
  const double at_once = (cycle.first_ttft - cycle.early_ttft) / waves;
  if (!(beyond > 0)) return early + at_once;
  const auto admitted = [&](double requests) {  // the sum of the first ones' times, in units of T
    const double batches = std::floor(requests / most);
    return most * batches * (batches - 1) / 2 + batches * (requests - batches * most);
  };
  const double all = users * waves;
  const double together = (admitted(all) - admitted(all - users) - (all - users)) / all;
  const double spread = (beyond * beyond / (2 * most * users) - beyond / most) / waves + beyond / most;
  return early + at_once + std::lerp(together, spread, cycle.share) * cycle.seconds;
}

// Until the last request of `waves` from each user has ended: as many run as can, and of those that all begin and end
// together the last ones are fewer. After the last wave no prompts come.
double until_all_end(const Cycles& cycles, const Cycle& cycle, double users, double waves) {
  const double less = cycle.last_less * (cycles.output() - 1), most = cycle.users;
  if (users <= most) return waves * (cycle.seconds + beyond_steady(cycle, users, waves)) - less;
  const double all = users * waves, whole = std::floor(all / most), left = all - whole * most;
  const double together = whole * cycle.seconds + (left > 0 ? cycles.of(left).seconds : 0);
  return std::lerp(together, all / most * cycle.seconds, cycle.share) + cycle.first_ttft - cycle.early_ttft - less;
}

}  // namespace

void add_prices(double accelerators, double usd_per_hour, double watts, Service& out) {
  const double tokens = out.output_tokens_per_s;
  if (!(tokens > 0)) return;
  out.per_accelerator = tokens / accelerators;
  out.usd_per_million_tokens = usd_per_hour / 3600 / tokens * 1e6;
  out.joules_per_token = watts / tokens;
}

Service evaluate(const ServedModel& model, const cluster::System& system, const Deployment& deployment,
                 const Load& load, const machine::OperatorModel& operators) {
  const Deployment d = completed(deployment, system.accelerator);
  Service out;
  out.memory = kv_memory(model, system, d);
  const StepModel steps(model, system, d, operators);
  const HostCopies copies = host_copies(out.memory, d, system.accelerator, load);
  const Cycles cycles(steps, load, copies.beside());
  const Count longest = base::saturated(cycles.prompt() + cycles.output() + 0.5);
  out.max_concurrency = max_concurrency(out.memory, d, longest);
  const bool caches = !out.memory.groups.empty();
  out.fits = caches ? out.max_concurrency >= 1 : out.memory.caches > 0;
  if (!out.fits) return out;
  double held_blocks = 0;  // of a request, on average, while it decodes
  const auto users_within = [&](double output) {
    const Count held = base::saturated(cycles.prompt() + output + 0.5);
    held_blocks = static_cast<double>(out.memory.blocks_for(held, 1));
    const double admitted = static_cast<double>(d.max_sequences);
    return caches
               ? std::min(admitted, std::floor(out.memory.users(
                                        held, std::min(d.max_batched_tokens, base::saturated(cycles.prompt() + 0.5)))))
               : admitted;
  };
  // TensorRT-LLM keeps blocks for all of an output from the first token on.
  const bool reserves = d.engine == Engine::kTensorRtLlm && !d.evicts;
  double most = users_within(cycles.output() / (cycles.together() || reserves ? 1 : 2));
  // The more steps have prompts, the more evenly requests are spread over their lives.
  if (cycles.together() && !reserves) most = users_within(cycles.output() * (1 - cycles.of(most).share / 2));
  const double groups = static_cast<double>(d.replicas * d.dp);
  const Cycle full = cycles.of(most);
  // Fewer may get more done, as long as half of them do: what the memory holds besides is no harm.
  out.capacity = groups * most / full.seconds;
  for (double users = std::floor(most / 2); users >= 1; users = std::floor(users / 2)) {
    const double fewer = groups * users / cycles.of(users).seconds;
    if (!(fewer > out.capacity)) break;
    out.capacity = fewer;
  }
  if (copies.apart() > 0) out.capacity = std::min(out.capacity, groups / copies.apart());
  Cycle cycle;
  double each = 0;  // requests a second
  if (load.concurrency) {
    const double active = std::min(groups, *load.concurrency), all = *load.concurrency / active;
    const double users = beside_copies(
        all, copies.apart(), [&](double v) { return v > most ? most / full.seconds : v / cycles.of(v, true).seconds; });
    out.stable = true;
    cycle = users > most ? full : cycles.of(users, true);
    each = cycle.users / cycle.seconds;
    out.ttft.mean = cycle.ttft + beyond_steady(cycle, users, load.waves) + (all - users) / each;
    if (load.waves > 0) each = std::min(each, all * load.waves / until_all_end(cycles, cycle, users, load.waves));
    each *= active;
  } else {
    out.stable = *load.rate < out.capacity;
    if (!out.stable) return out;
    cycle = arrivals(cycles, *load.rate / groups, most);
    const double rate = *load.rate / groups, running = cycle.users;
    Spread first = first_token(cycles.queue(rate, running, load.variation(groups)));
    if (d.pp == 1) add_step_ahead(cycle, d, first);
    // How much longer requests stay where more run.
    const double near = cycles.of(std::max(1.0, 0.95 * running)).seconds;
    const double elasticity = running > 1 ? (1 - near / cycle.seconds) / 0.05 : 0;
    add_admission(rate, out.capacity / groups, running, most, elasticity, load.arrivals(groups), first);
    add_copies(rate, copies.apart(), load.arrivals(groups), first);
    out.ttft = percentiles(first);
    each = *load.rate;
  }
  out.tpot = cycle.tpot;
  if (load.concurrency && load.waves > 0)
    out.tpot -= cycle.last_less * std::min(1.0, cycle.users * groups / *load.concurrency) / load.waves;
  out.e2e = out.ttft.mean + (cycles.output() - 1) * out.tpot;
  out.output_tokens_per_s = each * cycles.output();
  out.per_user = cycles.output() / out.e2e;
  out.running = cycle.users;
  out.occupancy = caches ? std::min(1.0, cycle.users * held_blocks / static_cast<double>(out.memory.blocks)) : 0;
  out.step = cycles.decoding(cycle.users);
  const double all = static_cast<double>(d.accelerators());
  add_prices(all, system.price_per_gpu_hour * all, system.watts_per_gpu * system.pue * all, out);
  return out;
}

}  // namespace orrery::serving
