// Bandwidth stalls (`throttle` in JSON): how many cycles a storage needs when its ports are narrower than its traffic.
//
// A port that passes `b` words per cycle needs ceil(words / b) cycles; the level needs the slowest port,
// and at least the compute cycles. Timeloop computes the same through a slow-down factor in doubles,
//     slow = min(1, R / (sum_s reads_s / cc), ...);  cycles = ceil(cc / slow),
// which sometimes rounds up by one cycle; `--compat timeloop` reproduces that.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/model/accounting.h"

namespace orrery::nest {

struct BandwidthStall {
  base::Count cycles = 0;
  double factor = 1;  // compute cycles per cycle, at most 1
  double beyond = 0;  // the cycles where a Count cannot hold them, and `cycles` is the largest one; else 0
};

// `reads` and `writes` (fills plus updates) are words per instance, one entry per dataspace.
template <typename Reads, typename Writes>
BandwidthStall bandwidth_stall(const PricedLevel& level, base::Count compute_cycles, std::span<const Reads> reads,
                               std::span<const Writes> writes, bool in_doubles) {
  BandwidthStall result{compute_cycles, 1, 0};
  if (!level.limited()) return result;
  const auto take = [&](double cycles) {
    const std::optional<base::Count> counted = base::whole_number(cycles);
    result.cycles = counted.value_or(base::kMostCount);
    if (!counted) result.beyond = cycles;
  };
  const double cc = static_cast<double>(compute_cycles);
  if (in_doubles) {
    double read_rate = 0, write_rate = 0;
    for (const Reads words : reads) read_rate += static_cast<double>(words) / cc;
    for (const Writes words : writes) write_rate += static_cast<double>(words) / cc;
    const auto slow_down = [&](double limit, double rate) {
      if (limit > 0 && rate > 0) result.factor = std::min(result.factor, limit / rate);
    };
    slow_down(level.read_limit, read_rate);
    slow_down(level.write_limit, write_rate);
    slow_down(level.shared_limit, read_rate + write_rate);
    take(std::ceil(cc / result.factor));
    return result;
  }
  Writes read_words{}, write_words{};
  for (const Reads words : reads) read_words += words;
  for (const Writes words : writes) write_words += words;
  const double port = level.port_cycles(static_cast<double>(read_words), static_cast<double>(write_words));
  if (port <= cc) return result;
  take(std::ceil(port));
  result.factor = cc / port;
  return result;
}

}  // namespace orrery::nest
