#include "orrery/verbs/sweep/engines/place_engine.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/base/limits/parallel.h"
#include "orrery/verbs/sweep/engines/question_key.h"

namespace orrery::sweep {
namespace {

using Solved = PlaceFamily::Solved;
using Values = PlaceFamily::Values;

constexpr std::size_t kMostLearned = 100'000;  // solved systems, some kilobytes each

// Systems of a family that are answered together.
struct Systems {
  PlaceFamily* family = nullptr;
  std::vector<std::size_t> places;  // of their points
  Solved best;
  std::vector<Systems> halves;  // where the best does not settle them
};

std::pair<Values, Values> corners(const std::vector<std::size_t>& places, const std::vector<const Values*>& values) {
  Values most = *values[places.front()], least = most;
  for (const std::size_t place : places)
    for (std::size_t i = 0; i < most.size(); ++i) {
      most[i] = std::max(most[i], (*values[place])[i]);
      least[i] = std::min(least[i], (*values[place])[i]);
    }
  return {most, least};
}

// In two, at the middle value of the field whose least value costs the best system's mapping most.
void halve(Systems& set, const Values& most, const Values& least, const std::vector<const Values*>& values) {
  std::size_t along = most.size();
  double worst = 0;
  for (std::size_t i = 0; i < most.size(); ++i) {
    if (most[i] == least[i]) continue;
    Values at = most;
    at[i] = least[i];
    const double ns = set.family->time_under(set.best, at);
    if (along == most.size() || ns > worst) along = i, worst = ns;
  }
  std::set<double> different;
  for (const std::size_t place : set.places) different.insert((*values[place])[along]);
  auto middle = different.begin();
  std::advance(middle, different.size() / 2);
  Systems lower{set.family, {}, {}, {}}, upper{set.family, {}, {}, {}};
  for (const std::size_t place : set.places)
    ((*values[place])[along] < *middle ? lower : upper).places.push_back(place);
  set.halves.push_back(std::move(upper));
  set.halves.push_back(std::move(lower));
}

}  // namespace

PlaceEngine::PlaceEngine(std::vector<std::string> arguments, ReadRequest read, const EngineOptions& options)
    : RequestEngine("place", std::move(arguments), std::move(read), options) {
  for (std::size_t a = 0; a < options.paths.size() && a < options.values.size(); ++a) {
    if (!rises(options.paths[a])) continue;
    const std::string *least = nullptr, *most = nullptr;
    double low = 0, high = 0;
    bool all = true;
    for (const std::string& text : options.values[a]) {
      double value = 0;
      if (!PlaceFamily::value_of(options.paths[a], text, value)) {
        all = false;
        break;
      }
      if (least == nullptr || value < low) least = &text, low = value;
      if (most == nullptr || value > high) most = &text, high = value;
    }
    if (!all || least == nullptr || low == high) continue;
    open_.push_back(options.paths[a]);
    least_.push_back({options.paths[a], *least});
    most_.push_back({options.paths[a], *most});
  }
}

PlaceEngine::Member PlaceEngine::member(const base::Overrides& point) const {
  Member out;
  if (open_.empty()) return out;
  out.at.resize(open_.size());
  for (const base::Override& set : point) {
    const auto open = std::find(open_.begin(), open_.end(), set.path);
    if (open != open_.end()) {
      PlaceFamily::value_of(set.path, set.value, out.at[static_cast<std::size_t>(open - open_.begin())]);
    } else {
      out.family += set.path + '\x1f' + set.value + '\x1e';
      out.fixed.push_back(set);
    }
  }
  return out;
}

std::map<std::string, PlaceEngine::FamilyPtr> PlaceEngine::families(const std::vector<Member>& members) {
  std::map<std::string, FamilyPtr> out;
  std::vector<const Member*> fresh;
  for (const Member& each : members) {
    if (each.at.empty()) continue;
    const auto [family, made] = out.try_emplace(each.family);
    if (!made) continue;
    if (const FamilyPtr* known = families_.find(key_of_text(each.family)))
      family->second = *known;
    else
      fresh.push_back(&each);
  }
  std::vector<FamilyPtr> read(fresh.size());
  base::parallel_for(fresh.size(), options().threads, [&](std::size_t i) {
    const auto with = [&](const base::Overrides& open) {
      base::Overrides point = fresh[i]->fixed;
      point.insert(point.end(), open.begin(), open.end());
      return std::get<verbs::PlaceRequest>(request_at(point));
    };
    try {
      read[i] = std::make_shared<PlaceFamily>(open_, with(least_), with(most_));
    } catch (const base::InputError&) {  // its points will say so
    }
  });
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    out[fresh[i]->family] = read[i];
    families_.add(key_of_text(fresh[i]->family), read[i]);
  }
  return out;
}

dataflow::PlaceLimits PlaceEngine::limits(const base::Overrides& point) {
  return std::get<verbs::PlaceRequest>(request_at(point)).limits;
}

