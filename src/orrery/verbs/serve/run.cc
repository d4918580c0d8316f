#include "orrery/verbs/serve/run.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/long_text_file.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/describe/machine/measured_operators.h"
#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/search/front.h"
#include "orrery/engines/serving/search/optimize_pools.h"
#include "orrery/formats/orrery/measured_products.h"
#include "orrery/formats/traces/request_trace.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/served_error.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/verbs/serve/chip_products.h"
#include "orrery/verbs/serve/launch.h"
#include "orrery/verbs/serve/served_question.h"
#include "orrery/verbs/serve/served_refusal.h"
#include "orrery/verbs/serve/served_simulation.h"
#include "orrery/verbs/serve/served_weights.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;
using serving::Found;

// The systems that a request names, one or several with commas between.
class Systems {
 public:
  Systems(const ServeRequest& r, const std::string& catalogue, ServedAnswer& out) {
    const bool one = std::filesystem::exists(r.system);
    for (const std::string_view name : one ? std::vector<std::string_view>{r.system} : base::split(r.system, ',')) {
      readings_.push_back(read_system(catalogue, std::string(name), {}, r.chip));
      const SystemReading& reading = readings_.back();
      out.warnings.append(reading.warnings);
      out.inputs.insert(out.inputs.end(), reading.inputs.begin(), reading.inputs.end());
      out.systems.push_back(reading.system.name);
    }
    rooflines_.reserve(readings_.size());
    for (const SystemReading& reading : readings_) {
      operators_.push_back(&rooflines_.emplace_back(reading.system.accelerator));
      apart_.push_back(operators_.back());
      if (r.fuse) check_fusion(reading.chip.get(), {}, out.warnings);
      if (reading.chip == nullptr) continue;
      const machine::Accelerator& seen = reading.system.accelerator;
      nests_.push_back(reading.chip->operators(r.limits, seen.host_seconds_per_op, r.fuse));
      operators_.back() = &products_.emplace_back(*nests_.back(), r.fuse);
      apart_.back() = &products_.emplace_back(*nests_.back());
      if (r.fuse) out.inputs.insert(out.inputs.end(), reading.chip->inputs().begin(), reading.chip->inputs().end());
    }
    if (r.measurements.empty()) return;
    const auto file = base::read_file(r.measurements);
    out.inputs.push_back(base::file_input(*file));
    for (auto* all : {&operators_, &apart_})
      for (const machine::OperatorModel*& operators : *all)
        operators = &measured_.emplace_back(formats::orrery::read_measured_products(file), *operators);
  }

  // `r` has a precision.
  void warn_of_chips(const ServeRequest& r, base::Diagnostics& warnings) const {
    for (const SystemReading& reading : readings_)
      if (reading.chip != nullptr)
        warn_of_words(*reading.chip, static_cast<int>(8 * machine::bytes_per_element(*r.precision)), "weights have",
                      "timed", "take a `--precision` of the same width, or another `datawidth`", warnings);
  }

  bool maps() const { return !nests_.empty(); }

  // Mappings without a proof; of an answer that a limit ended.
  void warn_of_searches(ServedAnswer& out) const {
    for (const std::unique_ptr<ChipOperators>& nests : nests_) {
      const std::size_t said = out.warnings.all().size();
      warn_of_unproven(*nests, "the deployment", false, out.warnings);
      out.ended_early = out.ended_early || out.warnings.all().size() > said;
    }
  }

  // The answer without `--fuse`, and the attentions of its system's chip.
  ServedFusion fusion(const serving::ServedModel& model, const ServedAnswer& out) const {
    const Found& best = out.first();
    const cluster::System& system = readings_[best.machine].system;
    ServedFusion fused;
    fused.apart = best.prompts ? evaluate(model, system, serving::Pools{*best.prompts, best.deployment}, out.load,
                                          *apart_[best.machine])
                               : evaluate(model, system, best.deployment, out.load, *apart_[best.machine]);
    if (!fused.apart.stable) fused.apart = {};
    const ChipOperators& nests = *nests_[best.machine];  // with `--fuse` every system has a chip
    for (auto& [shape, one] : nests.attentions()) {
      machine::Operator head;
      head.product = {1, shape.queries, shape.keys, shape.width};
      head.value_width = shape.value_width;
      const double apart = products_of_head(nests, head);
      fused.asked.push_back({shape, one, one.joined && one.seconds < apart, apart});
    }
    return fused;
  }

  std::vector<serving::Machine> machines(const ServeRequest& r) const {
    std::vector<serving::Machine> out;
    for (std::size_t m = 0; m < readings_.size(); ++m)
      out.push_back({&readings_[m].system, operators_[m], r.gpus.value_or(readings_[m].system.max_gpus)});
    return out;
  }

 private:
  std::vector<SystemReading> readings_;
  std::vector<serving::ServedRoofline> rooflines_;
  std::vector<std::unique_ptr<ChipOperators>> nests_;  // of those with a chip
  std::deque<ChipProducts> products_;
  std::deque<machine::MeasuredOperators> measured_;               // beside them
  std::vector<const machine::OperatorModel*> operators_, apart_;  // the second: attention by its products
};

