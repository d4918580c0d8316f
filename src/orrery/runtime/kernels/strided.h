// Element-wise operators, normalisations and sums over tensors that each have a layout of their own, with the dimension
// that runs in vectors and the one that is dealt to threads first chosen by the caller. Which operators there are, and
// which tensors each takes, is in strided_tile.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/kernels/strided_tile.h"

namespace orrery::kernels {

inline constexpr int kStridedDims = 4;

// The element at (d0, d1, ..) lies at data[d0 * strides[0] + d1 * strides[1] + ..]; a stride of 0 repeats one.
struct StridedTensor {
  void* data = nullptr;  // null: absent; results only
  Type type = Type::kF32;
  std::array<Index, kStridedDims> strides{};
};

struct Strided {
  StridedKernel kernel = StridedKernel::kAdd;
  int dims = 0;  // elements of masks are numbered with the last one fastest
  std::array<Index, kStridedDims> extents{};
  std::uint32_t reduced = 0;  // bit d: dimension d is summed over. One for softmax and norms, none without sums
  int vectors = 0;            // runs in vectors
  int first = -1;             // dealt out first; -1: any
  StridedTensor tensors[kStridedTensors];
  StridedTensor sums[kStridedSums];  // without strides along reduced dimensions
  double drop = 0;                   // probability
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  float epsilon = 1e-5F;
};

// The results do not depend on threads or layouts but in how sums are rounded.
void run(Context& context, const Strided& x);

// What run() makes of it: equal texts run alike, so that one measurement serves both.
std::string signature(const Strided& x);

// How run() gets at the tensors, which is what its time depends on most.
enum class Access : std::uint8_t {
  kRepeated,    // absent, or one number for all vectors
  kDirect,      // where it lies
  kTransposed,  // in blocks
  kScattered,   // number by number
};
struct StridedShape {
  bool along = false;  // sums run along vectors
  Index vector = 0;    // elements along them
  std::array<Access, kStridedTensors> access{};
};
StridedShape shape_of(const Strided& x);

}  // namespace orrery::kernels
