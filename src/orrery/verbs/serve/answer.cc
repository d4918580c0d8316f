#include "orrery/verbs/serve/answer.h"

namespace orrery::verbs {

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
