// What requests wait for that come at random: the end of the step that runs, prompts that came before theirs, and a
// place among those that run. Approximate: distributions by their first two moments.
#pragma once

#include <array>

#include "orrery/engines/serving/model/evaluate.h"

namespace orrery::serving {

// How prompts reach a group of attention.
struct PromptQueue {
  double rate = 0;       // requests a second
  double variation = 1;  // of the times between them, and of what prompts take: squared coefficients, added up; 1: both
                         // Poisson and constant
  double pure = 0;       // seconds of a step without prompts, where there is one
  double first = 0;      // of a request that finds nothing but such steps, until its first token
  // Of steps that begin so many prompts, the first `known` of them; more take as much as the last two say.
  static constexpr std::array<double, 8> kPrompts = {1, 2, 4, 8, 16, 64, 256, 1024};
  std::array<double, 8> begun = {};
  std::size_t known = 0;
  double batch = 1;  // prompts that a step can begin
  double full = 0;   // seconds of such a step; of all steps of a prompt that takes several

  double seconds(double prompts) const;  // of a step, between those that are known on straight lines
};

// A time: `least` and a gamma distribution beyond.
struct Spread {
  double least = 0, mean = 0, variance = 0;  // the latter two of what is beyond

  void add(double more, double its_variance) { mean += more, variance += its_variance; }
};

// Until the first token, once a request is admitted.
Spread first_token(const PromptQueue& queue);

// Where at most `most` run and `running` do on average, of requests that stay `elasticity` per cent longer where one
// per cent more run: what they wait until one of them ends.
void add_admission(double rate, double capacity, double running, double most, double elasticity, double variation,
                   Spread& out);

FirstToken percentiles(const Spread& spread);

}  // namespace orrery::serving
