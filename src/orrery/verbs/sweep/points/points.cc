#include "orrery/verbs/sweep/points/points.h"

#include <algorithm>

namespace orrery::sweep {

void Points::add(Point point) {
  numbers_.push_back(point);
  status_.push_back(kOpen);
  lower_bound_.push_back(store::kAbsent);
  figures_.emplace_back();
  reason_.push_back(0);
}

std::size_t Points::place_of(Point point) const {
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), point);
  return found != numbers_.end() && *found == point ? static_cast<std::size_t>(found - numbers_.begin()) : size();
}

bool Points::found(std::size_t at) const {
  return known(at) && (status(at) == store::Status::kOptimal || status(at) == store::Status::kGap);
}

const std::string& Points::reason(std::size_t at) const {
  static const std::string kNone;
  return reason_[at] == 0 ? kNone : *texts_[reason_[at] - 1];
}

void Points::set(std::size_t at, const store::Outcome& outcome) {
  status_[at] = static_cast<std::uint8_t>(outcome.status);
  lower_bound_[at] = outcome.lower_bound;
  figures_[at] = outcome.figures;
  reason_[at] = 0;
  if (outcome.reason.empty()) return;
  const auto [known, fresh] = reasons_.try_emplace(outcome.reason, static_cast<std::uint32_t>(texts_.size() + 1));
  if (fresh) texts_.push_back(&known->first);
  reason_[at] = known->second;
}

}  // namespace orrery::sweep
