#include "orrery/engines/fused/model/usage.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/factor.h"

namespace orrery::fused {
namespace {

struct Partial {
  Spreads spreads;
  std::vector<Count> left;  // of the bounds, by place
};

// All ways to spread over one more fan-out what `from` leaves.
void spread_over(const EinsumView& view, int fanout, std::size_t place, Count used, Partial& at,
                 std::vector<Partial>& out) {
  if (place == at.left.size()) {
    out.push_back(at);
    return;
  }
  spread_over(view, fanout, place + 1, used, at, out);
  if (!view.may_spread(fanout, view.e.variables[place])) return;
  const Count ways = view.machine.fanouts[fanout].ways;
  const Count left = at.left[place];
  for (const Count factor : base::divisors(left)) {
    if (factor == 1) continue;
    if (used * factor > ways) break;
    at.spreads[fanout][place] = factor;
    at.left[place] = left / factor;
    spread_over(view, fanout, place + 1, used * factor, at, out);
  }
  at.spreads[fanout][place] = 1;
  at.left[place] = left;
}

Count product(const std::vector<Count>& factors) {
  Count all = 1;
  for (const Count factor : factors) all *= factor;
  return all;
}

std::vector<Partial> spread_inside_out(const EinsumView& view, std::vector<Count>& required) {
  const int fanouts = static_cast<int>(view.machine.fanouts.size());
  Partial none{Spreads(fanouts, std::vector<Count>(view.e.variables.size(), 1)), {}};
  for (const int v : view.e.variables) none.left.push_back(view.bound(v));
  std::vector<Partial> partial{none};
  required.assign(fanouts, 1);
  if (view.e.copy) return partial;
  for (int f = fanouts - 1; f >= 0; --f) {
    if (!view.has_fanout(f)) continue;
    std::vector<Partial> next;
    for (Partial& from : partial) spread_over(view, f, 0, 1, from, next);
    Count most = 1;
    for (const Partial& p : next) most = std::max(most, product(p.spreads[f]));
    const double share = view.min_usage(f) * static_cast<double>(view.machine.fanouts[f].ways);
    if (static_cast<double>(most) >= share) {
      while (static_cast<double>(required[f]) < share) ++required[f];
    } else {
      required[f] = most;
    }
    std::erase_if(next, [&](const Partial& p) { return product(p.spreads[f]) < required[f]; });
    partial = std::move(next);
  }
  return partial;
}

}  // namespace

std::vector<Count> required_usage(const EinsumView& view) {
  std::vector<Count> required;
  spread_inside_out(view, required);
  return required;
}

std::vector<Spreads> allowed_spreads(const EinsumView& view) {
  std::vector<Count> required;
  std::vector<Spreads> all;
  for (Partial& p : spread_inside_out(view, required)) all.push_back(std::move(p.spreads));
  return all;
}

}  // namespace orrery::fused
