#include "orrery/engines/serving/model/deployment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace orrery::serving {
namespace {

// Shares, blocks and limits: the engines' documents (docs/model/serving.md). Host times: assumptions, of engines that
// prepare a step while the one before runs. SGLang's users stay together.
constexpr std::array<EngineRules, kEngines> kRules = {{
    {"vllm", 0.9, false, 16, 1024, 8192, 256, 2048, true, 0.5e-3, 1e-6},
    {"trtllm", 0.9, true, 32, 2048, 8192, 2048, 8192, true, 0.5e-3, 1e-6},
    {"sglang", 0.88, false, 1, 2048, 8192, 2048, 8192, false, 0.5e-3, 2e-6, true, true},
}};

// vLLM's server since 0.9 (arg_utils.py): less than 70 GiB, and every A100, have the smaller limits.
bool is_small(const machine::Accelerator& on) {
  return on.memory_bytes < 70.0 * (1 << 30) || on.name.find("A100") != std::string::npos;
}

struct StepLimits {
  base::Count sequences, tokens;
};

// vLLM's server has others for TPUs by their kind, and for processors, by how many share a model.
StepLimits limits_on(const machine::Accelerator& on, const Deployment& d) {
  constexpr std::pair<std::string_view, base::Count> kTpus[] = {{"v6e", 1024}, {"v5e", 512}, {"v5p", 256}};
  const EngineRules& of = rules(d.engine);
  if (d.engine == Engine::kVllm && (on.name.starts_with("EPYC") || on.name.starts_with("Xeon")))
    return {128 * d.tp * d.pp, 2048 * d.tp * d.pp};
  StepLimits out = is_small(on) ? StepLimits{of.small_sequences, of.small_batched_tokens}
                                : StepLimits{of.max_sequences, of.max_batched_tokens};
  if (d.engine != Engine::kVllm || !on.name.starts_with("TPU")) return out;
  out = {of.small_sequences, of.small_batched_tokens};
  for (const auto& [kind, tokens] : kTpus)
    if (on.name.find(kind) != std::string::npos) out.tokens = tokens;
  return out;
}

// More of the host where it prepares a step between steps: assumptions.
constexpr double kSynchronousStep = 0.5e-3, kSynchronousSequence = 3e-6;

}  // namespace

const EngineRules& rules(Engine engine) {
  return kRules[static_cast<std::size_t>(engine)];
}

Deployment completed(Deployment d, const machine::Accelerator& on) {
  const EngineRules& of = rules(d.engine);
  const StepLimits limits = limits_on(on, d);
  if (d.memory_share == 0) d.memory_share = of.memory_share;
  if (d.block_tokens == 0) d.block_tokens = of.block_tokens;
  if (d.max_batched_tokens == 0) d.max_batched_tokens = limits.tokens;
  if (d.max_sequences == 0) {
    d.max_sequences = limits.sequences;
    if (d.engine == Engine::kVllm) d.max_sequences = std::min(d.max_sequences, d.max_batched_tokens);
  }
  return d;
}

// The step behind that of a user's last token begins before the user can answer; an engine that schedules one ahead has
// by then prepared another. It does so of one stage alone.
base::Count Deployment::late_steps() const {
  return pp > 1 || rules(engine).stays_together ? 0 : 1 + steps_ahead();
}

double Deployment::host_seconds(base::Count sequences) const {
  const EngineRules& of = rules(engine);
  const double n = static_cast<double>(sequences);
  return of.step_seconds + of.sequence_seconds * n + (synchronous ? kSynchronousStep + kSynchronousSequence * n : 0);
}

double Deployment::tokens_per_step() const {
  double sum = 1, all = 1;  // of the first i guesses
  for (base::Count i = 0; i < drafted; ++i) sum += all *= acceptance;
  return sum;
}

double Deployment::tokens_per_step_variance() const {
  double squares = 1, all = 1;
  for (base::Count i = 1; i <= drafted; ++i) squares += static_cast<double>(2 * i + 1) * (all *= acceptance);
  return squares - tokens_per_step() * tokens_per_step();
}

// E(n) = 1 + sum of P(a step has j) E(n - j), of a few tokens. Of more, Wald's: n and the j - 1 at most that the last
// step has beyond the end, on average E j (j - 1) / (2 E j), at E j a step.
double Deployment::steps_for(double tokens) const {
  constexpr std::size_t kExact = 64;
  const double mean = tokens_per_step();
  if (!guesses_vary()) return mean > 1 ? std::ceil(tokens / mean) : tokens;
  if (tokens >= static_cast<double>(kExact))
    return (tokens + (tokens_per_step_variance() / mean + mean - 1) / 2) / mean;
  std::array<double, kExact + 2> steps = {};
  for (std::size_t n = 1; n < steps.size(); ++n) {
    steps[n] = 1;
    const std::size_t most = static_cast<std::size_t>(drafted) + 1;
    double right = 1;  // the first j - 1 guesses are
    for (std::size_t j = 1; j <= std::min(n - 1, most); ++j, right *= acceptance)
      steps[n] += right * (j < most ? 1 - acceptance : 1) * steps[n - j];
  }
  const auto below = static_cast<std::size_t>(std::max(0.0, tokens));
  return std::lerp(steps[below], steps[below + 1], std::max(0.0, tokens) - static_cast<double>(below));
}

void check(const Deployment& d, base::Diagnostics& found) {
  const auto positive = [&](const char* name, base::Count value) {
    if (value < 1) found.error("O2070", fmt::format("`{}` must be at least 1, but is {}", name, value));
  };
  positive("replicas", d.replicas);
  positive("tp", d.tp);
  positive("pp", d.pp);
  positive("ep", d.ep);
  positive("dp", d.dp);
  if (found.has_errors()) return;
  if (d.engine != Engine::kTensorRtLlm && d.drafted > 0 && d.pp > 1)
    found
        .error("O2070", fmt::format("{} guesses no tokens where a model is cut into stages: pp = {}",
                                    rules(d.engine).name, d.pp))
        .hint("`--pp 1`, or leave `--speculate` out");
  if (d.tp * d.dp % d.ep != 0)
    found
        .error("O2070", fmt::format("experts cannot be spread {} ways over tp x dp = {} x {} = {} accelerators", d.ep,
                                    d.tp, d.dp, d.tp * d.dp))
        .hint(fmt::format("`--ep {}` spreads whole experts over all of them", d.tp * d.dp));
  if (d.engine == Engine::kVllm && d.ep > 1 && d.ep < d.tp * d.dp)
    found
        .error("O2070",
               fmt::format("vllm spreads experts over all tp x dp = {} accelerators or not at all, not {} ways",
                           d.tp * d.dp, d.ep))
        .hint(fmt::format("`--ep 1` or `--ep {}`", d.tp * d.dp));
  if (d.engine == Engine::kTensorRtLlm && d.tp > 1 && d.dp > 1)
    found
        .error("O2070", fmt::format("trtllm divides attention among all tp x dp = {} accelerators or not at all, not "
                                    "among {} of them",
                                    d.tp * d.dp, d.tp))
        .hint(fmt::format("`--tp {0} --dp 1` or `--tp 1 --dp {0}`", d.tp * d.dp));
  if (!(d.memory_share >= 0 && d.memory_share <= 1))
    found.error("O2070", fmt::format("the share of memory lies between 0 and 1, but is {}", d.memory_share));
  if (d.imbalance < 1)
    found.error("O2070",
                fmt::format("the busiest rank has at least the mean of 1, but `imbalance` is {}", d.imbalance));
}

}  // namespace orrery::serving
