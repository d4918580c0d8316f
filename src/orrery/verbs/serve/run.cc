#include "orrery/verbs/serve/run.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text_file.h"
#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/formats/traces/request_trace.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/verbs/serve/launch.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;
using serving::Found;

constexpr Count kMostAlike = 1024;     // replicas that a search looks at where nothing limits them
constexpr Count kSimulatedWaves = 20;  // requests of each user
constexpr Count kSimulatedArrivals = 4000;
constexpr Count kMostSimulated = 10'000'000;

void require(const ServeRequest& r) {
  base::Diagnostics found;
  const auto missing = [&](bool is, const char* what, const char* hint) {
    if (is) found.error("O1103", fmt::format("`serve` needs {}", what)).hint(hint);
  };
  missing(r.model.empty(), "a model", "`--model NAME`; `orrery catalog models` lists them");
  missing(r.system.empty(), "a system", "`--system NAME`; `orrery catalog systems` lists them");
  if (r.trace.empty()) {
    missing(!r.isl || !r.osl, "how long prompts and outputs are", "`--isl 1024 --osl 256`, in tokens");
    missing(!r.concurrency && !r.rate, "how requests come", "`--concurrency USERS` or `--rate REQUESTS_PER_SECOND`");
  } else {
    missing(r.isl || r.osl || r.rate || r.requests > 0, "a trace or lengths and a rate, not both",
            "leave `--isl`, `--osl`, `--rate` and `--requests` out; `--concurrency` replaces the trace's times");
  }
  missing(r.requests > 0 && !r.simulate && r.trace.empty(), "`--simulate` beside `--requests`",
          "add it, or leave `--requests` out");
  missing(r.requests_per_user && r.rate, "`--concurrency` beside `--requests-per-user`",
          "at a rate there are no users: leave `--requests-per-user` out");
  if (r.engine.value_or(serving::Engine::kVllm) == serving::Engine::kVllm && r.max_batched_tokens && r.max_sequences &&
      *r.max_batched_tokens < *r.max_sequences)
    found
        .error("O2070", fmt::format("a step of {} tokens has no place for {} sequences, one token each",
                                    *r.max_batched_tokens, *r.max_sequences))
        .hint("raise `--max-batched-tokens`, or lower `--max-sequences`");
  if (r.prefill || r.decode) {
    missing(!r.prefill || !r.decode, "both pools or none", "`--prefill tp=1,replicas=4 --decode tp=4`");
    missing(r.gpus || r.tp || r.pp || r.ep || r.dp || r.replicas || r.simulate || r.goal,
            "degrees in `--prefill` and `--decode` alone: pools are neither searched nor simulated",
            "leave `--gpus`, `--goal`, `--simulate` and degrees beside the pools out");
  }
  found.throw_if_errors();
}

serving::Load load_of(const ServeRequest& r, const std::vector<serving::Request>& trace) {
  serving::Load out;
  out.concurrency = r.concurrency;
  out.rate = r.rate;
  if (trace.empty()) {
    out.prompt = serving::Lengths::constant(*r.isl);
    out.output = serving::Lengths::constant(*r.osl);
  } else {
    out.prompt.kind = out.output.kind = serving::Lengths::Kind::kEmpirical;
    for (const serving::Request& request : trace) {
      out.prompt.samples.push_back(request.prompt);
      out.output.samples.push_back(request.output);
    }
    // All but the first come in the time from the first to the last.
    const double span = static_cast<double>(trace.back().arrival_ns) * 1e-9;
    if (!r.concurrency && !(span > 0))
      base::fail("O2079", "all requests of the trace come at once, which is no rate", {},
                 "say how many are under way at once: `--concurrency USERS`");
    if (!r.concurrency) out.rate = static_cast<double>(trace.size() - 1) / span;
  }
  out.prefix_hit = r.prefix_hit;
  out.waves = static_cast<double>(r.requests_per_user.value_or(0));
  base::Diagnostics found;
  check(out, found);
  found.throw_if_errors();
  return out;
}

