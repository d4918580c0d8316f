// A step begins the prompts that came during the one before: S' = T(A), A of them, Poisson of rate S. T is far from
// straight: the first prompt of a step waits for experts' weights, which all that come with it share, and T(0) is a
// step that only decodes, or nothing at all. So steps are a chain of Markov's whose states are numbers of prompts n,
// left for m with the probability that m come in T(n); where few run, state 0 lasts until a prompt comes. A request
// comes in state n as often as that is a share of the time; it waits for the rest of that step, which is anywhere in
// it, then for its own step beside all others that came in the same:
//
//   R = U T(n) + T(1 + Poisson(rate T(n)))
//
// A step has a budget of b prompts. Where more came, T(n) = n T(b) / b is of the steps that they take together, one
// after the other: the j-th of those that came in it ends with step j / b, rounded up, and newer ones fill the last.
//
// Where a step begins many, x = rate X > 6, T is straight around x, c + p A; with load r = rate x p,
//
//   E S = c / (1 - r)
//   E X = (c (1 + r) + v p^2 rate) / (1 - r^2)
//   E X^2 = (c^2 (1 + 2 r) + 3 c p^2 rate (rate E X + 1) + p^3 rate (3 rate E X + 1)) / (1 - r^3)
//   R = U X + p N,   N > b: U X + p N / 2 + T(b) / 2
//
// of the step X in which a request comes, E X^k = E S^(k+1) / E S, with v for arrivals that are not Poisson's; by what
// v changes here, it changes the chain's times.
//
// Where b is beyond the chain's states, steps of more are told apart by their queue: b servers, by Sakasegawa's
// approximation of Allen and Cunneen's, r_b = rate x full / b:
//
//   W = v/2 x r_b^(sqrt(2 (b + 1)) - 1) / (b (1 - r_b)) x full
//
// So are prompts of several steps, b = 1: an M/D/1 queue (Pollaczek and Khinchine).
//
// Admission: the number n of requests that run is nearly normal around its mean u, of variance u / (1 - e), e the
// elasticity of their stay; at the most that may run it goes on geometrically, with ratio rate / capacity, and who
// waits does so for (v/2) / (capacity - rate) on average, exponentially.
//
// Cost: 40 states at most, a linear system of as many unknowns.
//
// Sources: Allen, "Probability, Statistics, and Queueing Theory", 1990 (Allen and Cunneen); Sakasegawa 1977.
#include "orrery/engines/serving/model/waiting.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orrery::serving {
namespace {

constexpr double kNearlyFull = 0.999;
constexpr double kFew = 12;              // prompts of a step, whose times are taken one by one
constexpr std::size_t kMostStates = 40;  // beyond which fewer than a hundredth of steps are

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

// Prompts that a step begins, if it begins any: x / (1 - exp(-x)) with x = rate T, from below.
double begun_in_a_step(const PromptQueue& q) {
  double prompts = 1;
  for (int i = 0; i < 100; ++i) {
    const double came = q.rate * q.seconds(prompts);
    const double next = came > 1e-6 ? std::min(came / -std::expm1(-came), 1e6) : 1;
    if (std::abs(next - prompts) <= 1e-6 * next) break;
    prompts = next;
  }
  return prompts;
}

// T around `prompts` of a step, c + p A.
struct Straight {
  double c = 0, p = 0;
};
Straight straight(const PromptQueue& q, double prompts) {
  const double around = std::sqrt(prompts), low = std::max(0.0, prompts - around);
  const double p = (q.seconds(prompts + around) - q.seconds(low)) / (prompts + around - low);
  return {std::max(0.0, q.seconds(prompts) - p * prompts), std::max(0.0, p)};
}

// E X
double seconds_seen(const PromptQueue& q, const Straight& line, double variation) {
  const double r = std::min(kNearlyFull, q.rate * line.p);
  return (line.c * (1 + r) + variation * line.p * line.p * q.rate) / (1 - r * r);
}

void of_straight_steps(const PromptQueue& q, const Straight& line, double variation, bool beyond, Spread& out) {
  const auto [c, p] = line;
  const double r = std::min(kNearlyFull, q.rate * p), burst = variation * p * p * q.rate;
  const double mean = seconds_seen(q, line, variation);
  const double square =
      (c * c * (1 + 2 * r) + 3 * c * burst * (q.rate * mean + 1) + burst * p * (3 * q.rate * mean + 1)) /
      (1 - r * r * r);
  // Of X: the rest of it, and the step of those that came in it; where they take several, of those before it.
  const double follow = 0.5 + (beyond ? r / 2 : r);
  out.add(follow * mean + (beyond ? std::max(0.0, q.full / 2 - p) : 0),
          follow * follow * std::max(0.0, square - mean * mean) + square / 12 + burst * mean);
}

// The stationary shares of a chain whose row n has the probabilities of what follows n: elimination of the states from
// the last one on (Grassmann, Taksar and Heyman 1985), which subtracts nothing.
using Row = std::array<double, kMostStates>;
Row stationary(std::array<Row, kMostStates>& next, std::size_t states) {
  for (std::size_t k = states; k-- > 1;) {
    double leaves = 0;
    for (std::size_t m = 0; m < k; ++m) leaves += next[k][m];
    for (std::size_t n = 0; n < k; ++n) next[n][k] /= leaves;
    for (std::size_t n = 0; n < k; ++n)
      for (std::size_t m = 0; m < k; ++m) next[n][m] += next[n][k] * next[k][m];
  }
  Row out = {1};
  for (std::size_t k = 1; k < states; ++k)
    for (std::size_t n = 0; n < k; ++n) out[k] += out[n] * next[n][k];
  return out;
}

// Of the prompts that came together, how long they take to the step with their own's end: mean, and mean square.
struct Own {
  double mean = 0, square = 0;
};
Own own(const PromptQueue& q, std::size_t prompts) {
  const double n = static_cast<double>(prompts);
  if (n <= q.batch) return {q.seconds(n), q.seconds(n) * q.seconds(n)};
  double sum = 0, squares = 0;
  for (std::size_t j = 1; j <= prompts; ++j) {
    const double steps = std::ceil(static_cast<double>(j) / q.batch);
    sum += steps, squares += steps * steps;
  }
  return {q.full * sum / n, q.full * q.full * squares / n};
}

// Steps one by one; `together` is about how many prompts they begin.
void of_chain(const PromptQueue& q, double together, Spread& out) {
  const auto states = std::min(kMostStates, static_cast<std::size_t>(8 + 7 * together));
  Row times{}, following{}, squares{};
  std::array<Own, kMostStates + 1> owns{};
  for (std::size_t n = 0; n < states; ++n) times[n] = q.seconds(static_cast<double>(n)), owns[n + 1] = own(q, n + 1);
  std::array<Row, kMostStates> next{};
  for (std::size_t n = 0; n < states; ++n) {
    double probability = std::exp(-q.rate * times[n]), rest = 1;
    for (std::size_t m = 0; m < states; ++m) {
      const double of = m + 1 < states ? probability : std::max(rest, 0x1p-100);  // the last stands for more
      next[n][m] = of, rest -= of;
      following[n] += of * owns[m + 1].mean, squares[n] += of * owns[m + 1].square;
      probability *= q.rate * times[n] / static_cast<double>(m + 1);
    }
  }
  // State 0 lasts until prompts come.
  const double came = -std::expm1(-q.rate * times[0]);
  const double idle = came > 0 ? times[0] / came : 1 / q.rate;
  for (std::size_t m = 1; m < states; ++m) next[0][m] = came > 0 ? next[0][m] / came : m == 1 ? 1 : 0;
  next[0][0] = 0;
  const Row shares = stationary(next, states);
  double all = 0, mean = 0, square = 0;
  for (std::size_t n = 0; n < states; ++n) {
    const double seen = shares[n] * (n == 0 ? idle : times[n]);
    all += seen;
    mean += seen * (times[n] / 2 + following[n]);
    square += seen * (times[n] * times[n] / 3 + times[n] * following[n] + squares[n]);
  }
  mean /= all, square /= all;
  out.add(std::max(0.0, mean - q.seconds(1)), std::max(0.0, square - mean * mean));
}

}  // namespace

