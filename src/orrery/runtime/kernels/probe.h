// What this machine can do at most, measured: the figures that kernels are held against.
#pragma once

#include <cstddef>

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

// CPU time of this thread in seconds: what other programs take does not count.
double thread_seconds();

// The best of several runs of at least `seconds` each, on the calling thread: operations (two a multiply-add) a second
// that nothing but arithmetic holds up. 0 when the table lacks the arithmetic.
double operations_per_second(const Table& table, Arithmetic arithmetic, double seconds = 2e-3);

// Bytes a second of one thread over arrays of `bytes` each, the best of `runs` passes.
struct Bandwidth {
  double read = 0;   // a sum over one array
  double copy = 0;   // one array to another: both counted
  double triad = 0;  // a = b + 3 c: three counted
};
Bandwidth bandwidth(std::size_t bytes, int runs = 5);

}  // namespace orrery::kernels
