// What sums and maxima of an einsum's costs need.
#pragma once

#include <algorithm>
#include <array>

namespace orrery::fused {

// Which of energy and delay a search looks at; what it does not look at counts as nothing.
struct Counted {
  bool energy = true;
  bool delay = true;
};

// Energy without leakage, and the time of each port that several parts of a nest share: reads and writes (or both in
// the first) of the outermost storage and of the exchange level; `inside`: of the slowest of what stands inside.
struct Cost {
  double energy = 0;
  std::array<double, 4> port{};
  double inside = 0;

  double delay() const { return std::max({port[0], port[1], port[2], port[3], inside}); }
  bool no_worse(const Cost& other) const {
    return energy <= other.energy && inside <= other.inside && port[0] <= other.port[0] && port[1] <= other.port[1] &&
           port[2] <= other.port[2] && port[3] <= other.port[3];
  }
  void lower(const Cost& other) {
    energy = std::min(energy, other.energy);
    inside = std::min(inside, other.inside);
    for (int i = 0; i < 4; ++i) port[i] = std::min(port[i], other.port[i]);
  }
  void add(const Cost& other, double times) {
    energy += other.energy * times;
    for (int i = 0; i < 4; ++i) port[i] += other.port[i] * times;
  }
};

// Whether a mapping whose cost is at least `cost`, leakage left out, can be part of an answer that is wanted.
class Hope {
 public:
  virtual ~Hope() = default;
  virtual bool wanted(const Cost& cost) = 0;   // never, once time is up
  virtual void found(const Cost& /*cost*/) {}  // a placement that nothing is added to
  virtual bool ended() = 0;                    // time is up
  virtual double most_lines() const = 0;       // of holds inside the exchange level: those that compute fastest
  virtual double most_nests() const = 0;       // priced of a line and a tile, until one has room
};

}  // namespace orrery::fused
