#include "orrery/engines/serving/model/load.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

void check(const char* name, const Lengths& lengths, base::Diagnostics& found) {
  const bool possible =
      lengths.kind == Lengths::Kind::kUniform ? lengths.least >= 1 && lengths.most >= lengths.least
      : lengths.kind == Lengths::Kind::kEmpirical
          ? !lengths.samples.empty() && *std::min_element(lengths.samples.begin(), lengths.samples.end()) >= 1
          : lengths.mean >= 1 && lengths.mean < 1e9 && lengths.deviation >= 0;
  if (!possible) found.error("O2074", fmt::format("{} must be 1 to 999,999,999 tokens long", name));
}

}  // namespace

Lengths Lengths::constant(base::Count tokens) {
  Lengths out;
  out.mean = static_cast<double>(tokens);
  return out;
}

double Lengths::average() const {
  switch (kind) {
    case Kind::kUniform:
      return (static_cast<double>(least) + static_cast<double>(most)) / 2;
    case Kind::kEmpirical:
      return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    case Kind::kConstant:
    case Kind::kLogNormal:
      break;
  }
  return mean;
}

double Lengths::variation() const {
  const double center = average();
  switch (kind) {
    case Kind::kUniform: {
      const double width = static_cast<double>(most) - static_cast<double>(least) + 1;
      return (width * width - 1) / 12 / (center * center);
    }
    case Kind::kLogNormal:
      return deviation * deviation / (mean * mean);
    case Kind::kEmpirical: {
      double sum = 0;
      for (const base::Count each : samples)
        sum += (static_cast<double>(each) - center) * (static_cast<double>(each) - center);
      return sum / static_cast<double>(samples.size()) / (center * center);
    }
    case Kind::kConstant:
      break;
  }
  return 0;
}

base::Count Lengths::draw(base::SplitMix& random) const {
  switch (kind) {
    case Kind::kUniform:
      return least + static_cast<base::Count>(random.next() % static_cast<std::uint64_t>(most - least + 1));
    case Kind::kEmpirical:
      return samples[random.next() % samples.size()];
    case Kind::kLogNormal: {
      const double variance = std::log(1 + deviation * deviation / (mean * mean));
      const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
      const double normal = radius * std::cos(2 * std::numbers::pi * uniform(random));
      const double drawn = std::exp(std::log(mean) - variance / 2 + std::sqrt(variance) * normal);
      return std::max<base::Count>(1, base::saturated(drawn + 0.5));
    }
    case Kind::kConstant:
      break;
  }
  return std::max<base::Count>(1, base::saturated(mean + 0.5));
}

void check(const Load& load, base::Diagnostics& found) {
  check("prompts", load.prompt, found);
  check("outputs", load.output, found);
  if (load.concurrency.has_value() == load.rate.has_value())
    found.error("O2074", "a load is either a number of users at once or a rate of requests, not both and not neither")
        .hint("`--concurrency USERS` or `--rate REQUESTS_PER_SECOND`");
  if (load.concurrency && !(*load.concurrency >= 1))
    found.error("O2074", fmt::format("the concurrency must be at least 1, but is {}", *load.concurrency));
  if (load.rate && !(*load.rate > 0 && std::isfinite(*load.rate)))
    found.error("O2074", fmt::format("the rate must be above 0, but is {}", *load.rate));
  if (!(load.prefix_hit >= 0 && load.host_hit >= 0 && load.prefix_hit + load.host_hit < 1))
    found.error("O2074", fmt::format("the share of prompts in caches lies from 0 to below 1, but is {}",
                                     load.prefix_hit + load.host_hit));
}

}  // namespace orrery::serving
