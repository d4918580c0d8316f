// What rendering may take, whatever a template says: every step and every byte is paid from here. The bounds keep a
// hostile template (a loop of a million, a macro that calls itself, a text that doubles) below a tenth of a second.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::timeloop::jinja {

class Budget {
 public:
  // An evaluation, and the bytes or values that it makes. Throws InputError (O2026) where nothing is left.
  void step(const base::Location& where, std::size_t made = 0);
  // Text that goes out. What files hold may go out once: `allow` says how much they hold.
  void print(const base::Location& where, std::size_t bytes);
  void allow(std::size_t bytes) { output_left_ += bytes; }

  // Calls within calls.
  class Depth {
   public:
    Depth(Budget& budget, const base::Location& where);
    ~Depth() { --budget_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Budget& budget_;
  };

 private:
  std::size_t steps_left_ = 100'000;
  std::size_t output_left_ = std::size_t{128} << 10;
  int depth_ = 0;
};

}  // namespace orrery::formats::timeloop::jinja
