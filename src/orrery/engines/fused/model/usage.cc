#include "orrery/engines/fused/model/usage.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "orrery/base/numbers/factor.h"

namespace orrery::fused {
namespace {

constexpr std::uint32_t kStepsBetweenLooks = 4096;  // at the clock: steps of some 10 ns

struct Left {
  std::vector<Count> bounds;
  Count used = 1;  // instances of the last fan-out
};

// What one more fan-out may leave of the bounds.
void leave(const SpreadSpace& space, int fanout, std::size_t place, Left& at, std::vector<Left>& out) {
  if (place == at.bounds.size()) {
    out.push_back(at);
    return;
  }
  const Left before = at;
  const bool allowed = space.allowed[fanout][place];
  for (const Count factor : allowed ? base::divisors(before.bounds[place]) : std::vector<Count>{1}) {
    if (before.used * factor > space.ways[fanout]) break;
    at.bounds[place] = before.bounds[place] / factor;
    at.used = before.used * factor;
    leave(space, fanout, place + 1, at, out);
  }
  at = before;
}

// Fan-outs from the inside out, those that use the most in front.
class Lister {
 public:
  Lister(const SpreadSpace& space, const std::function<bool()>& ended)
      : space_(space),
        ended_(ended),
        required_(required_usage(space)),
        left_(space.bounds),
        list_(space.ways.size(), space.bounds.size()) {
    parts_.assign(space.ways.size() * space.bounds.size(), 1);
    for (const Count ways : space.ways)
      if (ways > std::numeric_limits<std::uint32_t>::max())
        throw std::length_error("a fan-out has over 2^32 instances");
    for (const Count bound : space.bounds) divisors_.push_back(base::divisors(bound));
  }
  SpreadList list() {
    spread(space_.ways.size(), 0, 1);
    return std::move(list_);
  }

 private:
  // Over the fan-outs before `fanout`, and the bounds from `place` on over the last of them.
  void spread(std::size_t fanout, std::size_t place, Count used) {
    if (ended_ && ++steps_ % kStepsBetweenLooks == 0 && list_.size() > 0 && ended_()) list_.cut();
    if (!list_.complete()) return;
    if (fanout == 0) {
      list_.add(parts_);
      return;
    }
    const std::size_t f = fanout - 1;
    if (place == left_.size()) {
      if (used >= required_[f]) spread(f, 0, 1);
      return;
    }
    const Count left = left_[place];
    std::uint32_t& part = parts_[f * left_.size() + place];
    for (auto factor = divisors_[place].rbegin(); factor != divisors_[place].rend(); ++factor) {
      if (*factor > 1 && !space_.allowed[f][place]) continue;
      if (*factor > left || left % *factor != 0 || used * *factor > space_.ways[f]) continue;
      part = static_cast<std::uint32_t>(*factor);
      left_[place] = left / *factor;
      spread(fanout, place + 1, used * *factor);
    }
    left_[place] = left;
    part = 1;
  }

  const SpreadSpace& space_;
  const std::function<bool()>& ended_;
  std::vector<Count> required_;
  std::vector<Count> left_;
  std::vector<std::vector<Count>> divisors_;
  std::vector<std::uint32_t> parts_;
  std::uint32_t steps_ = 0;
  SpreadList list_;
};

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
  std::vector<Count> required(space.ways.size(), 1);
  const auto share = [&](std::size_t f) { return space.min_usage[f] * static_cast<double>(space.ways[f]); };
  std::size_t asked = 0;  // fan-outs further out ask for nothing
  while (asked < required.size() && share(asked) <= 1) ++asked;
  std::set<std::vector<Count>> bounds{space.bounds};
  for (std::size_t f = required.size(); f-- > asked;) {
    std::vector<Left> all;
    for (const std::vector<Count>& from : bounds) {
      Left at{from};
      leave(space, static_cast<int>(f), 0, at, all);
    }
    Count most = 1;
    for (const Left& one : all) most = std::max(most, one.used);
    while (required[f] < most && static_cast<double>(required[f]) < share(f)) ++required[f];
    bounds.clear();
    for (Left& one : all)
      if (one.used >= required[f]) bounds.insert(std::move(one.bounds));
  }
  return required;
}

SpreadList allowed_spreads(const SpreadSpace& space, const std::function<bool()>& ended) {
  return Lister(space, ended).list();
}

}  // namespace orrery::fused
