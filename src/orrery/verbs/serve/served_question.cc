#include "orrery/verbs/serve/served_question.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;

constexpr double kRoomyLoad = 0.9;  // beyond which p99 is a matter of chance (docs/model/serving.md)
constexpr Count kMostAlike = 1024;  // replicas that a search looks at where nothing limits them

std::vector<Count> powers_of_two(Count most) {
  std::vector<Count> out;
  for (Count n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// At least: open degrees are 1.
Count accelerators_taken(const ServeRequest& r) {
  if (r.prefill && r.decode) return r.prefill->accelerators() + r.decode->accelerators();
  serving::Deployment least;
  least.tp = r.tp.value_or(1);
  least.pp = r.pp.value_or(1);
  least.dp = r.dp.value_or(1);
  least.replicas = r.replicas.value_or(1);
  return least.accelerators();
}

}  // namespace

void require(const ServeRequest& r) {
  base::Diagnostics found;
  const auto missing = [&](bool is, const char* what, const char* hint) {
    if (is) found.error("O1103", fmt::format("`serve` needs {}", what)).hint(hint);
  };
  missing(r.model.empty(), "a model", "`--model NAME`; `orrery catalog models` lists them");
  missing(r.system.empty() && (r.prefill_system.empty() || r.decode_system.empty()), "a system",
          "`--system NAME`; `orrery catalog systems` lists them");
  if (r.trace.empty()) {
    missing(!r.isl || !r.osl, "how long prompts and outputs are", "`--isl 1024 --osl 256`, in tokens");
    missing(!r.concurrency && !r.rate, "how requests come", "`--concurrency USERS` or `--rate REQUESTS_PER_SECOND`");
  } else {
    missing(r.isl || r.osl || r.isl_deviation || r.osl_deviation || r.requests > 0, "a trace or lengths, not both",
            "leave `--isl`, `--osl` and `--requests` out; `--concurrency` replaces the trace's times");
  }
  missing(r.requests > 0 && !r.simulate && r.trace.empty(), "`--simulate` beside `--requests`",
          "add it, or leave `--requests` out");
  missing(r.mtp && !r.speculate, "`--speculate` beside `--mtp`",
          "the modules that predict ahead make guesses: `--mtp --speculate 1 --acceptance 0.8`");
  missing(r.speculate.has_value() != r.acceptance.has_value(), "both `--speculate` and `--acceptance`, or none",
          "`--speculate 3 --acceptance 0.7`: so many tokens are guessed, and that share of guesses is right");
  missing((r.router || r.timeline) && !r.simulate, "`--simulate` beside `--router`, `--series` and `--perfetto`",
          "add it: the closed form spreads requests evenly");
  missing(r.offload && !r.simulate, "`--simulate` beside `--offload`",
          "the closed form is told what copies are found: `--host-hit 0.5`");
  missing((r.offload || r.host_hit > 0) && (r.prefill || r.pools), "no pools beside `--offload` and `--host-hit`",
          "what pools keep in the host's memory is not known: leave it out");
  missing(r.evicts && r.engine != serving::Engine::kTensorRtLlm, "`--engine trtllm` beside `--evict`",
          "vllm always admits who fits now, sglang by what outputs were so far");
  missing(!r.chip.empty() && (!r.measurements.empty() || r.system.find(',') != std::string::npos),
          "one system without `--operators` beside `--chip`", "a chip's mappings time its products");
  missing(r.seed && !r.simulate, "`--simulate` beside `--seed`", "nothing else is drawn: leave `--seed` out");
  missing(r.requests_per_user && r.rate, "`--concurrency` beside `--requests-per-user`",
          "at a rate there are no users: leave `--requests-per-user` out");
  if (r.engine.value_or(serving::Engine::kVllm) == serving::Engine::kVllm && r.max_batched_tokens && r.max_sequences &&
      *r.max_batched_tokens < *r.max_sequences)
    found
        .error("O2070", fmt::format("a step of {} tokens has no place for {} sequences, one token each",
                                    *r.max_batched_tokens, *r.max_sequences))
        .hint("raise `--max-batched-tokens`, or lower `--max-sequences`");
  missing(r.front && (!r.gpus || r.prefill), "`--gpus`, and no pools that are given, beside `--front`",
          "`--gpus 8`: the front is of what is searched among so many");
  if (r.pools) {
    missing(!r.gpus, "`--gpus` beside `--pools`", "`--gpus 16`: pools are searched among so many accelerators");
    missing(r.replicas || !r.why.empty() || r.prefill || r.decode,
            "`--pools` without `--replicas`, `--why`, `--prefill` and `--decode`",
            "leave them out: pools are searched with all numbers of replicas");
  }
  if (r.prefill || r.decode) {
    missing(r.system.find(',') != std::string::npos, "one system beside pools that are given",
            "name it, or that of each: `--prefill system=dgx-h100,tp=2 --decode system=dgx-h200,tp=4`");
    missing(!r.prefill || !r.decode, "both pools or none", "`--prefill tp=1,replicas=4 --decode tp=4`");
    missing(r.tp || r.pp || r.ep || r.dp || r.replicas || r.goal || !r.why.empty(),
            "degrees in `--prefill` and `--decode` alone: such pools are not searched",
            "search them with `--pools`; else leave `--goal`, `--why` and degrees beside the pools out");
  }
  if (const Count taken = accelerators_taken(r); r.gpus && taken > *r.gpus)
    found.error("O2070", fmt::format("the degrees take {} accelerators, `--gpus` allows {}", taken, *r.gpus))
        .hint("raise `--gpus`, or lower a degree");
  found.throw_if_errors();
}

serving::Load load_of(const ServeRequest& r, const std::vector<serving::Request>& trace) {
  serving::Load out;
  out.concurrency = r.concurrency;
  out.rate = r.rate;
  if (trace.empty()) {
    out.prompt = serving::Lengths::constant(*r.isl);
    out.output = serving::Lengths::constant(*r.osl);
    const auto spread = [](const std::optional<double>& deviation, serving::Lengths& lengths) {
      if (deviation) lengths.kind = serving::Lengths::Kind::kLogNormal, lengths.deviation = *deviation;
    };
    spread(r.isl_deviation, out.prompt), spread(r.osl_deviation, out.output);
  } else {
    out.prompt.kind = out.output.kind = serving::Lengths::Kind::kEmpirical;
    for (const serving::Request& request : trace) {
      out.prompt.samples.push_back(request.prompt);
      out.output.samples.push_back(request.output);
    }
    // All but the first come in the time from the first to the last.
    const double span = static_cast<double>(trace.back().arrival_ns) * 1e-9;
    if (r.rate && span > 0)
      base::fail("O1103", "`serve` needs a trace with times or a rate, not both", {},
                 "leave `--rate` out; `--concurrency` replaces the trace's times");
    if (!r.concurrency && !r.rate && !(span > 0))
      base::fail("O2079", "the trace has no times, or all its requests come at once: that is no rate", {},
                 "say how they come: `--concurrency USERS` or `--rate REQUESTS_PER_SECOND`");
    if (!r.concurrency && !r.rate) {
      out.rate = static_cast<double>(trace.size() - 1) / span;
      double squares = 0;  // of the times between arrivals, in units of their mean
      for (std::size_t i = 1; i < trace.size(); ++i) {
        const double gap = static_cast<double>(trace[i].arrival_ns - trace[i - 1].arrival_ns) * 1e-9 * *out.rate;
        squares += gap * gap;
      }
      out.arrival_variation = squares / static_cast<double>(trace.size() - 1) - 1;
    }
  }
  out.prefix_hit = r.prefix_hit;
  out.host_hit = r.host_hit;
  out.waves = static_cast<double>(r.requests_per_user.value_or(0));
  base::Diagnostics found;
  check(out, found);
  found.throw_if_errors();
  return out;
}

Deployment base_of(const ServeRequest& r, Deployment base) {
  base.engine = r.engine.value_or(serving::Engine::kVllm);
  base.precision = r.precision.value_or(machine::Precision::kBf16);
  base.cache_precision = r.cache_precision.value_or(machine::Precision::kBf16);
  base.memory_share = r.memory_share;
  base.evicts = r.evicts;
  base.synchronous = r.synchronous;
  base.drafted = r.speculate.value_or(0);
  base.acceptance = r.acceptance.value_or(0);
  base.max_sequences = r.max_sequences.value_or(0);
  base.max_batched_tokens = r.max_batched_tokens.value_or(0);
  return base;
}

serving::Space space_of(const ServeRequest& r, const serving::ServedModel& model,
                        std::vector<serving::Machine> machines) {
  serving::Space out;
  out.base = base_of(r);
  Count most = 1;
  for (const serving::Machine& machine : machines) most = std::max(most, std::min(machine.most, kMostAlike));
  out.machines = std::move(machines);
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

serving::PoolKinds kinds_of(const std::vector<serving::Machine>& machines, const serving::Found& found) {
  const auto kind = [&](std::size_t m) { return serving::Kind{machines[m].system, machines[m].operators}; };
  return {kind(found.prompts ? found.prompts_on : found.machine), kind(found.machine)};
}

serving::ServiceLimits limits_of(const ServeRequest& r, bool searched) {
  return {r.ttft_limit, r.tpot_limit, r.load_limit.value_or(searched && !r.ttft_limit ? kRoomyLoad : 1)};
}

bool is_one(const serving::Space& space) {
  return space.machines.size() * space.tp.size() * space.pp.size() * space.dp.size() * space.ep.size() *
             space.replicas.size() ==
         1;
}

Deployment only(const serving::Space& space) {
  Deployment out = space.base;
  out.tp = space.tp.front(), out.pp = space.pp.front(), out.dp = space.dp.front(), out.ep = space.ep.front();
  out.replicas = space.replicas.front();
  return out;
}

serving::Space with_choice(serving::Space space, const std::string& choice) {
  using List = std::vector<Count> serving::Space::*;
  static constexpr std::pair<std::string_view, List> kLists[] = {{"replicas", &serving::Space::replicas},
                                                                 {"tp", &serving::Space::tp},
                                                                 {"pp", &serving::Space::pp},
                                                                 {"ep", &serving::Space::ep},
                                                                 {"dp", &serving::Space::dp}};
  const std::size_t equals = std::min(choice.find('='), choice.size());
  const auto number =
      base::parse_number<Count>(std::string_view(choice).substr(std::min(equals + 1, choice.size())), 1, kMostAlike);
  for (const auto& [name, list] : kLists)
    if (number && std::string_view(choice).substr(0, equals) == name) {
      space.*list = {*number};
      return space;
    }
  base::fail("O1102", fmt::format("--why: `{}` is no degree from 1 to {}", choice, kMostAlike), {},
             "write `--why tp=4`; keys are replicas, tp, pp, ep, dp");
}

}  // namespace orrery::verbs
