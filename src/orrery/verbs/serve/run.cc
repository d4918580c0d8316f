#include "orrery/verbs/serve/run.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/long_text_file.h"
#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/search/front.h"
#include "orrery/engines/serving/search/optimize_pools.h"
#include "orrery/formats/traces/request_trace.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/served_error.h"
#include "orrery/verbs/serve/launch.h"
#include "orrery/verbs/serve/served_question.h"
#include "orrery/verbs/serve/served_refusal.h"
#include "orrery/verbs/serve/served_simulation.h"
#include "orrery/verbs/serve/served_systems.h"
#include "orrery/verbs/serve/served_weights.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;
using serving::Found;

// What runs like the answer were predicted within, of first tokens on the kind that reads prompts; of pools and of
// guesses, none or few were measured.
ServingError error_of(const std::string& catalogue, const serving::ServedModel& model, const serving::PoolKinds& on,
                      const ServedAnswer& answer) {
  const std::vector<ServedKindError> kinds = read_served_kinds(catalogue);
  const Deployment& d = answer.first().deployment;
  const auto share = [&](ServedFigure figure) {
    const ServedKind kind = figure == ServedFigure::kTtft
                                ? kind_of(model, *on.prompts.system, answer.prompts().value_or(d))
                                : kind_of(model, *on.decoding.system, d);
    return served_share(kinds, kind, figure, answer.load.prompt.average(), answer.load.output.average());
  };
  const ServedShare tpot = share(ServedFigure::kTpot), ttft = share(ServedFigure::kTtft);
  ServingError out{tpot.share, ttft.share, share(ServedFigure::kThroughput).share, tpot.alike && ttft.alike, tpot.of};
  const bool guesses = d.drafted > 0, narrow = widens(model, d), copies = answer.load.host_hit > 0;
  if (guesses || narrow || copies || answer.prompts())
    out.widen(2, guesses  ? ", without guesses"
                 : narrow ? ", weights as wide as products"
                 : copies ? ", without copies in the host's memory"
                          : "");
  return out;
}

// The best deployment with a choice, or why there is none.
ForcedDeployment forced(const ServeRequest& r, const serving::ServedModel& model, const serving::Space& space,
                        const base::Budget& budget, const ServedAnswer& answer) {
  const serving::Space with = with_choice(space, r.why);
  const serving::Optimum optimum =
      optimize(model, with, answer.goal, answer.limits, answer.load, budget, {1, r.limits.threads});
  if (!optimum.best.empty()) return {r.why, optimum.best.front(), ""};
  if (!optimum.finished) return {r.why, std::nullopt, "the time did not suffice to look"};
  try {
    refuse(r, model, with, optimum, answer.load, answer.limits);
  } catch (const base::InputError& error) {
    const base::Diagnostic& why = error.diagnostics.front();
    return {r.why, std::nullopt, why.message + (why.notes.empty() ? "" : "; " + why.notes.front())};
  }
}

void warn_of_length(const serving::ServedModel& model, ServedAnswer& out) {
  double most = out.trace.empty() ? out.load.prompt.average() + out.load.output.average() : 0;
  for (const serving::Request& request : out.trace)
    most = std::max(most, static_cast<double>(request.prompt) + static_cast<double>(request.output));
  if (model.longest > 0 && most > static_cast<double>(model.longest))
    out.warnings
        .warning("O2074", fmt::format("prompt and answer of {:.0f} tokens are beyond the model's {} positions", most,
                                      model.longest))
        .hint("engines refuse such requests unless positions are stretched");
}

// Near the capacity a long run of chance decides.
void warn_of_queue(ServedAnswer& out) {
  const double share = out.load.rate ? *out.load.rate / out.first().service.capacity : 0;
  if (out.is_crowded() && !out.simulation)
    out.warnings
        .warning("O2078",
                 fmt::format("requests come at {:.0f} % of what can be served: how long they wait is a matter of "
                             "bursts, of which the time to the first token is a rough mean",
                             share * 100))
        .hint("`--simulate` has their waiting");
}

