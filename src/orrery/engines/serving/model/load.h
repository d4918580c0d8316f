// What is asked of a deployment: how long requests are, and how they come.
#pragma once

#include <optional>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/split_mix.h"

namespace orrery::serving {

// A distribution of numbers of tokens, each at least 1.
struct Lengths {
  enum class Kind { kConstant, kUniform, kLogNormal, kEmpirical };
  Kind kind = Kind::kConstant;
  double mean = 1;                   // constant and log-normal
  double deviation = 0;              // log-normal: the standard deviation
  base::Count least = 1, most = 1;   // uniform, both included
  std::vector<base::Count> samples;  // empirical

  static Lengths constant(base::Count tokens);
  double average() const;
  double variation() const;  // squared coefficient of variation
  bool varies() const { return kind != Kind::kConstant; }
  base::Count draw(base::SplitMix& random) const;
};

// Exactly one of `concurrency` and `rate`.
struct Load {
  Lengths prompt, output;
  std::optional<double> concurrency;  // users that each send the next request once they have the answer
  std::optional<double> rate;         // requests a second that come at random (Poisson)
  double waves = 0;                   // requests that each user sends, all users at once first; 0: without end
  double prefix_hit = 0;              // share of prompts' tokens that caches have, in [0, 1)
  double host_hit = 0;                // the same of those that copies in the host's memory have, behind them
  double arrival_variation = 1;       // squared coefficient of variation of the times between arrivals; Poisson: 1

  // Of so many groups that take turns, what each of them sees: of arrivals, and with that of prompts' lengths.
  double arrivals(double groups) const { return arrival_variation / groups; }
  double variation(double groups) const { return arrivals(groups) + prompt.variation(); }
};

// O2074.
void check(const Load& load, base::Diagnostics& found);

// Uniform in [0, 1).
inline double uniform(base::SplitMix& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

}  // namespace orrery::serving
