#include "orrery/verbs/sweep/points/shares.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/split_mix.h"

namespace orrery::sweep {
namespace {

constexpr std::size_t kMostAsked = 17;  // values of a group; between them, a straight line

// Places 0 to `size` - 1, at most kMostAsked, the ends among them.
std::vector<std::size_t> spread(std::size_t size) {
  std::vector<std::size_t> out;
  const std::size_t most = std::min(size, kMostAsked);
  for (std::size_t i = 0; i < most; ++i) out.push_back(most == 1 ? 0 : i * (size - 1) / (most - 1));
  return out;
}

double logarithm(Engine& engine, const base::Overrides& point, double otherwise) {
  try {
    const double effort = engine.effort(point);
    return effort > 0 && std::isfinite(effort) ? std::log2(effort) : otherwise;
  } catch (const base::InputError&) {  // its answer will say so, and soon
    return otherwise;
  }
}

}  // namespace

Efforts::Efforts(const Study& study, Engine& engine) {
  const double first = logarithm(engine, study.at(0), 0);
  Point stride = study.points();
  for (const Group& group : study.groups) {
    stride /= group.size();
    std::vector<double>& of_value = of_value_.emplace_back(group.size());
    std::size_t before = 0;
    for (const std::size_t value : spread(group.size())) {
      of_value[value] = value == 0 ? 0 : logarithm(engine, study.at(value * stride), first) - first;
      for (std::size_t between = before + 1; between < value; ++between)
        of_value[between] = of_value[before] + (of_value[value] - of_value[before]) *
                                                   static_cast<double>(between - before) /
                                                   static_cast<double>(value - before);
      before = value;
    }
  }
}

double Efforts::of(Point point) const {
  double out = 0;
  for (std::size_t g = of_value_.size(); g-- > 0;) {
    out += of_value_[g][point % of_value_[g].size()];
    point /= of_value_[g].size();
  }
  return out;
}

bool Dealer::takes(Point point) {
  if (shard_.parts <= 1) return true;
  const double place = std::floor(2 * efforts_.of(point)) + kClasses / 2;
  const std::size_t of_class = place <= 0 ? 0 : place >= kClasses ? kClasses - 1 : static_cast<std::size_t>(place);
  const std::uint64_t card = dealt_[of_class]++;
  const std::uint64_t begins = base::SplitMix(card / shard_.parts * kClasses + of_class).next();
  return (card % shard_.parts + begins % shard_.parts) % shard_.parts == shard_.part - 1;
}

}  // namespace orrery::sweep
