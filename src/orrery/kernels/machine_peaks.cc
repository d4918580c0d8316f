// Each thread runs the loop of kernel_spin.h, or its slice of the three arrays, at the same time as the others: cores
// that share an arithmetic unit, a clock or a memory show it. The best run counts, as in probe.cc.
#include "orrery/kernels/machine_peaks.h"

#include <algorithm>
#include <vector>

#include "orrery/base/stopwatch.h"

namespace orrery::kernels {
namespace {

constexpr double kLong = 2e-3;  // seconds of a run
constexpr int kRuns = 7;

double rate(Context& context, Arithmetic arithmetic) {
  const Table& table = context.table();
  if (table.product[static_cast<int>(arithmetic)].elements == 0) return 0;
  std::vector<double> done(static_cast<std::size_t>(context.threads()));
  Index steps = 1000;
  double best = 0;
  for (int run = 0; run < kRuns;) {
    std::fill(done.begin(), done.end(), 0.0);
    const base::Stopwatch clock;
    context.pool().run(context.threads(), [&](std::int64_t, int worker) {
      done[static_cast<std::size_t>(worker)] += table.spin(arithmetic, steps);
    });
    const double took = clock.seconds();
    if (took < kLong) {
      steps *= 2;
      continue;
    }
    double all = 0;
    for (const double one : done) all += one;
    best = std::max(best, all / took);
    ++run;
  }
  return best;
}

double triad(Context& context, std::size_t bytes) {
  constexpr Index kSlice = 1 << 16;
  const Index slices = std::max<Index>(1, static_cast<Index>(bytes / sizeof(double)) / kSlice);
  Buffer buffers[3];
  double* arrays[3];
  for (int i = 0; i < 3; ++i) {
    buffers[i] = Buffer(static_cast<std::size_t>(slices * kSlice) * sizeof(double));
    arrays[i] = static_cast<double*>(buffers[i].data());
  }
  context.pool().run(slices, [&](std::int64_t slice, int) {
    for (int i = 0; i < 3; ++i) std::fill_n(arrays[i] + slice * kSlice, kSlice, 1.0 + i);
  });
  double best = 0;
  for (int run = 0; run < 4; ++run) {
    const base::Stopwatch clock;
    context.pool().run(slices, [&](std::int64_t slice, int) {
      double* a = arrays[0] + slice * kSlice;
      const double *b = arrays[1] + slice * kSlice, *c = arrays[2] + slice * kSlice;
      for (Index i = 0; i < kSlice; ++i) a[i] = b[i] + 3 * c[i];
    });
    const double took = clock.seconds();
    if (took > 0) best = std::max(best, 3.0 * static_cast<double>(slices * kSlice) * sizeof(double) / took);
  }
  return best;
}

}  // namespace

MachinePeaks machine_peaks(Context& context, std::size_t bytes) {
  MachinePeaks out;
  out.fp32 = rate(context, Arithmetic::kF32);
  out.bf16 = rate(context, context.bf16());
  out.memory = triad(context, bytes);
  return out;
}

}  // namespace orrery::kernels
