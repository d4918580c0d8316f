// Which part of a divided study has which points: dealt out so that the parts end together.
//
// What a point costs is estimated as a product: for each field, what the answer costs with that value over what it
// costs with the first one, all other fields at their first value (Engine::effort). Points whose estimates lie within a
// factor of sqrt(2) are a class; each class is dealt out like cards, a round at a time, every round beginning with
// another part. So parts have as many points of each class, give or take one, and those of a round differ in no
// particular field.
//
// All parts deal alike, without talking to each other. Cost: a few nanoseconds a point, of all points in every part.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

// Part k of N.
struct Shard {
  std::uint64_t part = 1, parts = 1;
};

// What a study's points cost to answer, relative to its first one.
class Efforts {
 public:
  Efforts(const Study& study, Engine& engine);
  // The logarithm, to base 2.
  double of(Point point) const;

 private:
  std::vector<std::vector<double>> of_value_;  // by group and value, a logarithm each
};

class Dealer {
 public:
  Dealer(const Efforts& efforts, Shard shard) : efforts_(efforts), shard_(shard) {}
  // Asked of every point of the study, rising.
  bool takes(Point point);

 private:
  static constexpr int kClasses = 256;
  const Efforts& efforts_;
  Shard shard_;
  std::array<std::uint64_t, kClasses> dealt_{};
};

}  // namespace orrery::sweep
