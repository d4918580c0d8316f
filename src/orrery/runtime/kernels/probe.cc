// Peaks by `spin` of kernel_product.h; bandwidth by the loops of STREAM (J. McCalpin 1995), on plain arrays that the
// compiler vectorises for the machine it builds for: memory, not arithmetic, is the bound at the sizes that this is
// meant for. The best run counts: what disturbs a measurement makes it longer.
#include "orrery/runtime/kernels/probe.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "orrery/runtime/kernels/buffer.h"

namespace orrery::kernels {

double thread_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double operations_per_second(const Table& table, Arithmetic arithmetic, double seconds) {
  constexpr int kTimings = 7;
  if (table.product[static_cast<int>(arithmetic)].elements == 0) return 0;
  Index steps = 1000;
  double best = 0;
  for (int run = 0; run < kTimings;) {
    const double begin = thread_seconds();
    const double operations = table.product[static_cast<int>(arithmetic)].spin(steps);
    const double took = thread_seconds() - begin;
    if (took < seconds) {
      steps *= 2;
      continue;
    }
    best = std::max(best, operations / took);
    ++run;
  }
  return best;
}

namespace {

template <class Pass>
double best_rate(double bytes, int runs, Pass pass) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const double begin = thread_seconds();
    pass();
    const double took = thread_seconds() - begin;
    if (took > 0) best = std::max(best, bytes / took);
  }
  return best;
}

// Adds up an array in eight independent sums.
double sum(const double* from, std::size_t count) {
  double sums[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += from[i + j];
  }
  double total = 0;
  for (const double one : sums) total += one;
  return total;
}

}  // namespace

Bandwidth bandwidth(std::size_t bytes, int runs) {
  const std::size_t count = bytes / sizeof(double);
  Buffer buffers[3];
  double* arrays[3];
  for (int i = 0; i < 3; ++i) {
    buffers[i] = Buffer(count * sizeof(double));
    arrays[i] = static_cast<double*>(buffers[i].data());
    std::fill_n(arrays[i], count, 1.0 + i);
  }
  const double each = static_cast<double>(count * sizeof(double));
  Bandwidth found;
  volatile double kept = 0;
  found.read = best_rate(each, runs, [&] { kept = sum(arrays[0], count); });
  found.copy = best_rate(2 * each, runs, [&] {
    std::memcpy(arrays[1], arrays[0], count * sizeof(double));
    kept = arrays[1][count / 2];
  });
  found.triad = best_rate(3 * each, runs, [&] {
    for (std::size_t i = 0; i < count; ++i) arrays[2][i] = arrays[0][i] + 3 * arrays[1][i];
    kept = arrays[2][count / 2];
  });
  return found;
}

}  // namespace orrery::kernels