double PromptQueue::seconds(double prompts) const {
  if (known == 0 || prompts <= 0) return pure;
  if (prompts <= 1) return std::lerp(pure, begun[0], prompts);
  if (known == 1) return begun[0] * prompts;
  std::size_t k = 1;
  while (k + 1 < known && kPrompts[k] < prompts) ++k;
  const double slope = (begun[k] - begun[k - 1]) / (kPrompts[k] - kPrompts[k - 1]);
  return begun[k] + slope * (prompts - kPrompts[k]);
}

Spread first_token(const PromptQueue& q) {
  Spread out;
  out.least = q.first;
  const double servers = std::max(1.0, q.batch);
  const double busy = std::min(kNearlyFull, q.rate * q.full / servers);
  if (q.batch < 1) {
    // Who comes while prompts are read has no other wait.
    out.add(q.pure / 2 * (1 - busy), q.pure * q.pure / 12 * (1 - busy));
  } else {
    double together = begun_in_a_step(q);
    Straight line = straight(q, together);
    if (const double seen = q.rate * seconds_seen(q, line, 1); seen > together)  // near the most that can be read
      together = seen, line = straight(q, together);
    const bool beyond = together > q.batch;
    if (together > kFew) {
      of_straight_steps(q, line, q.variation, beyond, out);
      if (beyond) return out;
    } else {
      of_chain(q, together, out);
      Spread bursts, poisson;
      of_straight_steps(q, line, q.variation, beyond, bursts);
      of_straight_steps(q, line, 1, beyond, poisson);
      if (poisson.mean > 0) out.mean *= bursts.mean / poisson.mean;
      if (poisson.variance > 0) out.variance *= bursts.variance / poisson.variance;
      if (q.batch < static_cast<double>(kMostStates)) return out;  // its states know the budget
    }
  }
  const double queued = std::pow(busy, std::sqrt(2 * (servers + 1)) - 1) / servers;
  const double wait = q.variation / 2 * queued / (1 - busy) * q.full;
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