// Where blocks limit who runs, engines admit on a prompt's blocks and preempt once they lack: users that the closed
// form lets wait before their first token may wait behind it. Little's law says how long, so far may either be off.
void widen_by_preemption(ServedAnswer& out) {
  const Deployment& d = out.first().deployment;
  const serving::Service& s = out.first().service;
  if (!out.load.concurrency || out.prompts() || (d.engine == serving::Engine::kTensorRtLlm && !d.evicts)) return;
  const double groups = std::min(static_cast<double>(d.replicas * d.dp), *out.load.concurrency);
  const Count prompt = base::saturated(out.load.prompt.average() + 0.5);
  const Count each = s.memory.blocks_for(prompt, std::min(d.max_batched_tokens, prompt));
  const double begun = std::floor(static_cast<double>(s.memory.blocks) / static_cast<double>(std::max<Count>(1, each)));
  const double admitted =
      std::min(*out.load.concurrency, groups * std::min(begun, static_cast<double>(d.max_sequences)));
  const bool full = s.occupancy * (s.running + 1) >= s.running;
  const double waiting = admitted - s.running * groups;
  if (!full || waiting < 1) return;
  const double tokens = out.load.output.average(), wait = waiting * tokens / s.output_tokens_per_s;
  const double between = wait / std::max(1.0, tokens - 1);
  ServingError& error = out.expected_error;
  if (error.ttft) *error.ttft += wait / std::max(s.ttft.mean - wait, s.step.seconds);
  if (error.tpot) *error.tpot += between / (s.tpot + between);
  error.widen(1, error.ttft ? ", of loads that blocks hold" : "");
  if (out.simulation) return;
  out.warnings
      .warning(
          "O2086",
          fmt::format("blocks hold {:.4g} requests to their ends, but {} admits {:.4g} and preempts them later: up "
                      "to {:.3g} s of what they wait for first tokens lie behind these",
                      s.running * groups, serving::rules(d.engine).name, admitted, wait))
      .hint("`--simulate` preempts as the engine does");
}

// Measured runs were of steady loads; where nothing simulates the trace's bursts, nobody knows what they do.
void say_of_bursts(ServedAnswer& out) {
  out.expected_error.measured = false;
  if (out.simulation)
    out.expected_error.widen(2, out.expected_error.ttft ? ", of steady loads" : "");
  else
    out.warnings
        .warning("O2078", "the trace is not simulated: its bursts are not in the answer, and its errors not in theirs")
        .hint("leave `--prefix-hit` and `--host-hit` out, or allow more `--time-limit`");
  const serving::Service got = out.service();
  if ((out.limits.ttft && got.ttft.mean > *out.limits.ttft) || (out.limits.tpot && got.tpot > *out.limits.tpot))
    out.warnings.warning("O2077", "the closed form is within the limits, the trace's bursts are not: it chose too few")
        .hint("allow more accelerators (`--replicas`), or lower the limits until the simulation is within yours");
}

// Products that some machine cannot make.
void check_formats(const std::vector<serving::Machine>& machines, machine::Precision products,
                   base::Diagnostics& found) {
  for (const serving::Machine& machine : machines)
    if (!(machine.system->accelerator.peak(products) > 0))
      found
          .error("O2070",
                 fmt::format("`{}` does not compute in {}", machine.system->accelerator.name, machine::name(products)))
          .hint("take another `--precision`; `--weights` alone stores them in few bits and multiplies in 16");
}

// Operators are timed while nothing else runs; vLLM has limits of its own on processors (arg_utils.py).
void suit_here(ServeRequest& r) {
  r.limits.threads = 1;
  if (r.engine.value_or(serving::Engine::kVllm) != serving::Engine::kVllm) return;
  r.max_batched_tokens = r.max_batched_tokens.value_or(2048);
  r.max_sequences = r.max_sequences.value_or(std::min<base::Count>(128, *r.max_batched_tokens));
}