std::vector<store::Figures> PlaceEngine::bounds(const std::vector<Choices>& boxes) {
  std::vector<store::Figures> out(boxes.size());
  if (open_.empty()) return out;
  std::vector<Member> members(boxes.size());
  std::vector<Values> least(boxes.size());
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    base::Overrides one;
    bool together = true;  // all points of the box are of one family
    Values low, high;
    for (const std::vector<base::Overrides>& group : boxes[b]) {
      one.insert(one.end(), group.front().begin(), group.front().end());
      for (const base::Overrides& other : group)
        for (std::size_t i = 0; i < other.size(); ++i)
          together = together && (other[i].value == group.front()[i].value || rises_here(other[i].path));
    }
    if (!together) continue;
    members[b] = member(one);
    low = high = members[b].at;
    for (const std::vector<base::Overrides>& group : boxes[b])
      for (const base::Overrides& other : group)
        for (const base::Override& set : other) {
          const auto open = std::find(open_.begin(), open_.end(), set.path);
          double value = 0;
          if (open == open_.end() || !PlaceFamily::value_of(set.path, set.value, value)) continue;
          const auto i = static_cast<std::size_t>(open - open_.begin());
          low[i] = std::min(low[i], value), high[i] = std::max(high[i], value);
        }
    members[b].at = high;
    least[b] = low;
  }
  const std::map<std::string, FamilyPtr> of = families(members);
  std::vector<Solved> solved(boxes.size());
  base::parallel_for(boxes.size(), options().threads, [&](std::size_t b) {
    if (members[b].at.empty()) return;
    const FamilyPtr& family = of.at(members[b].family);
    if (!family || !family->composes()) return;
    try {
      solved[b] = family->solve(members[b].at, limits(members[b].fixed));
      out[b] = family->bounds(solved[b], least[b]);
    } catch (const base::InputError&) {  // the answer will say so
      solved[b] = {};
    } catch (const base::OverflowError&) {
      solved[b] = {};
    }
  });
  for (std::size_t b = 0; b < boxes.size(); ++b)
    if (solved[b].placement) learn(*of.at(members[b].family), solved[b]);
  return out;
}

// What is known of all families has room, too: beyond it everything is forgotten.
void PlaceEngine::learn(PlaceFamily& family, const Solved& solved) {
  if (!family.learn(solved) || ++learned_ < kMostLearned) return;
  families_ = Recent<FamilyPtr>(kFamilies);
  learned_ = 0;
}

bool PlaceEngine::rises_here(const std::string& path) const {
  return std::find(open_.begin(), open_.end(), path) != open_.end();
}

void PlaceEngine::answer_all(const std::vector<base::Overrides>& points, const std::vector<std::size_t>& places,
                             std::vector<store::Result>& results) {
  std::vector<Member> members(points.size());
  for (const std::size_t i : places) members[i] = member(points[i]);
  const std::map<std::string, FamilyPtr> of = families(members);

  std::vector<Systems> open;
  std::map<PlaceFamily*, std::size_t> place_of;  // in `open`, which is in the order of the points
  std::vector<std::size_t> alone;
  std::vector<const Values*> values(points.size());
  for (const std::size_t i : places) {
    PlaceFamily* const family = members[i].at.empty() ? nullptr : of.at(members[i].family).get();
    if (family == nullptr || !family->composes()) {
      alone.push_back(i);
      continue;
    }
    values[i] = &members[i].at;
    const auto [known, made] = place_of.try_emplace(family, open.size());
    if (made) open.push_back({family, {}, {}, {}});
    open[known->second].places.push_back(i);
  }

  while (!open.empty()) {
    const auto each_open = [&](const auto& task) {
      base::parallel_for(open.size(), options().threads, [&](std::size_t s) {
        try {
          task(open[s]);
        } catch (const base::InputError&) {  // reading its document tells where
          open[s].family = nullptr;
        } catch (const base::OverflowError&) {
          open[s].family = nullptr;
        }
      });
    };
    each_open([&](Systems& set) {
      set.best = set.family->solve(corners(set.places, values).first, limits(members[set.places.front()].fixed));
    });
    for (Systems& set : open)
      if (set.family != nullptr) learn(*set.family, set.best);
    each_open([&](Systems& set) {
      const auto [most, least] = corners(set.places, values);
      if (most != least && !set.family->settles(set.best, set.family->time_under(set.best, least)))
        return halve(set, most, least, values);
      for (const std::size_t i : set.places) {
        results[i].outcome = set.family->outcome(set.best, *values[i]);
        results[i].inputs = inputs_text(set.family->inputs());
      }
    });
    std::vector<Systems> next;
    for (Systems& set : open) {
      if (set.family != nullptr && set.halves.empty()) settled_ += set.places.size() - (set.best.searched ? 1 : 0);
      if (set.family == nullptr) alone.insert(alone.end(), set.places.begin(), set.places.end());
      for (Systems& half : set.halves) next.push_back(std::move(half));
    }
    open = std::move(next);
  }
  RequestEngine::answer_all(points, alone, results);
}

}  // namespace orrery::sweep
