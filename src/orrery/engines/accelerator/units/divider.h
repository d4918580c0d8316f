// Whole quotients and square roots of pipelines that find a bit a stage, by restoring: what is subtracted only if it
// goes.
//
//   divider      stage i:  r <= 2 r + the next bit of the dividend;  r >= divisor ?  r -= divisor, bit 1 : bit 0
//   square root  stage i:  r <= 4 r + the next two bits;  r >= 4 q + 1 ?  r -= 4 q + 1, q = 2 q + 1 : q = 2 q
//
// A pair enters in each cycle and leaves floor(dividend / divisor), or floor(sqrt(x)), after as many cycles as the
// result has bits. The quotient must fit; division by 0 gives all ones. Source: the schoolbook's methods.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::accelerator {

class Divider {
 public:
  explicit Divider(int bits);  // of the quotient, at most 62

  struct Result {
    bool there = false;
    std::uint64_t value = 0;
  };
  // One cycle. `there`: a pair enters. What the last stage has found in this cycle comes back.
  Result step(bool there, std::uint64_t dividend, std::uint64_t divisor);

 private:
  struct Stage {
    bool there = false;
    std::uint64_t rest = 0, low = 0, divisor = 0, quotient = 0;
  };
  int bits_;
  std::vector<Stage> stages_;
};

class SquareRoot {
 public:
  explicit SquareRoot(int bits);  // of the root, at most 31

  Divider::Result step(bool there, std::uint64_t x);

 private:
  struct Stage {
    bool there = false;
    std::uint64_t rest = 0, x = 0, root = 0;
  };
  int bits_;
  std::vector<Stage> stages_;
};

// floor(sqrt(x)), at once.
std::uint64_t square_root(std::uint64_t x);

}  // namespace orrery::accelerator