// Two pools, as they are.
void serve_by_pools(const ServeRequest& r, const serving::ServedModel& model,
                    const std::vector<serving::Machine>& machines, const ServedSystems& systems, ServedAnswer& out) {
  Found one;
  one.machine = systems.place(r.decode_system), one.prompts_on = systems.place(r.prefill_system);
  one.prompts = *r.prefill;
  const serving::PoolKinds on = kinds_of(machines, one);
  const cluster::System &first = *on.prompts.system, &second = *on.decoding.system;
  const serving::Pools pools{completed(base_of(r, *r.prefill), first.accelerator),
                             completed(base_of(r, *r.decode), second.accelerator)};
  base::Diagnostics found;
  check(model, pools.prompts, found);
  if (!found.has_errors()) check(model, pools.decoding, found);
  check_formats(machines, pools.decoding.precision, found);
  found.throw_if_errors();
  one.deployment = pools.decoding;
  one.service = evaluate(model, on, pools, out.load);
  const serving::Service& s = one.service;
  const double prompt = out.load.prompt.average();
  const serving::KvMemory read = kv_memory(model, first, pools.prompts);
  if (!s.fits)
    found.error("O2076", fmt::format("`{}` does not fit on both pools", r.model))
        .note("prompts: " + memory_note(read, pools.prompts))
        .note("prompts: " + blocks_note(read, pools.prompts, prompt))
        .note("decoding: " + memory_note(kv_memory(model, second, pools.decoding), pools.decoding))
        .note("decoding: " + blocks_note(s.memory, pools.decoding, prompt + out.load.output.average()))
        .hint("more tensor ranks, or fewer bits");
  else if (!s.stable)
    found.error("O2078", fmt::format("requests come faster than the pools serve `{}`", r.model))
        .note(fmt::format("{:g} requests a second come, {:.4g} can be served", *r.rate, s.capacity))
        .hint("more replicas of the pool that binds, or a lower rate");
  else if (out.limits = limits_of(r, false); !out.limits.allow(s, out.load.rate))
    found.error("O2077", "the pools are not within the limits")
        .note(fmt::format("time to the first token {:.4g} s, between tokens {:.4g} s", s.ttft.mean, s.tpot))
        .hint("raise a limit, or take more replicas");
  found.throw_if_errors();
  one.prompts = pools.prompts;
  out.best = {one};
  out.certificate.space = static_cast<double>(out.certificate.evaluated = 1);
  out.certificate.optimal = true;
  out.certificate.close(-s.per_accelerator, -s.per_accelerator);
}

// The best pair of pools, where it is better than the best of what has no pools.
void search_pools(const ServeRequest& r, const serving::ServedModel& model, const serving::Space& space,
                  const base::Budget& budget, ServedAnswer& out) {
  const serving::OptimumPools pools = optimize_pools(model, space, out.goal, out.limits, out.load, budget,
                                                     {static_cast<std::size_t>(r.top), r.limits.threads});
  out.ended_early = out.ended_early || !pools.finished;
  base::Certificate& proof = out.certificate;
  proof.space += pools.certificate.space;
  proof.evaluated += pools.certificate.evaluated;
  proof.seconds += pools.certificate.seconds;
  for (const base::Pruned& by : pools.certificate.pruned) {
    const auto same = std::find_if(proof.pruned.begin(), proof.pruned.end(),
                                   [&](const base::Pruned& other) { return other.argument == by.argument; });
    if (same != proof.pruned.end())
      same->count += by.count;
    else
      proof.pruned.push_back(by);
  }
  const bool optimal = proof.optimal && pools.finished;
  for (const serving::FoundPools& pair : pools.best) {
    Found found;
    found.machine = pair.decoding_on, found.prompts_on = pair.prompts_on;
    found.deployment = pair.pools.decoding;
    found.prompts = pair.pools.prompts;
    found.service = pair.service;
    found.value = pair.value;
    out.best.push_back(found);
  }
  // Of equal values, those without pools first.
  std::stable_sort(out.best.begin(), out.best.end(), [](const Found& a, const Found& b) { return a.value < b.value; });
  out.best.resize(std::min(out.best.size(), static_cast<std::size_t>(r.top)));
  proof.optimal = optimal;
  if (!out.best.empty()) proof.close(out.first().value, optimal ? out.first().value : proof.lower_bound);
}

