#include "orrery/engines/cluster/search/objective.h"

#include <algorithm>
#include <cmath>

namespace orrery::cluster {

double best_interval(const Reliability& r, double gpus) {
  if (!(r.mtbf_s > 0)) return kNever;
  const double mean = r.mtbf_s / gpus;
  if (r.checkpoint_s <= 0) return 0;
  // (1 - x) e^(x + c) falls from e^c to 0 between x = 0 and 1.
  const double c = r.checkpoint_s / mean;
  double low = 0, high = 1;
  for (int step = 0; step < 100; ++step) {
    const double x = (low + high) / 2;
    (x + c + std::log1p(-x) > 0 ? low : high) = x;
  }
  return low * mean;
}

namespace {

double share_with(const Reliability& r, double mean, double interval) {
  const double x = interval / mean;
  const double restart = std::exp(-r.restart_s / mean);
  const double lost = std::expm1(x + r.checkpoint_s / mean);
  return lost > 0 ? restart * x / lost : restart;
}

}  // namespace

double useful_share(const Reliability& r, double gpus) {
  if (!(r.mtbf_s > 0)) return 1;
  return share_with(r, r.mtbf_s / gpus, best_interval(r, gpus));
}

double Objective::value(Metric metric, double seconds, double memory, double batch, double used, double paid) const {
  const double unit = by_sequence ? seconds / batch : seconds;
  switch (metric) {
    case Metric::kTime:
      return unit;
    case Metric::kCost: {
      const double hours = unit / 3600 * std::max(paid, static_cast<double>(least_gpus));
      return price_per_gpu_hour > 0 ? hours * price_per_gpu_hour : hours;
    }
    case Metric::kEnergy:
      return unit * paid * (watts_per_gpu > 0 ? watts_per_gpu : 1);
    case Metric::kMemory:
      return memory;
    case Metric::kGoodput: {
      if (!(reliability.mtbf_s > 0)) return unit;
      // Between two checkpoints lies an iteration at least.
      const double share =
          share_with(reliability, reliability.mtbf_s / used, std::max(seconds, best_interval(reliability, used)));
      return share > 0 ? unit / share : std::numeric_limits<double>::max();
    }
    case Metric::kAccelerators:
      break;
  }
  return used;
}

double Objective::value(Metric metric, const Plan& plan, const Iteration& iteration) const {
  const auto gpus = static_cast<double>(plan.gpus);
  return value(metric, iteration.iteration_s, iteration.memory.total(), static_cast<double>(plan.global_batch), gpus,
               gpus);
}

std::vector<Metric> Objective::all() const {
  std::vector<Metric> order = metrics;
  if (front) return order;
  if (std::find(order.begin(), order.end(), Metric::kTime) == order.end()) order.push_back(Metric::kTime);
  return order;
}

base::Count idle(const Objective& objective, const Plan& plan) {
  return std::max<base::Count>(0, objective.least_gpus - plan.gpus);
}

}  // namespace orrery::cluster
