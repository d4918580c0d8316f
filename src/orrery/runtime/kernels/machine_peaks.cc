// Each thread runs `spin` of kernel_product.h, or its slices of the three arrays, at the same time as the others: cores
// that share an arithmetic unit, a clock or a memory show it. Each thread's rate is by its own time on a processor, so
// that what other programs take does not count; rates add up. Of arithmetic the best run counts, as in probe.cc; of
// memory the median, since threads that others keep from running at once share it with nobody.
#include "orrery/runtime/kernels/machine_peaks.h"

#include <algorithm>
#include <vector>

#include "orrery/base/numbers/sample.h"
#include "orrery/runtime/kernels/probe.h"

namespace orrery::kernels {
namespace {

constexpr double kLong = 2e-3;  // seconds of a run on one thread
constexpr int kRuns = 7;

// What a thread has done in its own time.
struct Done {
  double amount = 0, seconds = 0;
};

// Of all threads: where others kept one from its part, it counts as the mean of those that ran.
double rate_of(const std::vector<Done>& threads) {
  double sum = 0, ran = 0;
  for (const Done& one : threads) {
    if (!(one.seconds > 0)) continue;
    sum += one.amount / one.seconds;
    ++ran;
  }
  return ran > 0 ? sum / ran * static_cast<double>(threads.size()) : 0;
}

double rate(Context& context, Arithmetic arithmetic) {
  const Table& table = context.table();
  if (table.product[static_cast<int>(arithmetic)].elements == 0) return 0;
  std::vector<Done> done(static_cast<std::size_t>(context.threads()));
  Index steps = 1000;
  double best = 0;
  for (int run = 0; run < kRuns && !context.pool().spent();) {
    std::fill(done.begin(), done.end(), Done{});
    context.pool().run(context.threads(), [&](std::int64_t, int worker) {
      Done& own = done[static_cast<std::size_t>(worker)];
      const double begin = thread_seconds();
      own.amount += table.product[static_cast<int>(arithmetic)].spin(steps);
      own.seconds += thread_seconds() - begin;
    });
    double longest = 0;
    for (const Done& one : done) longest = std::max(longest, one.seconds);
    if (longest < kLong) {
      steps *= 2;
      continue;
    }
    best = std::max(best, rate_of(done));
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
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    std::vector<Done> done(static_cast<std::size_t>(context.threads()));
    context.pool().run(slices, [&](std::int64_t slice, int worker) {
      double* a = arrays[0] + slice * kSlice;
      const double *b = arrays[1] + slice * kSlice, *c = arrays[2] + slice * kSlice;
      const double begin = thread_seconds();
      for (Index i = 0; i < kSlice; ++i) a[i] = b[i] + 3 * c[i];
      Done& own = done[static_cast<std::size_t>(worker)];
      own.seconds += thread_seconds() - begin;
      own.amount += 3.0 * kSlice * sizeof(double);
    });
    rates.push_back(rate_of(done));
  }
  return base::sample(rates).median;
}

}  // namespace

MachinePeaks machine_peaks(Context& context, std::size_t bytes) {
  MachinePeaks out;
  out.fp32 = std::max(rate(context, Arithmetic::kF32), rate(context, context.choice().fp32));
  out.bf16 = rate(context, context.choice().bf16);
  out.memory = triad(context, bytes);
  return out;
}

}  // namespace orrery::kernels
