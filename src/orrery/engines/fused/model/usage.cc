#include "orrery/engines/fused/model/usage.h"

#include <algorithm>

#include "orrery/base/numbers/factor.h"

namespace orrery::fused {
namespace {

struct Partial {
  Spreads spreads;
  std::vector<Count> left;  // of the bounds, by place
};

// All ways to spread over one more fan-out what `at` leaves.
void spread_over(const SpreadSpace& space, int fanout, std::size_t place, Count used, Partial& at,
                 std::vector<Partial>& out) {
  if (place == at.left.size()) {
    out.push_back(at);
    return;
  }
  spread_over(space, fanout, place + 1, used, at, out);
  if (!space.allowed[fanout][place]) return;
  const Count left = at.left[place];
  for (const Count factor : base::divisors(left)) {
    if (factor == 1) continue;
    if (used * factor > space.ways[fanout]) break;
    at.spreads[fanout][place] = factor;
    at.left[place] = left / factor;
    spread_over(space, fanout, place + 1, used * factor, at, out);
  }
  at.spreads[fanout][place] = 1;
  at.left[place] = left;
}

Count product(const std::vector<Count>& factors) {
  Count all = 1;
  for (const Count factor : factors) all *= factor;
  return all;
}

std::vector<Partial> spread_inside_out(const SpreadSpace& space, std::vector<Count>& required) {
  const int fanouts = static_cast<int>(space.ways.size());
  std::vector<Partial> partial{{Spreads(fanouts, std::vector<Count>(space.bounds.size(), 1)), space.bounds}};
  required.assign(fanouts, 1);
  for (int f = fanouts - 1; f >= 0; --f) {
    std::vector<Partial> next;
    for (Partial& from : partial) spread_over(space, f, 0, 1, from, next);
    Count most = 1;
    for (const Partial& p : next) most = std::max(most, product(p.spreads[f]));
    const double share = space.min_usage[f] * static_cast<double>(space.ways[f]);
    while (required[f] < most && static_cast<double>(required[f]) < share) ++required[f];
    std::erase_if(next, [&](const Partial& p) { return product(p.spreads[f]) < required[f]; });
    partial = std::move(next);
  }
  return partial;
}

}  // namespace

SpreadSpace spread_space(const EinsumView& view) {
  SpreadSpace space;
  for (const int v : view.e.variables) space.bounds.push_back(view.bound(v));
  for (int f = 0; f < static_cast<int>(view.machine.fanouts.size()); ++f) {
    const bool there = view.has_fanout(f) && !view.e.copy;
    space.ways.push_back(there ? view.machine.fanouts[f].ways : 1);
    space.min_usage.push_back(there ? view.min_usage(f) : 0);
    space.allowed.emplace_back();
    for (const int v : view.e.variables) space.allowed.back().push_back(there && view.may_spread(f, v));
  }
  return space;
}

std::vector<Count> required_usage(const SpreadSpace& space) {
  std::vector<Count> required;
  spread_inside_out(space, required);
  return required;
}

std::vector<Spreads> allowed_spreads(const SpreadSpace& space) {
  std::vector<Count> required;
  std::vector<Spreads> all;
  for (Partial& p : spread_inside_out(space, required)) all.push_back(std::move(p.spreads));
  return all;
}

}  // namespace orrery::fused
