#include "orrery/verbs/serve/json.h"

#include <cmath>

#include "orrery/present/fused_attention_record.h"

namespace orrery::verbs {
namespace {

using serving::Deployment;
using serving::FirstToken;
using serving::Found;
using serving::KvMemory;
using serving::Percentile;
using serving::Simulation;

std::optional<double> known(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

Record<FirstToken> first_token() {
  return {{"mean", "Of all requests.", &FirstToken::mean},
          {"p50", "Half of the requests have theirs within it; null: not computed.",
           [](const FirstToken& f) { return known(f.p50); }},
          {"p99", "99 of 100 requests have theirs within it; null: not computed.",
           [](const FirstToken& f) { return known(f.p99); }}};
}

Record<Deployment> plan() {
  using D = Deployment;
  return {{"engine", "vllm, trtllm or sglang.", [](const D& d) { return serving::rules(d.engine).name; }},
          {"accelerators", "replicas x tp x pp x dp.", [](const D& d) { return d.accelerators(); }},
          {"replicas", "Copies of the whole.", &D::replicas},
          {"tp", "Tensor-parallel degree.", &D::tp},
          {"pp", "Pipeline stages.", &D::pp},
          {"ep", "Ways in which whole experts are spread over tp x dp.", &D::ep},
          {"dp", "Groups of attention in a replica, with sequences of their own.", &D::dp},
          {"precision", "Of products.", [](const D& d) { return machine::name(d.precision); }},
          {"kv_dtype", "Of keys and values.", [](const D& d) { return machine::name(d.cache_precision); }},
          {"speculate", "Tokens that a step guesses of each sequence.", &D::drafted},
          {"acceptance", "Of a guess.", &D::acceptance},
          {"synchronous", "A step is scheduled once the one before has ended, else while that runs.", &D::synchronous},
          {"evicts", "TensorRT-LLM admits who fits now, not to the end.", &D::evicts},
          {"max_sequences", "That run at once in a group.", &D::max_sequences},
          {"max_batched_tokens", "Of a step.", &D::max_batched_tokens}};
}

Record<KvMemory> memory() {
  using M = KvMemory;
  return {{"weights", "The model's.", &M::weights},
          {"activations", "Of a step of the most tokens.", &M::activations},
          {"graphs", "Captured graphs and libraries.", &M::graphs},
          {"caches", "Blocks of keys and values, held or free.", &M::caches},
          {"total", "What an accelerator has.", &M::total}};
}

Record<Percentile> percentile() {
  return {{"value", "So many stay below it.", &Percentile::value},
          {"low", "95 of 100 such runs have it from here", &Percentile::low},
          {"high", "to here.", &Percentile::high}};
}

Record<Simulation> simulation() {
  using S = Simulation;
  return {
      {"ttft_s", "Seconds to the first token.",
       [](const S& s) {
         return FirstToken{s.ttft_mean, s.ttft_p50.value, s.ttft_p99.value};
       },
       first_token()},
      {"ttft_p50_s", "Half of the requests have their first token within it.", &S::ttft_p50, percentile()},
      {"ttft_p99_s", "99 of 100 have it within.", &S::ttft_p99, percentile()},
      {"tpot_s", "Seconds between tokens, mean; null: answers have one.",
       [](const S& s) { return known(s.tpot_mean); }},
      {"tpot_p99_s", "99 of 100 requests have their mean time between tokens within it.", &S::tpot_p99, percentile()},
      {"e2e_s", "Seconds of a request, mean.", &S::e2e_mean},
      {"e2e_p99_s", "99 of 100 requests take no longer.", &S::e2e_p99, percentile()},
      {"busy", "Share of the time in which replicas run steps.", &S::busy},
      {"cached_share", "Of prompts' tokens, those found in caches.", &S::hit_share},
      {"loaded_share", "The same, from the host's memory.", &S::loaded_share},
      {"output_tokens_per_s", "Of all replicas, from the first arrival to the last token.", &S::output_tokens_per_s},
      {"requests", "Simulated.", [](const S& s) { return s.requests.size(); }},
      {"steps", "Of all replicas.", &S::steps},
      {"preemptions", "Sequences that lost their blocks and began anew.", &S::preemptions},
      {"kv_blocks_used", "At most at once, in a replica.", &S::most_blocks}};
}

Record<ServingError> error() {
  return {{"tpot", "As a share; null: answers have one token, or no engine was measured on such a machine.",
           &ServingError::tpot},
          {"ttft", "The same.", &ServingError::ttft},
          {"output_tokens_per_s", "The same.", &ServingError::throughput},
          {"measured", "False: nothing like it was measured, the figure is a wider one.", &ServingError::measured},
          {"of", "What those runs of the time between tokens have in common with it, or why there are none.",
           &ServingError::of}};
}

struct Listed {
  Found found;
  std::string system;
  std::optional<std::string> prompts_system;
};

Record<Listed> other() {
  return {
      {"plan", "The deployment.", [](const Listed& f) { return f.found.deployment; }, plan()},
      {"prompts", "With pools: the one that reads prompts; null: one does both.",
       [](const Listed& f) { return f.found.prompts; }, plan()},
      {"users", "Of all groups, with `--front`; null: as asked.",
       [](const Listed& f) {
         const Deployment& d = f.found.deployment;
         return known(f.found.users * static_cast<double>(d.replicas * d.dp));
       }},
      {"system", "Its name.", &Listed::system},
      {"prompts_system", "With pools: that of the one that reads prompts.", &Listed::prompts_system},
      {"tpot_s", "Seconds between tokens; null: answers have one.",
       [](const Listed& f) { return known(f.found.service.tpot); }},
      {"ttft_s", "Seconds to the first token.", [](const Listed& f) { return f.found.service.ttft; }, first_token()},
      {"per_accelerator", "Output tokens/s of an accelerator.",
       [](const Listed& f) { return f.found.service.per_accelerator; }},
      {"usd_per_million_tokens", "Of output; null where the price is not known.",
       [](const Listed& f) { return known(f.found.service.usd_per_million_tokens); }}};
}

Listed listed(const ServedAnswer& a, const Found& found) {
  return {found, a.systems[found.machine], found.prompts ? std::optional(a.systems[found.prompts_on]) : std::nullopt};
}

struct Forced {
  ForcedDeployment of;
  std::optional<Listed> best;
};

Record<Forced> forced() {
  return {{"choice", "The forced degree, as given to `--why`.", [](const Forced& f) { return f.of.choice; }},
          {"best", "The best deployment that has it; null: there is none.", &Forced::best, other()},
          {"reason", "Why there is none; empty where there is one.", [](const Forced& f) { return f.of.reason; }}};
}

std::optional<Forced> forced_of(const ServedAnswer& a) {
  if (!a.forced) return std::nullopt;
  Forced out{*a.forced, std::nullopt};
  if (a.forced->best) out.best = listed(a, *a.forced->best);
  return out;
}

const char* goal_name(serving::Goal of) {
  switch (of) {
    case serving::Goal::kTokensPerAccelerator:
      return "throughput";
    case serving::Goal::kUsdPerMillionTokens:
      return "cost";
    case serving::Goal::kAccelerators:
      break;
  }
  return "accelerators";
}

Record<ServedFusion> fused() {
  using F = ServedFusion;
  return {
      {"tpot_unfused_s", "Seconds between tokens without; null: answers have one, or requests come too fast for it.",
       [](const F& f) { return known(f.apart.tpot); }},
      {"ttft_unfused_s", "Seconds to the first token without.", [](const F& f) { return f.apart.ttft; }, first_token()},
      {"attention", "Each attention that was asked for, at powers of two of queries and keys.", &F::asked,
       fused_attention_record()}};
}

Record<ServedAnswer> question() {
  using A = ServedAnswer;
  return {
      {"model", "Its name.", &A::model},
      {"system", "Its name.", &A::system},
      {"isl", "Tokens of a prompt, mean.", [](const A& a) { return a.load.prompt.average(); }},
      {"osl", "Tokens of an answer, mean.", [](const A& a) { return a.load.output.average(); }},
      {"isl_deviation", "Standard deviation of prompts' lengths; 0: all equal.",
       [](const A& a) { return std::sqrt(a.load.prompt.variation()) * a.load.prompt.average(); }},
      {"osl_deviation", "The same of answers.",
       [](const A& a) { return std::sqrt(a.load.output.variation()) * a.load.output.average(); }},
      {"rate", "Requests a second; null: users send them.", [](const A& a) { return a.load.rate; }},
      {"concurrency", "Users; null: requests come at a rate.", [](const A& a) { return a.load.concurrency; }},
      {"prefix_hit", "Share of prompts' tokens that caches have.", [](const A& a) { return a.load.prefix_hit; }},
      {"host_hit", "Share of them that copies in the host's memory have.", [](const A& a) { return a.load.host_hit; }},
      {"trace_requests", "Of the trace; null: none was given.",
       [](const A& a) { return a.trace.empty() ? std::nullopt : std::optional(a.trace.size()); }},
      {"ttft_limit_s", "Null: none.", [](const A& a) { return a.limits.ttft; }},
      {"tpot_limit_s", "Null: none.", [](const A& a) { return a.limits.tpot; }},
      {"load_limit", "Share of the capacity that a rate may take.", [](const A& a) { return a.limits.load; }},
      {"goal", "throughput, cost or accelerators.", [](const A& a) { return goal_name(a.goal); }}};
}

Record<ServedAnswer> result() {
  using A = ServedAnswer;
  return {
      {"question", "What was asked.", [](const A& a) -> const A& { return a; }, question()},
      {"tpot_s", "Seconds between a request's tokens; null: answers have one.",
       [](const A& a) { return known(a.service().tpot); }},
      {"simulated", "Whether times, tokens and prices are the simulation's: of requests at a trace's times.",
       &A::is_simulated},
      {"ttft_s", "Seconds to the first token.", [](const A& a) { return a.service().ttft; }, first_token()},
      {"e2e_s", "Seconds of a whole request, mean.", [](const A& a) { return a.service().e2e; }},
      {"output_tokens_per_s", "Of all accelerators.", [](const A& a) { return a.service().output_tokens_per_s; }},
      {"per_accelerator", "Output tokens/s of an accelerator.", [](const A& a) { return a.service().per_accelerator; }},
      {"per_user", "Output tokens/s of a request, its wait included.", [](const A& a) { return a.service().per_user; }},
      {"capacity_requests_per_s", "Requests that come faster are queued without end.",
       [](const A& a) { return a.first().service.capacity; }},
      {"running", "Requests at once in a group of attention.", [](const A& a) { return a.first().service.running; }},
      {"kv_blocks", "Of a group of attention.", [](const A& a) { return a.first().service.memory.blocks; }},
      {"kv_tokens", "Tokens that they hold in layers that keep all.",
       [](const A& a) { return a.first().service.memory.tokens(); }},
      {"memory_bytes", "Of the accelerator with most.", [](const A& a) { return a.first().service.memory; }, memory()},
      {"max_concurrency", "Requests as long as these that the blocks hold at once.",
       [](const A& a) { return a.first().service.max_concurrency; }},
      {"occupancy", "Share of the blocks that is held.", [](const A& a) { return a.first().service.occupancy; }},
      {"bound_by", "What most of a step that decodes goes to: weights, caches, compute, communication or host.",
       [](const A& a) { return a.first().service.step.binds; }},
      {"usd_per_million_tokens", "Of output; null where the price is not known.",
       [](const A& a) { return known(a.service().usd_per_million_tokens); }},
      {"joules_per_token", "Of output, at rated power; null where that is not known.",
       [](const A& a) { return known(a.service().joules_per_token); }},
      {"expected_error", "Two of three measured runs like it were predicted within these shares.", &A::expected_error,
       error()},
      {"plan", "The deployment.", [](const A& a) { return a.first().deployment; }, plan()},
      {"prompts", "The pool that reads prompts, `plan` being that which decodes; null: one does both.",
       [](const A& a) { return a.prompts(); }, plan()},
      {"prompts_system", "What that pool stands on; null: one does both.",
       [](const A& a) { return listed(a, a.first()).prompts_system; }},
      {"weights", "What weights are stored in.", &A::weights},
      {"weights_as_published", "Whether they are in few bits because the model's file has them so.", &A::as_published},
      {"kv_dtype_as_published", "Whether keys and values are as wide as the model's file says.",
       &A::caches_as_published},
      {"accelerators", "Of all pools.", [](const A& a) { return a.accelerators(); }},
      {"launch", "A command that starts a replica so.", &A::launch},
      {"certificate", "What is proven of the choice; of the model, not of the hardware.", &A::certificate, proof()},
      {"best", "The best of each shape, in order, the answer first.",
       [](const A& a) {
         std::vector<Listed> all;
         for (const Found& found : a.best) all.push_back(listed(a, found));
         return all;
       },
       other()},
      {"front", "With `--front`: what no deployment betters both for a user and for an accelerator, fastest first.",
       [](const A& a) {
         std::vector<Listed> all;
         for (const Found& found : a.front) all.push_back(listed(a, found));
         return all;
       },
       other()},
      {"why", "With `--why`: the best deployment that has the forced degree; null: not asked for.", forced_of,
       forced()},
      {"fused", "With `--fuse`: attention as one operator of the chip.", &A::fused, fused(),
       when([](const A& a) { return a.fused.has_value(); })},
      {"simulation", "The deployment step by step; null: not asked for.", &A::simulation, simulation()}};
}

}  // namespace

Document<ServedAnswer> serve_document() {
  return {"serve", "A model as it is served.", result()};
}

}  // namespace orrery::verbs
