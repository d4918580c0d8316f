// A step reads the prompts that came during the one before: S' = c + p A, A of them, on average rate x S. With
// load r = rate x p the moments of S follow, and of the step in which a request comes, which is the longer the more
// often one falls into it, X: E X^k = E S^(k+1) / E S,
//
//   E S = c / (1 - r)
//   E X = (c (1 + r) + v p^2 rate) / (1 - r^2)
//   E X^2 = (c^2 (1 + 2 r) + 3 c p^2 rate (rate E X + 1) + p^3 rate (3 rate E X + 1)) / (1 - r^3)
//
// with v for arrivals that are not Poisson's. A request waits for the rest of X, which is anywhere in it, then for its
// own step, beside all others that came in X: R = U X + p N. Steps have a budget of b prompts: beyond it they queue as
// for b servers, by Sakasegawa's approximation of Allen and Cunneen's, r_b = rate x full / b:
//
//   W = v/2 x r_b^(sqrt(2 (b + 1)) - 1) / (b (1 - r_b)) x full
//
// which is Pollaczek and Khinchine's of an M/D/1 queue where b is 1, as where a prompt takes several steps.
//
// Admission: the number n of requests that run is nearly normal around its mean u, of variance u / (1 - e), e the
// elasticity of their stay; at the most that may run it goes on geometrically, with ratio rate / capacity, and who
// waits does so for (v/2) / (capacity - rate) on average, exponentially.
//
// Sources: Allen, "Probability, Statistics, and Queueing Theory", 1990 (Allen and Cunneen); Sakasegawa 1977.
#include "orrery/engines/serving/model/waiting.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orrery::serving {
namespace {

constexpr double kNearlyFull = 0.999;

double normal_density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}
double normal_share(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

// Below which a share of a gamma distribution lies, `z` being the normal one's: Wilson and Hilferty.
double gamma_quantile(double mean, double variance, double z) {
  if (!(mean > 0) || !(variance > 0)) return std::max(0.0, mean);
  const double shape = mean * mean / variance;
  const double root = std::max(0.0, 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape)));
  return mean * root * root * root;
}

}  // namespace

Spread first_token(const PromptQueue& q) {
  Spread out;
  out.least = q.first;
  const double c = q.pure, servers = std::max(1.0, q.batch);
  const double p = q.batch >= 1 ? q.prompt : 0, r = std::min(kNearlyFull, q.rate * p);
  const double burst = q.variation * p * p * q.rate;
  const double mean = (c * (1 + r) + burst) / (1 - r * r);  // E X
  const double square =
      (c * c * (1 + 2 * r) + 3 * c * burst * (q.rate * mean + 1) + burst * p * (3 * q.rate * mean + 1)) /
      (1 - r * r * r);
  const double follow = 0.5 + r;  // of X: the rest of it, and the step of those that came in it
  out.mean = follow * mean;
  out.variance = follow * follow * std::max(0.0, square - mean * mean) + square / 12 + burst * mean;
  const double busy = std::min(kNearlyFull, q.rate * q.full / servers);
  const double queued = std::pow(busy, std::sqrt(2 * (servers + 1)) - 1) / servers;
  const double wait = q.variation / 2 * queued / (1 - busy) * q.full;
  if (q.batch < 1)
    out.mean *= 1 - busy, out.variance *= 1 - busy;  // who comes while prompts are read has no other wait
  // Of an M/D/1 queue: E W^2 = 2 (E W)^2 + busy full^2 / (3 (1 - busy)).
  if (wait > 0) out.add(wait, wait * wait + queued * q.full * q.full / servers / (3 * (1 - busy)));
  return out;
}

void add_admission(double rate, double capacity, double running, double most, double elasticity, double variation,
                   Spread& out) {
  const double ratio = std::min(kNearlyFull, rate / capacity);
  const double deviation = std::sqrt(std::max(1.0, running) / (1 - std::clamp(elasticity, 0.0, 0.95)));
  const double z = (most - running) / deviation;
  const double edge = normal_density(z) / deviation / (1 - ratio);
  const double waiting = edge / (edge + normal_share(z));
  const double each = variation / 2 / (capacity * (1 - ratio));
  out.add(waiting * each, waiting * (2 - waiting) * each * each);
}

FirstToken percentiles(const Spread& s) {
  constexpr double kHundredth = 2.3263;  // of the normal distribution
  return {s.least + s.mean, s.least + gamma_quantile(s.mean, s.variance, 0),
          s.least + gamma_quantile(s.mean, s.variance, kHundredth)};
}

}  // namespace orrery::serving
