#include "orrery/engines/fused/search/einsum_shape.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "orrery/base/numbers/factor.h"

namespace orrery::fused {
namespace {

// What tensors and fan-outs know of a variable.
std::vector<bool> traits(const EinsumView& view, int variable) {
  std::vector<bool> all;
  for (int a = 0; a < view.accesses(); ++a) all.push_back(view.relevant(a, variable));
  for (int f = 0; f < static_cast<int>(view.machine.fanouts.size()); ++f)
    all.push_back(view.has_fanout(f) && view.may_spread(f, variable));
  return all;
}

void list_divisors(VariableClass& one) {
  one.divisors = base::divisors(one.bound);
  if (one.divisors.size() > 255) throw std::length_error("a class of variables has more than 255 divisors");
  for (const Count d : one.divisors) one.sizes.push_back(static_cast<double>(d));
  for (const Count a : one.divisors) {
    one.quotient.emplace_back();
    for (const Count b : one.divisors)
      one.quotient.back().push_back(static_cast<std::int16_t>(a % b == 0 ? one.place(a / b) : -1));
  }
}

}  // namespace

int VariableClass::place(Count divisor) const {
  const auto found = std::lower_bound(divisors.begin(), divisors.end(), divisor);
  return found != divisors.end() && *found == divisor ? static_cast<int>(found - divisors.begin()) : -1;
}

EinsumShape::EinsumShape(const Problem& problem, int einsum, const std::function<bool()>& ended)
    : view(problem, einsum) {
  for (int s = 1; s < static_cast<int>(view.machine.storages.size()); ++s) {
    if (!view.has_storage(s)) continue;
    if (view.machine.storages[s].exchange)
      exchange = s;
    else
      inner.push_back(s);
  }
  std::vector<std::vector<bool>> known;
  for (const int v : view.e.variables) {
    if (view.bound(v) == 1) continue;
    const std::vector<bool> mine = traits(view, v);
    const auto found = std::find(known.begin(), known.end(), mine);
    if (found == known.end()) {
      known.push_back(mine);
      all.emplace_back();
      all.back().members = {v};
      all.back().bound = view.bound(v);
    } else {
      VariableClass& one = all[found - known.begin()];
      one.members.push_back(v);
      one.bound = base::checked_multiply(one.bound, view.bound(v));
    }
  }
  if (classes() > kMostClasses)
    throw std::length_error(fmt::format("{} has more than {} kinds of variables", view.e.name, kMostClasses));
  for (VariableClass& one : all) list_divisors(one);
  ranks.resize(view.accesses());
  for (int a = 0; a < view.accesses(); ++a)
    for (int c = 0; c < classes(); ++c)
      if (view.relevant(a, all[c].members.front())) ranks[a] |= 1U << c;
  for (int c = 0; c < classes(); ++c) full[c] = static_cast<std::uint8_t>(all[c].divisors.size() - 1);
  SpreadSpace space = spread_space(view);
  space.bounds.clear();
  for (auto& allowed : space.allowed) allowed.clear();
  for (const VariableClass& one : all) {
    space.bounds.push_back(one.bound);
    for (std::size_t f = 0; f < space.allowed.size(); ++f)
      space.allowed[f].push_back(space.ways[f] > 1 && view.may_spread(static_cast<int>(f), one.members.front()));
  }
  spreads = allowed_spreads(space, ended);
}

int EinsumShape::class_of(int variable) const {
  for (int c = 0; c < classes(); ++c)
    if (std::find(all[c].members.begin(), all[c].members.end(), variable) != all[c].members.end()) return c;
  return -1;
}

}  // namespace orrery::fused
