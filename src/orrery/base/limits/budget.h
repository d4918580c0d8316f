// What a search may spend: time and memory; it also ends on an interrupt. A verb makes one and hands it by reference to
// every loop that may take long.
//
// Memory is limited in two ways. What is known to grow asks room() before it starts and takes a share, so that a run
// does not depend on what else the process holds. If the process outgrows the limit all the same, spent(), which looks
// at its size now and then, ends the search as at a time limit, with the best so far.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace orrery::base {

// The default of a search.
inline constexpr std::size_t kDefaultMemory = std::size_t{1} << 30;

// What every search is allowed; engines add their own.
struct Limits {
  double seconds = 0;                       // 0: none
  std::size_t memory = kDefaultMemory;      // bytes, of the whole process; 0: no limit
  int threads = 1;                          // changes the time only
  const std::atomic<bool>* stop = nullptr;  // set by an interrupt; the best so far is returned
};

class Budget {
 public:
  Budget() = default;  // without limits
  // `shares`: searches that run beside each other and share the memory.
  explicit Budget(const Limits& limits, int shares = 1);
  // `seconds` from now, but no longer than `whole`.
  Budget(const Budget& whole, double seconds);
  Budget& operator=(const Budget&) = delete;

  // True when time is up, an interrupt came, or memory is short. Takes some 30 ns.
  bool spent() const {
    if (interrupted() || out_of_memory()) return true;
    const Clock::time_point now = Clock::now();
    return now >= deadline_ || (memory_ > 0 && now.time_since_epoch().count() >= next_look_ && grown(now));
  }
  bool interrupted() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  bool out_of_memory() const { return out_of_memory_.load(std::memory_order_relaxed); }
  // From now on memory counts as short: an allocation failed.
  void run_out_of_memory() const { out_of_memory_ = true; }

  bool limited() const { return deadline_ != Clock::time_point::max(); }
  double seconds_left() const;  // infinity without a limit; never below 0
  // Bytes that this search may hold at once, and whether it may hold that many.
  double room() const { return room_; }
  bool has_room(double bytes) const { return bytes <= room_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool grown(Clock::time_point now) const;

  Clock::time_point deadline_ = Clock::time_point::max();
  const std::atomic<bool>* stop_ = nullptr;
  std::size_t memory_ = 0;
  double room_ = std::numeric_limits<double>::infinity();
  mutable std::atomic<Clock::rep> next_look_{0};
  mutable std::atomic<bool> out_of_memory_{false};
};

// Asks a budget every so many steps: for loops whose steps cost less than reading the clock. Spent stays spent.
class Ticker {
 public:
  explicit Ticker(const Budget& budget, std::uint32_t every = 256) : budget_(&budget), every_(every) {}
  bool spent() {
    if (spent_ || ++ticks_ < every_) return spent_;
    ticks_ = 0;
    return spent_ = budget_->spent();
  }
  bool was_spent() const { return spent_; }

 private:
  const Budget* budget_;
  std::uint32_t every_, ticks_ = 0;
  bool spent_ = false;
};

// Bytes that the system still grants this process (RLIMIT_AS, RLIMIT_DATA, control groups), less a reserve for printing
// the answer; nothing where no limit is known.
std::optional<std::size_t> memory_allowed();

}  // namespace orrery::base
