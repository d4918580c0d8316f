// Times of every operator of an encoder's layer in every layout on a machine that nobody measured: the roofline's, with
// what a layout costs on top. Every figure is modelled.
//
// A contraction takes what the roofline says of its product, times kNotAlongSum for each operand whose unit stride does
// not run along the dimension that is summed over, times kUnaligned where a leading dimension is no multiple of 16
// bytes.
//
// A fused kernel reads and writes each tensor once, in vectors of 16 bytes along one dimension v. Where v is a tensor's
// innermost dimension, it moves as it lies; elsewhere each word comes with a whole sector of 32 bytes:
//
//   t = max(flop / peak, sum over tensors  words w g / (bandwidth u)),
//   g = 1 where v is innermost and at least a sector long,  32 / (v's bytes) where it is shorter,  32 / w elsewhere
//
// with w bytes a word. Memory is busy only while enough is under way (Little's law): a bandwidth times 0.5 us. A row
// that is summed over is walked by 32 threads where v lies in it, or where a dimension of warps is the kernel's; else
// by one for each word of a vector, and then the threads that there are may keep it busy for a share u < 1 only. The
// best v counts.
//
// So a kernel's time depends on the innermost letters alone: its vector, thread and warp dimensions go first, and of
// 2,795,580 configurations 745,000 combinations of layouts are left.
//
// Source: sectors, coalescing: CUDA C++ Best Practices Guide, 9.2.1; Little's law: V. Volkov, "Understanding latency
// hiding on GPUs", Berkeley 2016. The constants are assumptions; docs/model/selection.md holds them against V100s.
#pragma once

#include "orrery/describe/machine/roofline.h"
#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"

namespace orrery::tuning {

inline constexpr double kNotAlongSum = 1.04;
inline constexpr double kUnaligned = 2;
inline constexpr double kSectorBytes = 32, kVectorBytes = 16;
inline constexpr double kLatencySeconds = 0.5e-6;
inline constexpr double kWarp = 32;

// `graph`: encoder_graph's, whose sizes count. Throws base::OverflowError where a tensor has more words than a Count
// holds. A time beyond 64 bits becomes kMostCost, so that sums do not fit.
Measurements modelled(const Graph& graph, const machine::Accelerator& accelerator, machine::Precision precision);

}  // namespace orrery::tuning
