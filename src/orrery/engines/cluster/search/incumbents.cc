#include "orrery/engines/cluster/search/incumbents.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

bool above(double bound, double value) {
  return bound > value + kRounding * value;
}

}  // namespace

Incumbents::Incumbents(const Objective& objective, Mode mode, std::size_t most)
    : mode_(mode), most_(most), metrics_(objective.all().size()) {}

bool Incumbents::before(const Candidate& a, const Candidate& b) const {
  for (std::size_t i = 0; i < metrics_; ++i)
    if (a.score[i] != b.score[i]) return a.score[i] < b.score[i];
  return comes_before(a.plan, b.plan);
}

// Whether every plan with that bound comes after one of that score, which the order of plans does not decide.
bool Incumbents::exceeds(const ScoreBound& bound, const Score& worst) const {
  for (std::size_t i = 0; i < metrics_; ++i) {
    if (bound.exact[i] ? bound.least[i] > worst[i] : above(bound.least[i], worst[i])) return true;
    if (!bound.exact[i] || bound.least[i] != worst[i]) return false;
  }
  return false;
}

bool Incumbents::hopeless(const ScoreBound& bound, base::Count tp, base::Count pp) const {
  switch (mode_) {
    case Mode::kBest:
      return full_ && exceeds(bound, list_.back().score);
    case Mode::kCells: {
      const auto cell = cells_.find({tp, pp});
      return cell != cells_.end() && exceeds(bound, cell->second.score);
    }
    case Mode::kFront:
      break;
  }
  // Beaten in each: a bound that is as good but for rounding may be of a plan that is better by rounding.
  return std::any_of(list_.begin(), list_.end(), [&](const Candidate& kept) {
    bool somewhere = false;
    for (std::size_t i = 0; i < metrics_; ++i) {
      const bool over = bound.exact[i] ? bound.least[i] > kept.score[i] : above(bound.least[i], kept.score[i]);
      if (!over && !(bound.exact[i] && bound.least[i] == kept.score[i])) return false;
      somewhere = somewhere || over;
    }
    return somewhere;
  });
}

void Incumbents::offer(const Candidate& candidate) {
  switch (mode_) {
    case Mode::kBest:
      return offer_best(candidate);
    case Mode::kFront:
      return offer_front(candidate);
    case Mode::kCells:
      return offer_cell(candidate);
  }
}

void Incumbents::offer_best(const Candidate& candidate) {
  if (full_ && !before(candidate, list_.back())) return;
  const auto at = std::lower_bound(list_.begin(), list_.end(), candidate,
                                   [&](const Candidate& a, const Candidate& b) { return before(a, b); });
  const auto equal = [&](const Candidate& kept) {
    return std::equal(kept.score.begin(), kept.score.begin() + static_cast<std::ptrdiff_t>(metrics_),
                      candidate.score.begin());
  };
  if (at != list_.begin() && equal(*std::prev(at))) return;
  if (at != list_.end() && equal(*at)) {
    *at = candidate;
    return;
  }
  list_.insert(at, candidate);
  if (list_.size() > most_) list_.pop_back();
  full_ = list_.size() == most_;
}

void Incumbents::offer_front(const Candidate& candidate) {
  // Of equal scores the first plan stays.
  const auto beats = [&](const Candidate& a, const Candidate& b) {
    for (std::size_t i = 0; i < metrics_; ++i)
      if (a.score[i] > b.score[i]) return false;
    return std::equal(a.score.begin(), a.score.begin() + static_cast<std::ptrdiff_t>(metrics_), b.score.begin())
               ? !comes_before(b.plan, a.plan)
               : true;
  };
  for (const Candidate& kept : list_)
    if (beats(kept, candidate)) return;
  list_.erase(std::remove_if(list_.begin(), list_.end(), [&](const Candidate& kept) { return beats(candidate, kept); }),
              list_.end());
  list_.push_back(candidate);
}

void Incumbents::offer_cell(const Candidate& candidate) {
  const auto [cell, made] = cells_.try_emplace({candidate.plan.tp, candidate.plan.pp}, candidate);
  if (!made && before(candidate, cell->second)) cell->second = candidate;
}

void Incumbents::take(const Incumbents& other) {
  for (const Candidate& each : other.list_) offer(each);
  for (const auto& [cell, each] : other.cells_) offer(each);
}

std::vector<Candidate> Incumbents::all() const {
  std::vector<Candidate> result = list_;
  for (const auto& [cell, each] : cells_) result.push_back(each);
  std::sort(result.begin(), result.end(), [&](const Candidate& a, const Candidate& b) { return before(a, b); });
  return result;
}

double Incumbents::worst_first() const {
  return mode_ == Mode::kBest && full_ ? list_.back().score[0] : kNever;
}

}  // namespace orrery::cluster