// What runs like the answer were predicted within; of pools and of guesses, none or few were measured.
ServingError error_of(const std::string& catalogue, const serving::ServedModel& model, const cluster::System& system,
                      const ServedAnswer& answer) {
  const std::vector<ServedKindError> kinds = read_served_kinds(catalogue);
  const ServedKind kind = kind_of(model, system, answer.first().deployment);
  const auto share = [&](ServedFigure figure) {
    return served_share(kinds, kind, figure, answer.load.prompt.average(), answer.load.output.average());
  };
  const ServedShare tpot = share(ServedFigure::kTpot), ttft = share(ServedFigure::kTtft);
  const bool guesses = answer.first().deployment.drafted > 0, narrow = widens(model, answer.first().deployment);
  const double wider = guesses || narrow || answer.prompts() ? 2 : 1;
  return {wider * tpot.share, wider * ttft.share, wider * share(ServedFigure::kThroughput).share,
          tpot.alike && ttft.alike && wider == 1,
          tpot.of + (guesses  ? ", without guesses"
                     : narrow ? ", weights as wide as products"
                              : "")};
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

// Measured runs were of steady loads; where nothing simulates the trace's bursts, nobody knows what they do.
void say_of_bursts(ServedAnswer& out) {
  ServingError& e = out.expected_error;
  e.measured = false;
  if (out.simulation)
    e.tpot *= 2, e.ttft *= 2, e.throughput *= 2, e.of += ", of steady loads";
  else
    out.warnings
        .warning("O2078", "the trace is not simulated: its bursts are not in the answer, and its errors not in theirs")
        .hint("leave `--prefix-hit` out, or allow more `--time-limit`");
  const serving::Service got = out.service();
  if ((out.limits.ttft && got.ttft.mean > *out.limits.ttft) || (out.limits.tpot && got.tpot > *out.limits.tpot))
    out.warnings.warning("O2077", "the closed form is within the limits, the trace's bursts are not: it chose too few")
        .hint("allow more accelerators (`--replicas`), or lower the limits until the simulation is within yours");
}

// Two pools, as they are.
void serve_by_pools(const ServeRequest& r, const serving::ServedModel& model, const serving::Machine& machine,
                    ServedAnswer& out) {
  const cluster::System& system = *machine.system;
  const serving::Pools pools{completed(base_of(r, *r.prefill), system.accelerator),
                             completed(base_of(r, *r.decode), system.accelerator)};
  base::Diagnostics found;
  check(model, pools.prompts, found);
  if (!found.has_errors()) check(model, pools.decoding, found);
  found.throw_if_errors();
  Found one;
  one.deployment = pools.decoding;
  one.service = evaluate(model, system, pools, out.load, *machine.operators);
  const serving::Service& s = one.service;
  const double prompt = out.load.prompt.average();
  if (!s.fits)
    found.error("O2076", fmt::format("`{}` does not fit on both pools", r.model))
        .note("prompts: " + memory_note(kv_memory(model, system, pools.prompts), pools.prompts))
        .note("prompts: " + blocks_note(kv_memory(model, system, pools.prompts), pools.prompts, prompt))
        .note("decoding: " + memory_note(kv_memory(model, system, pools.decoding), pools.decoding))
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
  const bool optimal = proof.optimal && pools.finished;
  for (const serving::FoundPools& pair : pools.best) {
    Found found;
    found.machine = pair.machine;
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
  return r.simulate || (out.timed && r.prefix_hit == 0);
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
    const machine::Accelerator& on = machines[found.machine].system->accelerator;
    found.deployment = completed(found.deployment, on);
    if (found.prompts) found.prompts = completed(*found.prompts, on);
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
  for (const serving::Machine& machine : machines) {
    const machine::Accelerator& accelerator = machine.system->accelerator;
    if (!(accelerator.peak(space.base.precision) > 0))
      found
          .error("O2070",
                 fmt::format("`{}` does not compute in {}", accelerator.name, machine::name(space.base.precision)))
          .hint("take another `--precision`; `--weights` alone stores them in few bits and multiplies in 16");
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
  const Systems systems(r, catalogue, out);
  std::sort(out.inputs.begin(), out.inputs.end());
  serving::ServedModel model = serving::served(file.transformer);
  out.model = file.transformer.name;
  out.goal = r.goal.value_or(r.rate ? serving::Goal::kAccelerators : serving::Goal::kTokensPerAccelerator);
  warn_of_length(model, out);
  const base::Budget budget(r.limits);
  const std::vector<serving::Machine> machines = systems.machines(r);
  choose_weights(file.weights, machines, model, r, out);
  systems.warn_of_chips(r, out.warnings);
  try {
    if (r.prefill)
      serve_by_pools(r, model, machines.front(), out);
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
  const serving::Machine& machine = machines[out.first().machine];
  out.system = machine.system->name;
  out.expected_error = error_of(catalogue, model, *machine.system, out);
  if (!r.measurements.empty() || systems.maps())
    out.expected_error.measured = false, out.expected_error.of += ", by the roofline";
  out.offload = r.offload.value_or(0);
  if (r.fuse) out.fused = systems.fusion(model, out);
  systems.warn_of_searches(out);
  out.launch = launch_command(r.model, model, *machine.system, out);
  if (simulates(r, out)) {
    try {
      simulate(r, model, machine, budget, out);
    } catch (const base::InputError& error) {
      if (r.simulate) throw;
      for (const base::Diagnostic& why : error.diagnostics) out.warnings.warning(why.code, why.message);
    } catch (const std::bad_alloc&) {
      base::fail("O2075", "the memory does not suffice for a simulation of so many requests", {},
                 "simulate fewer: `--requests 100000`");
    }
  }
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
