// Of one number of users every shape has one best deployment, that of most tokens/s of an accelerator; all of these are
// sorted by what users get, and kept where an accelerator gets more than for all that are faster.
#include "orrery/engines/serving/search/front.h"

#include <algorithm>
#include <limits>

namespace orrery::serving {

Front front(const ServedModel& model, const Space& space, const ServiceLimits& limits, const Load& load,
            const base::Budget& budget, int threads) {
  Front out;
  Load asked = load;
  asked.rate.reset();
  asked.concurrency = 1;  // in its place are the space's users
  Space at = space;
  std::vector<Found> all;
  base::Count most = 0;
  for (const Machine& machine : space.machines)
    most = std::max(most, completed(space.base, machine.system->accelerator).max_sequences);
  for (base::Count users = 1; users <= most && out.finished; users *= 2) {
    at.users = {static_cast<double>(users)};
    const Optimum optimum = optimize(model, at, Goal::kTokensPerAccelerator, limits, asked, budget,
                                     {std::numeric_limits<std::size_t>::max(), threads});
    out.finished = optimum.finished;
    all.insert(all.end(), optimum.best.begin(), optimum.best.end());
  }
  std::erase_if(all, [](const Found& found) { return !(found.service.tpot > 0); });
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    if (a.service.tpot != b.service.tpot) return a.service.tpot < b.service.tpot;
    return a.service.per_accelerator > b.service.per_accelerator;
  });
  for (const Found& found : all)
    if (out.points.empty() || found.service.per_accelerator > out.points.back().service.per_accelerator)
      out.points.push_back(found);
  return out;
}

}  // namespace orrery::serving
