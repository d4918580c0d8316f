// How many cycles one storage needs when its ports are narrower than its traffic.
//
// A port that passes `b` words per cycle needs ceil(words / b) cycles; the level needs the slowest port,
// and at least the compute cycles. Timeloop computes the same through a slow-down factor in doubles,
//     slow = min(1, R / (sum_s reads_s / cc), ...);  cycles = ceil(cc / slow),
// which sometimes rounds up by one cycle; `--compat timeloop` reproduces that.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "orrery/base/whole_number.h"
#include "orrery/machine/chip.h"

namespace orrery::nest {

struct Throttle {
  base::Count cycles = 0;
  double factor = 1;  // compute cycles per cycle, at most 1
  double beyond = 0;  // the cycles where a Count cannot hold them, and `cycles` is the largest one; else 0
};

// `reads` and `writes` (fills plus updates) are words per instance, one entry per dataspace.
inline Throttle throttle(const machine::Storage& storage, base::Count compute_cycles,
                         std::span<const base::Count> reads, std::span<const __int128> writes, bool in_doubles) {
  Throttle result{compute_cycles, 1, 0};
  if (!storage.read_words_per_cycle && !storage.write_words_per_cycle && !storage.shared_words_per_cycle) return result;
  const auto take = [&](double cycles) {
    const std::optional<base::Count> counted = base::whole_number(cycles);
    result.cycles = counted.value_or(base::kMostCount);
    if (!counted) result.beyond = cycles;
  };
  const double cc = static_cast<double>(compute_cycles);
  if (in_doubles) {
    double read_rate = 0, write_rate = 0;
    for (const base::Count words : reads) read_rate += static_cast<double>(words) / cc;
    for (const __int128 words : writes) write_rate += static_cast<double>(words) / cc;
    if (storage.read_words_per_cycle && read_rate > 0)
      result.factor = std::min(result.factor, *storage.read_words_per_cycle / read_rate);
    if (storage.write_words_per_cycle && write_rate > 0)
      result.factor = std::min(result.factor, *storage.write_words_per_cycle / write_rate);
    if (storage.shared_words_per_cycle && read_rate + write_rate > 0)
      result.factor = std::min(result.factor, *storage.shared_words_per_cycle / (read_rate + write_rate));
    take(std::ceil(cc / result.factor));
    return result;
  }
  __int128 read_words = 0, write_words = 0;
  for (const base::Count words : reads) read_words += words;
  for (const __int128 words : writes) write_words += words;
  double port = 0;
  if (storage.read_words_per_cycle)
    port = std::max(port, static_cast<double>(read_words) / *storage.read_words_per_cycle);
  if (storage.write_words_per_cycle)
    port = std::max(port, static_cast<double>(write_words) / *storage.write_words_per_cycle);
  if (storage.shared_words_per_cycle)
    port = std::max(port, static_cast<double>(read_words + write_words) / *storage.shared_words_per_cycle);
  if (port <= cc) return result;
  take(std::ceil(port));
  result.factor = cc / port;
  return result;
}

}  // namespace orrery::nest