// Requests at times of their own are simulated without being asked: the closed form knows their mean rate alone.
bool simulates(const ServeRequest& r, const ServedAnswer& out) {
  return r.simulate || (out.timed && r.prefix_hit + r.host_hit == 0);
}

// A trace ends: what comes faster than it is served waits, and is served in the end.
void take_all_at_once(ServedAnswer& out) {
  out.warnings
      .warning("O2078", fmt::format("requests come at {:.4g} a second, faster than they can be served: they wait until "
                                    "the trace of {} ends",
                                    *out.load.rate, out.trace.size()))
      .hint("allow more accelerators (`--gpus`, `--replicas`)");
  out.load.rate.reset();
  out.load.concurrency = static_cast<double>(out.trace.size());
  out.load.waves = 1;
}

// Says what the engine does on each one's accelerator.
void complete(const std::vector<serving::Machine>& machines, ServedAnswer& out) {
  const auto fill = [&](Found& found) {
    found.deployment = completed(found.deployment, machines[found.machine].system->accelerator);
    if (found.prompts) found.prompts = completed(*found.prompts, machines[found.prompts_on].system->accelerator);
  };
  for (Found& found : out.best) fill(found);
  for (Found& found : out.front) fill(found);
  if (out.forced && out.forced->best) fill(*out.forced->best);
}

// Everything that the request leaves open.
void search(const ServeRequest& r, const serving::ServedModel& model, const std::vector<serving::Machine>& machines,
            const base::Budget& budget, ServedAnswer& out) {
  const serving::Space space = space_of(r, model, machines);
  out.limits = limits_of(r, !is_one(space) || r.pools);
  base::Diagnostics found;
  if (is_one(space)) check(model, only(space), found);
  check_formats(machines, space.base.precision, found);
  for (const serving::Machine& machine : machines) {
    if (r.host_hit > 0 && !(machine.system->accelerator.host_rate() > 0)) lack_host_link(*machine.system, "--host-hit");
    if (out.goal == serving::Goal::kUsdPerMillionTokens && !(machine.system->price_per_gpu_hour > 0))
      found.error("O2070", fmt::format("the price of `{}` is not known", machine.system->name))
          .hint("take another `--goal`, or a system's file with a price");
  }
  found.throw_if_errors();
  const serving::SearchOptions options{static_cast<std::size_t>(r.top), r.limits.threads};
  serving::Optimum optimum = optimize(model, space, out.goal, out.limits, out.load, budget, options);
  if (out.timed && simulates(r, out) && optimum.best.empty() && optimum.finished && comes_too_fast(optimum) &&
      !(optimum.most_capacity > *out.load.rate)) {
    take_all_at_once(out);
    optimum = optimize(model, space, out.goal, out.limits, out.load, budget, options);
  }
  out.best = optimum.best;
  out.certificate = optimum.certificate;
  out.ended_early = !optimum.finished;
  if (r.front) {
    serving::Front front = serving::front(model, space, out.limits, out.load, budget, r.limits.threads);
    out.front = std::move(front.points);
    out.ended_early = out.ended_early || !front.finished;
  }
  if (r.pools) search_pools(r, model, space, budget, out);
  if (out.best.empty() && out.ended_early)
    out.refused.error("O2077", "no deployment was found in the time, not all were looked at")
        .hint("raise `--time-limit`");
  else if (out.best.empty())
    refuse(r, model, space, optimum, out.load, out.limits);
  else if (!r.why.empty())
    out.forced = forced(r, model, space, budget, out);
}

}  // namespace

