// What all threads of a context can do at most at once.
#pragma once

#include <cstddef>

#include "orrery/runtime/kernels/context.h"

namespace orrery::kernels {

struct MachinePeaks {
  double fp32 = 0;    // operations a second of fp32, two a multiply-add: fused, or by tiles where products take these
  double bf16 = 0;    // of bf16 in the way that the context multiplies it
  double memory = 0;  // bytes a second of a = b + 3 c, three counted
};

// Of several runs, about half a second in all. `bytes`: of each of the three arrays, beyond the caches.
MachinePeaks machine_peaks(Context& context, std::size_t bytes = std::size_t{128} << 20);

}  // namespace orrery::kernels
