#include "orrery/verbs/validate/error_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "orrery/describe/machine/operator.h"

namespace orrery::verbs {
namespace {

bool longer_is_more(Measure measure) {
  return measure == Measure::kIterationSeconds || measure == Measure::kGpuHoursPerTrillionTokens;
}

struct Member {
  const ValidatedSet* set;
  const ValidatedPoint* point;
};
using Key = std::pair<base::Count, std::string>;  // its place among others, and its name

Key size_of(base::Count accelerators) {
  base::Count least = 1;
  for (const base::Count most : {8, 64, 512}) {
    if (accelerators <= most) return {least, std::to_string(least) + " to " + std::to_string(most)};
    least = most + 1;
  }
  return {least, "more than 512"};
}

struct Respect {
  const char* by;
  Key (*of)(const Member& member);
};
constexpr Respect kRespects[] = {
    {"table",
     [](const Member& m) {
       return Key{0, m.set->name};
     }},
    {"accelerator",
     [](const Member& m) {
       return Key{0, m.point->kind.accelerator};
     }},
    {"software",
     [](const Member& m) {
       return Key{0, m.point->kind.stack};
     }},
    {"precision",
     [](const Member& m) {
       return Key{0, std::string(machine::name(m.point->run.plan.precision))};
     }},
    {"layers",
     [](const Member& m) {
       return Key{0, m.point->kind.experts ? "experts" : "dense"};
     }},
    {"accelerators", [](const Member& m) { return size_of(m.point->run.plan.gpus); }},
};

// Runs that one utilisation is to stand for.
std::pair<std::string, int> chip_of(const ValidatedPoint& point) {
  return {point.kind.accelerator, point.kind.bits};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

double measured_utilisation(const ValidatedPoint& point) {
  const double ratio = point.predicted / point.run.value;
  return point.iteration.published.mfu * (longer_is_more(point.run.measure) ? ratio : 1 / ratio);
}

double error_of_utilisation(const ValidatedPoint& point, double utilisation) {
  const double ratio = measured_utilisation(point) / utilisation;
  return (longer_is_more(point.run.measure) ? ratio : 1 / ratio) - 1;
}

std::vector<ErrorGroup> error_groups(const std::vector<ValidatedSet>& sets) {
  std::vector<Member> members;
  std::map<std::pair<std::string, int>, std::vector<double>> utilisations;
  for (const ValidatedSet& set : sets)
    for (const ValidatedPoint& point : set.points) {
      if (point.run.use == Use::kUnverified) continue;
      members.push_back({&set, &point});
      utilisations[chip_of(point)].push_back(measured_utilisation(point));
    }
  std::map<std::pair<std::string, int>, double> constant;
  for (auto& [chip, values] : utilisations) constant[chip] = median(std::move(values));
  std::vector<ErrorGroup> out;
  for (const Respect& respect : kRespects) {
    std::map<Key, std::pair<std::vector<double>, std::vector<double>>> groups;
    for (const Member& member : members) {
      auto& [errors, constants] = groups[respect.of(member)];
      errors.push_back(member.point->error);
      constants.push_back(error_of_utilisation(*member.point, constant.at(chip_of(*member.point))));
    }
    for (const auto& [key, of] : groups)
      out.push_back({respect.by, key.second, summarise(of.first), summarise(of.second)});
  }
  return out;
}

}  // namespace orrery::verbs