ServedAnswer serve(const ServeRequest& request) {
  require(request);
  ServeRequest r = request;
  ServedAnswer out;
  if (!r.trace.empty()) {
    const auto text = base::read_long_file(r.trace);
    out.inputs.push_back(base::file_input(*text));
    out.trace = formats::traces::read_requests(text, out.warnings);
  }
  out.load = load_of(r, out.trace);
  out.timed = !out.trace.empty() && !r.concurrency && !r.rate;
  const std::string catalogue = catalogue_directory();
  const ModelFile file =
      load_model(catalogue, r.model, {r.ignored, formats::huggingface::Outside::kPassed, r.like, r.mtp});
  out.warnings.append(file.diagnostics);
  out.inputs.push_back(base::file_input(*file.file));
  out.inputs.insert(out.inputs.end(), file.ignored.begin(), file.ignored.end());
  const ServedSystems systems(r, catalogue, out);
  if (systems.measures()) suit_here(r);
  std::sort(out.inputs.begin(), out.inputs.end());
  serving::ServedModel model = serving::served(file.transformer);
  out.model = file.transformer.name;
  out.goal = r.goal.value_or(r.rate ? serving::Goal::kAccelerators : serving::Goal::kTokensPerAccelerator);
  warn_of_length(model, out);
  const base::Budget budget(r.limits);
  const std::vector<serving::Machine> machines = systems.machines(r);
  choose_weights(file.weights, machines, model, r, out);
  systems.check(r, model, out.warnings);
  try {
    if (r.prefill)
      serve_by_pools(r, model, machines, systems, out);
    else
      search(r, model, machines, budget, out);
  } catch (base::InputError& error) {
    // Why such weights do not fit may be that they are not the file's.
    for (const base::Diagnostic& warning : out.warnings.all())
      if (warning.code == "O2085") error.diagnostics.push_back(warning);
    throw;
  }
  complete(machines, out);
  if (out.best.empty()) return out;
  const serving::PoolKinds on = kinds_of(machines, out.first());
  out.system = on.decoding.system->name;
  if (systems.measures())
    out.expected_error.of = "no engine was measured on it";
  else
    out.expected_error = error_of(catalogue, model, on, out);
  if (!systems.measures() && (!r.measurements.empty() || systems.maps()))
    out.expected_error.widen(1, ", by the roofline");
  if (!(out.first().service.tpot > 0)) out.expected_error.tpot.reset();
  out.offload = r.offload.value_or(0);
  if (r.fuse) out.fused = systems.fusion(model, on, out);
  systems.warn_of_searches(out);
  out.launch = launch_command(r.model, model, on, out);
  if (simulates(r, out)) {
    try {
      simulate(r, model, on, budget, out);
    } catch (const base::InputError& error) {
      if (r.simulate) throw;
      for (const base::Diagnostic& why : error.diagnostics) out.warnings.warning(why.code, why.message);
    } catch (const std::bad_alloc&) {
      base::fail("O2075", "the memory does not suffice for a simulation of so many requests", {},
                 "simulate fewer: `--requests 100000`");
    }
  }
  widen_by_preemption(out);
  if (out.timed) say_of_bursts(out);
  warn_of_queue(out);
  return out;
}

ServedAnswer serve_or_refuse(const ServeRequest& request) {
  try {
    return serve(request);
  } catch (const base::InputError& error) {
    const std::string& code = error.diagnostics.front().code;
    if (code != "O2076" && code != "O2077" && code != "O2078") throw;
    ServedAnswer out;
    for (const base::Diagnostic& diagnostic : error.diagnostics) out.refused.add(diagnostic);
    return out;
  }
}

}  // namespace orrery::verbs
