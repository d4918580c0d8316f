#include "orrery/verbs/serve/answer.h"

#include <fmt/format.h>

namespace orrery::verbs {

std::string plan_text(const serving::Deployment& d) {
  std::string out = fmt::format("{} x tp {}", d.replicas, d.tp);
  if (d.pp > 1) out += fmt::format(" x pp {}", d.pp);
  if (d.dp > 1) out += fmt::format(" x dp {}", d.dp);
  if (d.ep > 1) out += fmt::format(", experts {} ways", d.ep);
  if (d.drafted > 0) out += fmt::format(", {} guessed, {:g} % accepted", d.drafted, d.acceptance * 100);
  return out;
}

serving::Service ServedAnswer::service() const {
  serving::Service out = first().service;
  if (!is_simulated()) return out;
  const serving::Simulation& s = *simulation;
  // Prices and energies are of a second of all accelerators.
  const double share = s.output_tokens_per_s > 0 ? out.output_tokens_per_s / s.output_tokens_per_s : 0;
  out.tpot = s.tpot_mean;
  out.ttft = {s.ttft_mean, s.ttft_p50.value, s.ttft_p99.value};
  out.e2e = s.e2e_mean;
  out.output_tokens_per_s = s.output_tokens_per_s;
  out.per_accelerator = s.output_tokens_per_s / static_cast<double>(accelerators());
  out.per_user = s.e2e_mean > 0 ? load.output.average() / s.e2e_mean : 0;
  out.usd_per_million_tokens *= share;
  out.joules_per_token *= share;
  return out;
}

}  // namespace orrery::verbs
