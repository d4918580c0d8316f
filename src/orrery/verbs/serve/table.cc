#include "orrery/verbs/serve/table.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/fused_attention_record.h"
#include "orrery/present/text_table.h"
#include "orrery/present/within_text.h"

namespace orrery::verbs {
namespace {

using serving::Deployment;
using serving::Found;
using serving::Service;

std::string seconds(double value) {
  if (!(value > 0)) return "-";  // no token follows another
  return value < 1 ? fmt::format("{:.3g} ms", value * 1e3) : fmt::format("{:.3g} s", value);
}

// With the systems where there are several.
std::string plan(const ServedAnswer& a, const Found& found, bool names) {
  const bool two = found.prompts && found.prompts_on != found.machine;
  const std::string last = plan_text(found.deployment);
  const auto on = [&](std::size_t machine) { return two || names ? " on " + a.systems[machine] : ""; };
  if (!found.prompts) return last + on(found.machine);
  return plan_text(*found.prompts) + (two ? on(found.prompts_on) : "") + " for prompts, " + last + " decode" +
         on(found.machine);
}

const char* goal(serving::Goal of) {
  switch (of) {
    case serving::Goal::kTokensPerAccelerator:
      return "most tokens/s of an accelerator";
    case serving::Goal::kUsdPerMillionTokens:
      return "least USD for a million tokens";
    case serving::Goal::kAccelerators:
      break;
  }
  return "least accelerators";
}

std::string within(const std::optional<double>& share) {
  return share ? within_text(*share) : "how far off is not known";
}

// "fp8", or "mxfp4 weights as published, products in bf16".
std::string weights(const ServedAnswer& a, const Deployment& d) {
  const std::string_view products = machine::name(d.precision);
  if (a.weights == products && !a.as_published) return std::string(products);
  return fmt::format("{} weights{}{}", a.weights, a.as_published ? " as published" : "",
                     a.weights == products ? "" : fmt::format(", products in {}", products));
}

std::string list(const ServedAnswer& answer) {
  const std::vector<Found>& best = answer.best;
  const bool several = answer.systems.size() > 1;
  Table table;
  table.header = {"", "deployment", "accelerators", "between tokens", "first token", "tokens/s each", "USD a million"};
  table.left_columns = {1};
  for (std::size_t i = 0; i < best.size(); ++i) {
    const Service& s = best[i].service;
    table.rows.push_back({std::to_string(i + 1), plan(answer, best[i], several), std::to_string(best[i].accelerators()),
                          seconds(s.tpot), seconds(s.ttft.mean), fmt::format("{:.4g}", s.per_accelerator),
                          s.usd_per_million_tokens > 0 ? fmt::format("{:.3g}", s.usd_per_million_tokens) : "-"});
  }
  return text(table);
}

std::string front(const ServedAnswer& answer) {
  Table table;
  table.header = {"tokens/s of a user", "of an accelerator", "users", "deployment"};
  table.left_columns = {3};
  for (const Found& point : answer.front)
    table.rows.push_back(
        {fmt::format("{:.4g}", 1 / point.service.tpot), fmt::format("{:.4g}", point.service.per_accelerator),
         fmt::format("{:g}", point.users * static_cast<double>(point.deployment.replicas * point.deployment.dp)),
         plan(answer, point, answer.systems.size() > 1)});
  return text(table);
}

}  // namespace

// What a forced degree costs.
std::string why(const ForcedDeployment& forced, const Found& best) {
  if (!forced.best) return fmt::format("with {} there is no deployment: {}\n", forced.choice, forced.reason);
  const Found& made = *forced.best;
  if (made.deployment == best.deployment) return fmt::format("with {}: the best has it\n", forced.choice);
  std::string out = fmt::format("with {}: {}\n", forced.choice, plan_text(made.deployment));
  const auto line = [&](const char* what, double is, double was) {
    if (is > 0 && was > 0)
      out += fmt::format("  {:<22}{:.4g} instead of {:.4g}, {:+.1f} %\n", what, is, was, 100 * (is / was - 1));
  };
  line("accelerators", static_cast<double>(made.deployment.accelerators()),
       static_cast<double>(best.deployment.accelerators()));
  line("ms between tokens", made.service.tpot * 1e3, best.service.tpot * 1e3);
  line("ms first token", made.service.ttft.mean * 1e3, best.service.ttft.mean * 1e3);
  line("tokens/s each", made.service.per_accelerator, best.service.per_accelerator);
  line("USD a million", made.service.usd_per_million_tokens, best.service.usd_per_million_tokens);
  const serving::StepCost &now = made.service.step, &before = best.service.step;
  using Part = double serving::StepCost::*;
  static constexpr std::pair<const char*, Part> kParts[] = {
      {"products", &serving::StepCost::products}, {"attention", &serving::StepCost::attention},
      {"experts", &serving::StepCost::experts},   {"communication", &serving::StepCost::communication},
      {"between", &serving::StepCost::others},    {"host", &serving::StepCost::host}};
  out += "  of a step that decodes, ms:";
  for (const auto& [name, part] : kParts)
    if (now.*part > 0 || before.*part > 0)
      out += fmt::format(" {} {:.3g} instead of {:.3g};", name, now.*part * 1e3, before.*part * 1e3);
  out.back() = '\n';
  return out;
}

std::string serve_table(const ServedAnswer& a) {
  const Deployment d = a.first().deployment;
  const Service s = a.service();
  const auto line = [](const char* what, const std::string& value) { return fmt::format("{:<22}{}\n", what, value); };
  std::string out =
      fmt::format("{} on {}: {}, {} accelerator{}, {}, {}\n", a.model, a.system, serving::rules(d.engine).name,
                  a.accelerators(), a.accelerators() == 1 ? "" : "s", plan(a, a.first(), false), weights(a, d));
  out += line("between tokens", s.tpot > 0 ? fmt::format("{} ({}{})", seconds(s.tpot),
                                                         a.expected_error.measured ? "two of three such runs " : "",
                                                         within(a.expected_error.tpot))
                                           : "-, answers have one token");
  const std::string percentiles =
      s.ttft.p99 > 0 ? fmt::format(", {} p50, {} p99", seconds(s.ttft.p50), seconds(s.ttft.p99)) : "";
  const std::string band =
      a.is_crowded() && !a.is_simulated() ? "roughly: bursts decide" : within(a.expected_error.ttft);
  out += line("first token", fmt::format("{} mean{} ({})", seconds(s.ttft.mean), percentiles, band));
  if (!a.expected_error.ttft)
    out += line("", a.expected_error.of + "; its price and power are not known");
  else if (!a.expected_error.measured)
    out += line("", fmt::format("nothing like it was measured: errors are widened, of {}", a.expected_error.of));
  out += line("request", seconds(s.e2e));
  out += line("output", fmt::format("{:.4g} tokens/s, {:.4g} of an accelerator, {:.4g} of a user",
                                    s.output_tokens_per_s, s.per_accelerator, s.per_user));
  out += line("capacity", fmt::format("{:.4g} requests/s", s.capacity));
  out += line(
      "keys and values",
      fmt::format("{} blocks of {} tokens, {:.2f} such requests, {:.0f} % held{}", s.memory.blocks,
                  s.memory.block_tokens, s.max_concurrency, s.occupancy * 100,
                  a.caches_as_published ? fmt::format(", in {} as published", machine::name(d.cache_precision)) : ""));
  out += line("memory", fmt::format("{:.1f} GB weights, {:.1f} activations, {:.1f} graphs, {:.1f} caches, of {:.1f}",
                                    s.memory.weights / 1e9, s.memory.activations / 1e9, s.memory.graphs / 1e9,
                                    s.memory.caches / 1e9, s.memory.total / 1e9));
  out += line("bound by", std::string(s.step.binds));
  if (s.usd_per_million_tokens > 0)
    out += line("a million tokens", fmt::format("{:.3g} USD", s.usd_per_million_tokens));
  if (s.joules_per_token > 0)
    out += line("energy", fmt::format("{:.3g} J a token, at rated power", s.joules_per_token));
  if (a.certificate.space > 1)
    out += line("search", fmt::format("{}{} of {:.0f} deployments, {} evaluated{}", goal(a.goal),
                                      a.load.rate && a.limits.load < 1
                                          ? fmt::format(" at {:.3g} % of the capacity at most", a.limits.load * 100)
                                          : "",
                                      a.certificate.space, a.certificate.evaluated,
                                      a.certificate.optimal ? ", proven best" : ""));
  if (a.simulation) {
    const serving::Simulation& m = *a.simulation;
    const auto off = [](double closed, double simulated) {
      return simulated > 0 ? fmt::format("{:+.1f} %", (closed / simulated - 1) * 100) : "-";
    };
    out += line("simulated",
                fmt::format("{} requests, {} steps, {} preemptions: {:.4g} tokens/s, {} between tokens, {} first "
                            "token, p99 {} ({} to {})",
                            m.requests.size(), m.steps, m.preemptions, m.output_tokens_per_s, seconds(m.tpot_mean),
                            seconds(m.ttft_mean), seconds(m.ttft_p99.value), seconds(m.ttft_p99.low),
                            seconds(m.ttft_p99.high)));
    const Service& closed = a.first().service;
    const std::string last = closed.ttft.p99 > 0 ? fmt::format(", p99 {}", off(closed.ttft.p99, m.ttft_p99.value)) : "";
    out += line("", fmt::format("the {} {} and {} off these{}",
                                a.timed ? "closed form of lengths and mean rate is" : "figures above are",
                                off(closed.tpot, m.tpot_mean), off(closed.ttft.mean, m.ttft_mean), last));
  }
  if (a.fused) {
    const auto against = [&](double now, double apart) {
      return apart > 0
                 ? fmt::format("{} in place of {} ({:+.1f} %)", seconds(now), seconds(apart), 100 * (now / apart - 1))
                 : "-";
    };
    const Service& now = a.first().service;
    out += line("fused",
                fmt::format("attention: between tokens {}, first token {}", against(now.tpot, a.fused->apart.tpot),
                            against(now.ttft.mean, a.fused->apart.ttft.mean)));
    out += fused_attention_text(a.fused->asked, "by its products, the softmax not counted");
  }
  if (a.ended_early) out += line("", "ended early: what is missing of search or simulation was not reached");
  for (const std::string_view command : base::split(a.launch, '\n')) out += line("start it", std::string(command));
  if (a.forced) out += "\n" + why(*a.forced, a.first());
  if (!a.front.empty()) out += "\nwhat no deployment betters for users and accelerators\n" + front(a);
  if (a.best.size() > 1) out += "\nthe best of each shape\n" + list(a);
  return out;
}

}  // namespace orrery::verbs