std::vector<Count> powers_of_two(Count most) {
  std::vector<Count> out;
  for (Count n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// What the request says of every deployment.
Deployment base_of(const ServeRequest& r, Deployment base = {}) {
  base.engine = r.engine.value_or(serving::Engine::kVllm);
  base.precision = r.precision.value_or(machine::Precision::kBf16);
  base.cache_precision = r.cache_precision.value_or(machine::Precision::kBf16);
  base.memory_share = r.memory_share;
  base.max_sequences = r.max_sequences.value_or(0);
  base.max_batched_tokens = r.max_batched_tokens.value_or(0);
  return base;
}

// What the request leaves open, within the accelerators.
serving::Space space_of(const ServeRequest& r, const serving::ServedModel& model, const serving::Machine& machine) {
  serving::Space out;
  out.machines = {machine};
  out.base = base_of(r);
  const Count most = std::min(machine.most > 0 ? machine.most : 1, kMostAlike);
  const auto choices = [&](const std::optional<Count>& given, bool open) {
    return given ? std::vector<Count>{*given} : open ? powers_of_two(most) : std::vector<Count>{1};
  };
  out.tp = choices(r.tp, r.gpus.has_value());
  out.pp = choices(r.pp, r.gpus.has_value());
  out.dp = choices(r.dp, r.gpus.has_value() && model.mixes());
  out.ep = choices(r.ep, r.gpus.has_value() && model.mixes());
  if (r.replicas) {
    out.replicas = {*r.replicas};
  } else {
    for (Count n = 1; n <= (r.gpus ? most : 1); ++n) out.replicas.push_back(n);
  }
  return out;
}

bool is_one(const serving::Space& space) {
  return space.tp.size() * space.pp.size() * space.dp.size() * space.ep.size() * space.replicas.size() == 1;
}

Deployment only(const serving::Space& space) {
  Deployment out = space.base;
  out.tp = space.tp.front(), out.pp = space.pp.front(), out.dp = space.dp.front(), out.ep = space.ep.front();
  out.replicas = space.replicas.front();
  return out;
}

// Two of three of 823 rows that no constant had seen are within (docs/model/serving.md): dense models and mixtures on
// Hopper; others, where few were.
ServingError error_of(const serving::ServedModel& model, const cluster::System& system) {
  const std::string& name = system.accelerator.name;
  if (!name.starts_with("H100") && !name.starts_with("H200")) return {0.78, 0.75, false};
  return model.mixes() ? ServingError{0.26, 0.46, true} : ServingError{0.11, 0.49, true};
}

std::string gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

std::string memory_note(const serving::KvMemory& m, const Deployment& d) {
  const char* of = d.engine == serving::Engine::kTensorRtLlm ? "what is left" : "the memory";
  return fmt::format(
      "weights {} + activations {} + graphs and libraries {} of {}, with {:g} % of {} to be filled, leave "
      "{} for keys and values",
      gigabytes(m.weights), gigabytes(m.activations), gigabytes(m.graphs), gigabytes(m.total), d.memory_share * 100, of,
      gigabytes(m.caches));
}

// Why nothing was found.
[[noreturn]] void refuse(const ServeRequest& r, const serving::ServedModel& model, const serving::Space& space,
                         const serving::Optimum& optimum, const serving::Load& load) {
  const serving::Machine& machine = space.machines.front();
  base::Diagnostics found;
  const auto pruned = [&](const char* why) {
    const std::vector<base::Pruned>& all = optimum.certificate.pruned;
    return std::any_of(all.begin(), all.end(), [&](const base::Pruned& by) { return by.argument == why; });
  };
  if (optimum.least_tpot > 0) {
    base::Diagnostic& d =
        found.error("O2077", fmt::format("no deployment of `{}` on `{}` is within the limits", r.model, r.system));
    if (r.ttft_limit)
      d.note(fmt::format("time to the first token: at most {:g} s, the least is {:.4g} s", *r.ttft_limit,
                         optimum.least_ttft));
    if (r.tpot_limit)
      d.note(
          fmt::format("time between tokens: at most {:g} s, the least is {:.4g} s", *r.tpot_limit, optimum.least_tpot));
    d.note("each is the least of all deployments, not of one").hint("raise a limit, or allow more accelerators");
  } else if (pruned("rate") || optimum.certificate.evaluated > 0) {
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
    d.hint("allow more accelerators (`--gpus`, `--replicas`) or a lower rate");
  } else if (pruned("capacity")) {
    base::Diagnostic& d = found.error("O2076", fmt::format("no deployment of `{}` fits on `{}`", r.model, r.system));
    if (is_one(space)) {
      const Deployment one = completed(only(space));
      const serving::KvMemory m = kv_memory(model, *machine.system, one);
      d.note(memory_note(m, one));
      const Count length = base::saturated(load.prompt.average() + load.output.average() + 0.5);
      d.note(fmt::format("a request of {} tokens, prompt and output, needs {} blocks, of which there are {}", length,
                         m.blocks_for(length, length), m.blocks));
    } else if (optimum.least_lacking > 1) {
      d.note(fmt::format("the nearest one lacks {} on each accelerator", gigabytes(optimum.least_lacking)));
    }
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

// The closed form has no bursts: near its capacity it knows the throughput, not the waiting.
void warn_of_queue(ServedAnswer& out) {
  const double share = out.load.rate ? *out.load.rate / out.first().service.capacity : 0;
  if (out.is_crowded() && !out.simulation)
    out.warnings
        .warning("O2078", fmt::format("requests come at {:.0f} % of what can be served: they may wait far longer than "
                                      "the time to the first token says",
                                      share * 100))
        .hint(out.prompts ? "lower the rate, or take more replicas" : "`--simulate` has their waiting");
}

// Two pools, as they are.
void serve_by_pools(const ServeRequest& r, const serving::ServedModel& model, const cluster::System& system,
                    const serving::ServedRoofline& operators, ServedAnswer& out) {
  const serving::Pools pools{completed(base_of(r, *r.prefill)), completed(base_of(r, *r.decode))};
  base::Diagnostics found;
  check(model, pools.prompts, found);
  if (!found.has_errors()) check(model, pools.decoding, found);
  found.throw_if_errors();
  Found one;
  one.deployment = pools.decoding;
  one.service = evaluate(model, system, pools, out.load, operators);
  const serving::Service& s = one.service;
  if (!s.fits)
    found.error("O2076", fmt::format("`{}` does not fit on both pools", r.model))
        .note("prompts: " + memory_note(kv_memory(model, system, pools.prompts), pools.prompts))
        .note("decoding: " + memory_note(kv_memory(model, system, pools.decoding), pools.decoding))
        .hint("more tensor ranks, or fewer bits");
  else if (!s.stable)
    found.error("O2078", fmt::format("requests come faster than the pools serve `{}`", r.model))
        .note(fmt::format("{:g} requests a second come, {:.4g} can be served", *r.rate, s.capacity))
        .hint("more replicas of the pool that binds, or a lower rate");
  else if ((r.ttft_limit && s.ttft.mean > *r.ttft_limit) || (r.tpot_limit && s.tpot > *r.tpot_limit))
    found.error("O2077", "the pools are not within the limits")
        .note(fmt::format("time to the first token {:.4g} s, between tokens {:.4g} s", s.ttft.mean, s.tpot))
        .hint("raise a limit, or take more replicas");
  found.throw_if_errors();
  out.prompts = pools.prompts;
  out.best = {one};
  out.certificate.space = static_cast<double>(out.certificate.evaluated = 1);
  out.certificate.optimal = true;
  out.certificate.close(-s.per_accelerator, -s.per_accelerator);
}

void simulate(const ServeRequest& r, const serving::ServedModel& model, const cluster::System& system,
              const serving::ServedRoofline& operators, const base::Budget& budget, ServedAnswer& out) {
  const Deployment d = completed(out.first().deployment);
  const serving::SchedulerLimits limits = limits_of(d, out.first().service.memory);
  const Count users = r.concurrency ? static_cast<Count>(*r.concurrency) : 0;
  const Count count = r.requests > 0 ? r.requests : users > 0 ? users * kSimulatedWaves : kSimulatedArrivals;
  if (count > kMostSimulated)
    base::fail("O2075",
               fmt::format("{} requests are more than the {} that the simulation takes", count, kMostSimulated), {},
               "`--requests 100000` simulates fewer, or leave `--simulate` out");
  const std::vector<serving::Request> drawn =
      out.trace.empty() ? serving::requests_of(out.load, static_cast<std::size_t>(count), r.seed)
                        : std::vector<serving::Request>();
  const std::vector<serving::Request>& requests = out.trace.empty() ? drawn : out.trace;
  base::Diagnostics found;
  check(d, limits, requests, found);
  if (out.load.prefix_hit > 0)
    found.error("O2075", "the simulation finds prefixes in caches by itself, and these requests have none in common")
        .hint("leave `--prefix-hit` or `--simulate` out");
  found.throw_if_errors();
  const serving::StepModel steps(model, system, d, operators);
  serving::Simulation simulated =
      serving::simulate(steps, limits, requests, {serving::Router::kRoundRobin, users, &budget});
  if (simulated.finished)
    out.simulation = std::move(simulated);
  else
    out.ended_early = true;
}

}  // namespace

ServedAnswer serve(const ServeRequest& r) {
  require(r);
  ServedAnswer out;
  if (!r.trace.empty()) {
    const auto text = base::read_file(r.trace);
    out.inputs.push_back(base::file_input(*text));
    out.trace = formats::traces::read_requests(text, out.warnings);
  }
  out.load = load_of(r, out.trace);
  const std::string catalogue = catalogue_directory();
  const ModelFile file = load_model(catalogue, r.model, {r.ignored, formats::huggingface::Outside::kPassed, r.like});
  out.warnings.append(file.diagnostics);
  out.inputs.push_back(base::file_input(*file.file));
  out.inputs.insert(out.inputs.end(), file.ignored.begin(), file.ignored.end());
  const SystemReading reading = read_system(catalogue, r.system);
  out.warnings.append(reading.warnings);
  out.inputs.insert(out.inputs.end(), reading.inputs.begin(), reading.inputs.end());
  std::sort(out.inputs.begin(), out.inputs.end());
  const serving::ServedModel model = serving::served(file.transformer);
  out.model = file.transformer.name;
  out.limits = {r.ttft_limit, r.tpot_limit};
  warn_of_length(model, out);
  out.system = reading.system.name;
  const serving::ServedRoofline operators(reading.system.accelerator);
  if (r.prefill) {
    serve_by_pools(r, model, reading.system, operators, out);
    out.expected_error = error_of(model, reading.system);
    out.launch = launch_command(r.model, out);
    warn_of_queue(out);
    return out;
  }
  const Count most = r.gpus.value_or(reading.system.max_gpus);
  const serving::Space space = space_of(r, model, {&reading.system, &operators, most});
  base::Diagnostics found;
  if (is_one(space)) check(model, only(space), found);
  if (!(reading.system.accelerator.peak(space.base.precision) > 0))
    found
        .error("O2070", fmt::format("`{}` does not compute in {}", reading.system.accelerator.name,
                                    machine::name(space.base.precision)))
        .hint("take another `--precision`");
  found.throw_if_errors();
  out.goal = r.goal.value_or(r.rate ? serving::Goal::kAccelerators : serving::Goal::kTokensPerAccelerator);
  if (out.goal == serving::Goal::kUsdPerMillionTokens && !(reading.system.price_per_gpu_hour > 0))
    base::fail("O2070", fmt::format("the price of `{}` is not known", r.system), {},
               "take another `--goal`, or a system's file with a price");
  const base::Budget budget(r.limits);
  const serving::Optimum optimum = optimize(model, space, out.goal, {r.ttft_limit, r.tpot_limit}, out.load, budget,
                                            {static_cast<std::size_t>(r.top), r.limits.threads});
  if (optimum.best.empty() && !optimum.finished) {
    out.refused.error("O2077", "no deployment was found in the time, not all were looked at")
        .hint("raise `--time-limit`");
    out.ended_early = true;
    return out;
  }
  if (optimum.best.empty()) refuse(r, model, space, optimum, out.load);
  out.best = optimum.best;
  out.certificate = optimum.certificate;
  out.ended_early = !optimum.finished;
  out.expected_error = error_of(model, reading.system);
  out.launch = launch_command(r.model, out);
  if (r.simulate) {
    try {
      simulate(r, model, reading.system, operators, budget, out);
    } catch (const std::bad_alloc&) {
      base::fail("O2075", "the memory does not suffice for a simulation of so many requests", {},
                 "simulate fewer: `--requests 100000`");
    }
  }
  warn_of_queue(out);
  return out;
}

}  // namespace orrery::verbs
